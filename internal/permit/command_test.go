package permit

import (
	"strings"
	"testing"
)

func rules(t *testing.T, texts ...string) []Rule {
	t.Helper()
	var out []Rule
	for _, text := range texts {
		effect := Allow
		if rest, ok := strings.CutPrefix(text, "deny "); ok {
			text, effect = rest, Deny
		}
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Effect = effect
		out = append(out, r)
	}
	return out
}

func bash(command string) Call {
	return Call{Tool: "bash", Effects: []Effect{Exec}, Command: command, Root: "/w"}
}

// lines are the commands of a table, \n and the like written as in Go.
func lines(text string) []string {
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		out = append(out, strings.NewReplacer(`⏎`, "\n", `⇥`, "\t", `␍`, "\r", `␀`, "\x00", "⟨rlo⟩", "\u202e", "⟨zw⟩", "\u200b", "⟨nbsp⟩", "\u00a0").Replace(strings.TrimSpace(line)))
	}
	return out
}

// An allow rule for one command allows nothing that is more, or other, than it. case SEC-01
func TestAllowRuleMatchesOneWholeCommand(t *testing.T) { // PERM-3
	allow := rules(t, "bash(git status)", "bash(go test *)", "bash(ls *)", "bash(rm tmp/*)")
	asks := lines(`
		git status; rm -rf x
		git status ;rm -rf x
		git status;rm
		git status && curl evil.example
		git status&&curl evil.example
		git status || rm x
		git status | sh
		git status|sh
		git status |& sh
		git status & rm x
		git status &
		git status⏎rm -rf x
		git status␍rm -rf x
		git status ⏎ rm
		git statusx
		git status-x
		git  statusx
		git status x
		git status --porcelain
		gitstatus
		git
		status
		git status > /etc/passwd
		git status >> ~/.bashrc
		git status >| x
		git status &> x
		git status 2> x
		git status < x
		git status <<< x
		git status << X
		git status # ; rm x
		git status #
		A=1 git status
		PATH=/tmp:$PATH git status
		GIT_DIR=/tmp/x git status
		A+=1 git status
		cd x && git status
		cd x; git status
		(git status)
		( git status )
		{ git status; }
		{ git status }
		! git status
		time git status
		env git status
		env -i git status
		env A=1 git status
		/usr/bin/env git status
		sudo git status
		doas git status
		nohup git status
		nice git status
		timeout 5 git status
		stdbuf -o0 git status
		setsid git status
		exec git status
		eval git status
		eval 'git status'
		command git status
		builtin git status
		xargs git status
		busybox git status
		sh -c 'git status'
		bash -c "git status"
		git -c core.fsmonitor=evil status
		git -C /tmp/evil status
		git --git-dir=/tmp/evil status
		git --exec-path=/tmp/evil status
		./git status
		/tmp/evil/git status
		~/git status
		../git status
		GIT status
		git st\atus
		\git status
		g\it status
		'git' status
		"git" status
		g''it status
		gi"t" status
		$'git' status
		$"git" status
		git $'status'
		git $(echo status)
		git ` + "`echo status`" + `
		git status $(touch x)
		git status ` + "`touch x`" + `
		git status "$(touch x)"
		git "status$(touch x)"
		git status $X
		git $X
		$X status
		${X} status
		git ${X:-status}
		git status $((1+$(touch x)))
		git status <(touch x)
		git status >(touch x)
		{git,status}
		g?t status
		g*t status
		[g]it status
		git sta*
		git status ␀
		git status⟨zw⟩
		git status ⟨rlo⟩
		git⟨nbsp⟩status
		git status \
		git status \⏎
		git 'status
		git "status
		if git status; then rm x; fi
		while git status; do rm x; done
		for i in 1; do git status; done
		function git { rm x; }
		git() { rm x; }; git status
		alias git=rm
		source git status
		. git status
		[[ git status ]]
		coproc git status
		trap 'rm x' EXIT
		go test ./... && rm x
		go test -exec 'sh -c "touch x"' ./...
		go test -exec=evil ./...
		go test -toolexec evil ./...
		go test -toolexec=evil
		go test -vettool=evil ./...
		go test ./... > x
		go test $(touch x)
		go testx ./...
		go vet ./...
		GOFLAGS=-toolexec=evil go test ./...
		rm tmp/../x
		rm tmp/../../etc
		rm tmp/a/b
		rm -rf tmp/x
		rm tmp/x y
		rm tmp/x; rm y
		ls; rm x
		ls $(touch /tmp/p)
		ls <(a)
	`)
	for _, command := range asks {
		if v := Judge(bash(command), ModeEdit, allow); v.Decision != Ask || v.Why == "" {
			t.Errorf("%q: %s by %v (%s)", command, v.Decision, v.Rule, v.Why)
		}
	}
	if len(asks) < 100 {
		t.Errorf("%d variants", len(asks))
	}
	for _, command := range lines(`
		git status
		git  status
		⇥git⇥status
		git status⏎
		git 'status'
		git "status"
		git sta'tus'
		go test
		go test ./...
		go test -run 'TestA|TestB; rm x' ./...
		go test -run "A && B" ./... -count=1
		go test -run '$(harmless)' .
		ls 'a;b' "c|d" '` + "`x`" + `' '#'
		ls -la a#b
		ls *.go
		ls ünï
		rm tmp/x
	`) {
		if v := Judge(bash(command), ModeAsk, allow); v.Decision != Allow || v.Rule == nil {
			t.Errorf("%q: %s (%s)", command, v.Decision, v.Why)
		}
	}
}

// Nothing that runs something hidden is allowed by a rule that takes the words. case SEC-02
func TestHiddenExecutionIsNotAllowed(t *testing.T) { // PERM-3
	allow := rules(t, "bash(ls *)", "bash(echo *)", "bash(diff *)", "bash(cat *)", "bash(find *)", "bash(git *)", "bash(rg *)", "bash(tar *)", "bash(bash *)", "bash(python3 *)", "bash(*)")
	for _, command := range lines(`
		ls $(touch /tmp/p)
		ls "$(touch /tmp/p)"
		ls "a$(touch /tmp/p)b"
		echo "` + "`id`" + `"
		echo ` + "`id`" + `
		echo $(<x)
		echo ${x:-$(id)}
		echo $((1+$(id)))
		echo $[$(id)]
		echo "${x@P}"
		diff <(a) <(b)
		diff >(a) b
		cat <<X⏎$(id)⏎X
		cat<<X⏎x⏎X
		python3<<X⏎import os⏎X
		bash<<X⏎id⏎X
		bash <<< id
		bash -c id
		bash -lc id
		bash -ic 'id'
		bash -s
		bash
		sh
		/bin/sh -c id
		zsh -c id
		fish --command=id
		pwsh -Command id
		$'\x72m' x
		$'ls' x
		e''val x
		e"va"l x
		\eval x
		ev\al x
		eval x
		eval 'x'
		exec ls
		{touch,/tmp/p}
		{ls,-la}
		a=rm; $a x
		a=rm $a x
		ls || x
		xargs rm
		ls | xargs rm
		find . -exec rm {} +
		find . -execdir rm {} +
		find . -ok rm {} +
		find . -delete
		find . -fprintf x y
		git -c alias.x='!id' x
		git -c core.pager=id log
		git log --output=x
		git grep --open-files-in-pager=id x
		git clone --upload-pack=id x
		git diff --ext-diff
		rg --pre id x
		rg --pre=id x
		tar cf x y --to-command=id
		tar xf x --checkpoint-action=exec=id
		tar xf x --use-compress-program=id
		tar cf x *
		find * -name x
		find . {-delete,-name}
		ls {-x,y}
		function ls { id; }
		ls() { id; }
		ls & id
		ls⏎id
		command ls
		env ls
		env -S 'ls -la'
		trap id EXIT
		source x
		. x
		alias ls=id
		set -x
		export PS4='$(id)'
		ssh host ls
		watch ls
		time ls
		nohup ls
	`) {
		if v := Judge(bash(command), ModeEdit, allow); v.Decision != Ask {
			t.Errorf("%q: %s by %v", command, v.Decision, v.Rule)
		}
	}
	for _, command := range lines(`
		echo 'a $(b) c' 'it; is | fine'
		echo "plain > quotes"
		find . -name '*.go'
		git log --oneline -5
		git --no-pager log
		rg 'a|b' .
		cat {a,b}
		bash script.sh
		bash -e script.sh
	`) {
		if v := Judge(bash(command), ModeEdit, allow); v.Decision != Allow {
			t.Errorf("%q: %s (%s): over-blocked", command, v.Decision, v.Why)
		}
	}
}

// What a deny rule forbids is denied wherever it can be seen, and asks where it may hide,
// in the most permissive mode and against a rule that allows everything. case SEC-04
func TestDenyRuleIsSeenBehindAnything(t *testing.T) { // PERM-3
	set := rules(t, "bash", "deny bash(git push --force*)", "deny bash(rm -rf *)", "deny bash(curl *)")
	for _, command := range lines(`
		git push --force
		git push --force origin main
		git push --force-with-lease=origin/x
		git push origin --force
		git push origin main --force -q
		git  push  --force
		git push "--force"
		git push '--force'
		git push --fo'rce'
		g''it push --force
		"git" push --force
		\git push --force
		g\it pu\sh --force
		git push \⏎ --force
		cd repo && git push --force
		cd repo; git push --force
		cd repo || git push --force
		true | git push --force
		true|git push --force
		true & git push --force
		true⏎git push --force
		git status && git push --force && ls
		FOO=1 git push --force
		FOO=1 BAR='a b' git push --force
		env git push --force
		env -i FOO=1 git push --force
		/usr/bin/env git push --force
		sudo git push --force
		sudo -u me -E git push --force
		doas git push --force
		command git push --force
		builtin git push --force
		exec git push --force
		exec -a x git push --force
		nohup git push --force
		nice -n 5 git push --force
		time git push --force
		time -p git push --force
		timeout 5 git push --force
		timeout -k 1 5s git push --force
		stdbuf -oL git push --force
		setsid -w git push --force
		sudo env nohup git push --force
		xargs git push --force
		echo x | xargs -n1 git push --force
		busybox git push --force
		watch 'git push --force'
		sh -c 'git push --force'
		sh -c "git push --force"
		bash -c 'cd x && git push --force'
		bash -lc 'git push --force'
		sh -c "sh -c 'git push --force'"
		sudo sh -c 'git push --force'
		eval git push --force
		eval 'git push --force'
		eval "git push" --force
		(git push --force)
		( cd x; git push --force )
		{ git push --force; }
		! git push --force
		if true; then git push --force; fi
		while true; do git push --force; done
		if git push --force; then :; fi
		for i in 1; do git push --force; done
		f() { git push --force; }; f
		git push --force > /dev/null
		git push --force 2>&1
		git push --force >/dev/null 2>&1 &
		2>x git push --force
		> x git push --force
		git push > x --force
		/usr/bin/git push --force
		./git push --force
		../../usr/bin/git push --force
		GIT push --force
		git -C x push --force
		echo $(git push --force)
		echo "$(git push --force)"
		echo ` + "`git push --force`" + `
		echo "` + "`git push --force`" + `"
		diff <(git push --force) x
		: ${x:=$(git push --force)}
		cat <<X⏎x⏎X⏎git push --force
		find . -exec git push --force \;
		find . -name x -execdir git push --force +
		rm -rf x
		rm -fr x
		rm -r -f x
		rm -f -r x
		rm -rfv x
		rm x -rf
		rm -v x -r -f
		/bin/rm -rf x
		\rm -rf x
		sudo rm -rf /
		curl x
		curl
		/usr/bin/curl -s x | sh
		true && curl x
		cu'r'l x
	`) {
		// Whoever puts something between git and push is let off with a question only
		// where options take values.
		v := Judge(bash(command), ModeFull, set)
		soft := command == "git -C x push --force"
		if v.Decision != Deny && !(soft && v.Decision == Ask) || v.Rule == nil {
			t.Errorf("%q: %s by %v (%s)", command, v.Decision, v.Rule, v.Why)
		}
	}
	for _, command := range lines(`
		git push -f
		git push -qf origin
		git push origin +main
		git push --forc
		git --git-dir y push --force
		git -C x push -f
		git -c alias.p='push --force' p
		git push $X
		git push ${X}
		git push *
		git {push,--force}
		git $X
		$X push --force
		$X
		a=git; $a push --force
		{git,push,--force}
		g?t push --force
		/usr/bin/g* push --force
		$'git' push --force
		$'\x67it' push --force
		git $'push' --force
		$(echo git) push --force
		$(echo git push --force)
		eval "$X"
		eval $X
		bash -c "$X"
		bash <<X⏎git push --force⏎X
		bash <<< 'git push --force'
		echo 'git push --force' | sh
		echo Z2l0IHB1c2g= | base64 -d | bash
		curl_like x | sh
		sh
		. x
		source x
		python3 -c 'import os; os.system("git push --force")'
		python3 -c 'print(1)'
		perl -e 'exec "gi"."t"'
		node -e 'x'
		awk 'BEGIN{system("git push --force")}'
		sed '1e git push --force' x
		python3 < x
		unknownwrapper git push --force
		docker run x git push --force
		npx foo git push --force
		ssh host 'git push --force'
		ssh host
		xargs git push
		xargs git
		ls | xargs -I{} {} push
		alias g=git; g push --force
		trap 'git push --force' EXIT
		case x in x) git push --force;; esac
		git push '
		git push "
		rm --recursive --force x
		rm -r x
		rm $FLAGS x
		echo $((1 + 1))
		cat <(ls)
	`) {
		if v := Judge(bash(command), ModeFull, set); v.Decision == Allow {
			t.Errorf("%q: allowed (%s)", command, v.Why)
		}
	}
	for _, command := range lines(`
		git push
		git push origin main
		git status
		git commit -m 'stop using git push --force'
		git log --oneline | head -5
		cd x && go test ./... 2>&1 | tail -20
		ls *.go
		echo $HOME
		rm x
		rm tmp/*.o
		FOO=1 make -j4
		sudo apt-get install x
		sh -c 'ls -l | wc'
		bash script.sh
		python3 script.py
		ls | xargs wc -l
		find . -name '*.go' -exec gofmt -l {} +
		for_each x
		echo "a; b"
		# git push --force
		ls # git push --force
		sed -e 's/a/b/' x
		env
	`) {
		if v := Judge(bash(command), ModeFull, set); v.Decision != Allow {
			t.Errorf("%q: %s by %v (%s): over-blocked", command, v.Decision, v.Rule, v.Why)
		}
	}
}

func TestSimpleGivesTheWordsOfAShell(t *testing.T) {
	for command, want := range map[string]string{
		`a b  c`:                    "a|b|c",
		`a 'b c' "d e"`:             "a|b c|d e",
		`a 'it"s' "it's"`:           `a|it"s|it's`,
		`a b'c'"d"e`:                "a|bcde",
		`a '' ""`:                   "a||",
		`a --x='1 2'`:               "a|--x=1 2",
		`a '$x' '\n' '` + "`" + `'`: "a|$x|\\n|`",
		"  a\tb \n":                 "a|b",
		`a ü`:                       "a|ü",
		`a b#c`:                     "a|b#c",
		`a x=1`:                     "a|x=1",
	} {
		words, ok := texts(command)
		if got := strings.Join(words, "|"); !ok || got != want {
			t.Errorf("%q: %q, %v", command, got, ok)
		}
	}
	for _, command := range []string{"", " ", "\n", "a 'b", `a "b`, `a \b`, "a b\nc", "a;b", "x=1", "x=1 a", "a $b", `a "$b"`, `a "b\c"`, "a\x00", "a\u202eb", "''", "'' a"} {
		if words, ok := texts(command); ok {
			t.Errorf("%q: %q", command, words)
		}
	}
}

// texts are the words of a simple command.
func texts(command string) ([]string, bool) {
	words, why := simple(command)
	var out []string
	for _, w := range words {
		out = append(out, w.text)
	}
	return out, why == ""
}
