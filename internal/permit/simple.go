package permit

import (
	"slices"
	"strings"
	"unicode"
)

// A word is one word of a command as the shell would pass it on, its quotes taken off.
// live[i] says whether byte i of text stood unquoted: only such a * is a wildcard.
type word struct {
	text   string
	live   []bool
	quoted bool // somewhere, be it around nothing
}

// wild says whether the shell would expand the word: *, ?, [, { or ~ outside quotes.
func (w word) wild() bool {
	for i, live := range w.live {
		if live && (strings.IndexByte("*?[{", w.text[i]) >= 0 || w.text[i] == '~' && i == 0) {
			return true
		}
	}
	return false
}

// unseen says whether a character can't be told from another, or not be seen at all.
func unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar ||
		unicode.IsSpace(r) && r != ' '
}

// plain takes a text apart that has no shell syntax but words and plain quotes; else why
// says what it has.
func plain(text string) (words []word, why string) {
	var w struct { // the word that has begun
		text []byte
		live []bool
	}
	open, quoted := false, false
	take := func(s string, live bool) {
		w.text = append(w.text, s...)
		w.live = append(w.live, slices.Repeat([]bool{live}, len(s))...)
		open = true
	}
	end := func() {
		if open {
			words = append(words, word{string(w.text), w.live, quoted})
		}
		w.text, w.live, open, quoted = nil, nil, false, false
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == ' ' || c == '\t':
			end()
		case c == '\'' || c == '"':
			n := strings.IndexByte(text[i+1:], c)
			if n < 0 {
				return nil, "an open quote"
			}
			inside := text[i+1 : i+1+n]
			if c == '"' && strings.ContainsAny(inside, "$`\\!") {
				return nil, "an expansion or an escape in double quotes"
			}
			take(inside, false)
			quoted = true
			i += n + 1
		case strings.IndexByte(";&|<>()", c) >= 0:
			return nil, "the operator " + string(c)
		case c == '$' || c == '`':
			return nil, "an expansion (" + string(c) + ")"
		case c == '\\':
			return nil, "an escape (\\)"
		case c == '#' && !open:
			return nil, "a comment (#)"
		default:
			take(text[i:i+1], true)
		}
	}
	end()
	if strings.IndexFunc(strings.ReplaceAll(text, "\t", " "), unseen) >= 0 {
		return nil, "a line break or a character that can't be seen"
	}
	if len(words) == 0 {
		return nil, "no words"
	}
	return words, ""
}

// simple takes a command apart that is one plain command: no operator, substitution,
// redirection, escape, comment, assignment or line break, nothing that runs another
// command (env, sudo, xargs, sh -c, git -c, …), and a command word as it stands. Only
// such a command can be allowed by a rule with a pattern. Of any other why says what it is.
func simple(command string) (words []word, why string) {
	words, why = plain(strings.Trim(command, " \t\n"))
	if why != "" {
		return nil, why
	}
	name := words[0]
	base := strings.ToLower(name.text[strings.LastIndexByte(name.text, '/')+1:])
	switch {
	case name.quoted:
		return nil, "a quoted command name"
	case name.wild() || strings.ContainsAny(name.text, "{}[]!^%@,+"):
		return nil, "a command name that the shell may change"
	case strings.Contains(name.text, "="):
		return nil, "an assignment"
	case keyword(base):
		return nil, "the shell's word " + base
	case wrapper(base):
		return nil, base + ", which runs another command"
	case shell(base) && carriesCode(words[1:]):
		return nil, base + " with code"
	case base == "git" && len(words) > 1 && strings.HasPrefix(words[1].text, "-") && !slices.Contains([]string{"--no-pager", "--version", "--help"}, words[1].text):
		return nil, "git with an option before its command"
	}
	return words, ""
}

// carriesCode says whether a shell is given code rather than a file: by -c in any
// spelling, or on its input.
func carriesCode(args []word) bool {
	for _, a := range args {
		a.text = strings.ToLower(a.text)
		if strings.HasPrefix(a.text, "--command") {
			return true
		}
		if !strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "+") {
			return false // a file
		}
		if !strings.HasPrefix(a.text, "--") && strings.Contains(a.text, "c") || a.wild() || a.text == "-s" {
			return true
		}
	}
	return true
}

func keyword(s string) bool {
	switch s {
	case "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function",
		"coproc", "in", "[[", "{", "}", "!", "alias", "unalias", "trap", "source", ".", "enable", "hash", "bind", "complete",
		"declare", "typeset", "local", "export", "readonly", "set", "shopt", "read", "mapfile", "readarray", "let", "fc":
		return true
	}
	return false
}

// wrapper says whether a command's purpose is to run the command in its arguments.
func wrapper(s string) bool {
	switch s {
	case "env", "sudo", "doas", "su", "runuser", "pkexec", "xargs", "parallel", "nohup", "time", "nice", "ionice", "chrt", "taskset",
		"timeout", "gtimeout", "stdbuf", "unbuffer", "setsid", "setpriv", "exec", "eval", "command", "builtin", "chroot", "unshare",
		"nsenter", "flock", "watch", "strace", "ltrace", "gdb", "script", "expect", "busybox", "toybox", "systemd-run", "at", "batch",
		"crontab", "ssh", "entr", "watchexec", "caffeinate", "arch", "linux32", "linux64", "prlimit", "firejail", "bwrap", "proot",
		"fakeroot", "torsocks", "proxychains", "proxychains4", "catchsegv", "valgrind", "perf", "dbus-run-session", "xvfb-run", "gosu", "tini":
		return true
	}
	return false
}

func shell(s string) bool {
	switch s {
	case "sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "ksh93", "mksh", "yash", "csh", "tcsh", "fish", "nu", "pwsh", "powershell", "elvish", "xonsh":
		return true
	}
	return false
}

// interpreter says whether a program's arguments are, or name, code. A version may follow.
func interpreter(s string) bool {
	s = strings.TrimRight(s, "0123456789.-")
	switch s {
	case "python", "pypy", "ipython", "perl", "ruby", "irb", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "awk", "gawk", "mawk",
		"nawk", "tclsh", "wish", "osascript", "rscript", "julia", "elixir", "erl", "escript", "ghci", "runghc", "runhaskell", "scala", "groovy",
		"jshell", "java", "swift", "sqlite", "psql", "mysql", "vim", "vi", "nvim", "ex", "ed", "emacs", "emacsclient", "npx", "bunx", "uvx", "pipx", "tsx",
		"ts-node", "octave", "guile", "racket", "sbcl", "clisp", "sed", "gsed", "docker", "podman", "kubectl":
		return true
	}
	return false
}

// carrier says whether an option of some well-known program gives it a command to run or
// a file to write. A * in a rule never takes such a word: it must be written out.
func carrier(w string) bool {
	name, _, _ := strings.Cut(w, "=")
	switch name {
	case "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprintf", "-fprint0", "-fls", // find
		"--exec", "--exec-batch", "--toolexec", "-toolexec", "--vettool", "-vettool", "-overlay", "-modfile", "-C", // fd, go
		"--pre", "--to-command", "--checkpoint-action", "--use-compress-program", "--rsh", "--rmt-command", // rg, tar
		"--upload-pack", "--receive-pack", "--exec-path", "--ext-diff", "--output", "--config-env", "--open-files-in-pager", "--textconv", // git
		"--compress-program", "--eval", "--command", "--require", "--import", "--loader", "--proxycommand", "--script-shell", "--config":
		return true
	}
	return false
}
