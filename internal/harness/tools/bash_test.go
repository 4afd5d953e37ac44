package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return runtime.GOOS != "linux"
	}
	return stat[bytes.LastIndexByte(stat, ')')+2] != 'Z'
}

func pidsIn(t *testing.T, k *bench, name string) (pids []int) {
	t.Helper()
	b, _ := os.ReadFile(k.path(name))
	for _, f := range strings.Fields(string(b)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func TestCommandEndsAreTold(t *testing.T) { // case TOL-14, case TOL-02
	k := newBench(t)
	for _, c := range []struct {
		command string
		exit    int
		signal  string
		says    []string
	}{
		{"true", 0, "", []string{"[no output]\n[exit code 0 after "}},
		{"false", 1, "", []string{"[no output]\n[exit code 1 after "}},
		{"exit 255", 255, "", []string{"exit code 255"}},
		{"kill -9 $$", 0, "SIGKILL", []string{"[no output]", "killed by SIGKILL"}},
		{"kill -SEGV $$", 0, "SIGSEGV", []string{"killed by SIGSEGV"}},
		{"sh -c 'exec 1>&- 2>&-; sleep 0.05'", 0, "", []string{"[no output]", "exit code 0"}},
		{"echo out; echo err >&2; echo out", 0, "", []string{"out\nerr\nout\n[exit"}},
		{"nosuchcommand", 127, "", []string{"not found", "exit code 127"}},
		{"-v x", 127, "", []string{"exit code 127"}},
		{"printf no-newline", 0, "", []string{"no-newline\n[exit"}},
		{"head -c 1000000 /dev/zero | tr '\\0' e >&2; head -c 1000000 /dev/zero | tr '\\0' o; exit 3", 3, "", []string{"eee", "ooo", "exit code 3"}},
	} {
		r := k.do("bash", m{"command": c.command})
		k.says(r, c.says...)
		if c.signal != "" {
			if r.Exit != nil || r.Signal != c.signal || !r.IsError {
				t.Errorf("%s: exit %v signal %q error %v", c.command, r.Exit, r.Signal, r.IsError)
			}
		} else if r.Exit == nil || *r.Exit != c.exit || r.Signal != "" || r.IsError != (c.exit != 0) {
			t.Errorf("%s: exit %v signal %q error %v", c.command, r.Exit, r.Signal, r.IsError)
		}
		if r.Job != nil {
			t.Errorf("%s left a job", c.command)
		}
	}
}

func TestNobodyWaitsForABackgroundChild(t *testing.T) { // case TOL-01
	for _, command := range []string{
		"sleep 300 & echo $! > pid; echo ok",
		"setsid sh -c 'echo $$ > pid; exec sleep 300' & until test -s pid; do :; done; echo ok",
		"(while :; do date; sleep 0.01; done) & echo $! > pid; echo ok",
		"nohup sleep 300 > log 2>&1 & echo $! > pid; echo ok",
	} {
		k := newBench(t)
		if runtime.GOOS != "linux" && strings.HasPrefix(command, "setsid") {
			continue
		}
		r := k.ok(k.do("bash", m{"command": command}), "ok\n", "a background process is still running: pid ", "job-1", "exit code 0")
		pids := pidsIn(t, k, "pid")
		if r.Job == nil || r.Job.ID != "job-1" || len(pids) != 1 || !alive(pids[0]) {
			t.Fatalf("%s: job %+v, pids %v", command, r.Job, pids)
		}
		k.says(r, strconv.Itoa(pids[0]))
		if strings.Contains(command, "date") {
			var got Result
			until(t, "new output", func() bool {
				got = k.do("job_output", m{"job_id": "job-1"})
				return strings.Contains(string(got.Text), ":")
			})
			k.ok(got, "the command itself ended (exit code 0), what it started still runs")
		}
		k.ok(k.do("job_kill", m{"job_id": "job-1"}), "ended by job_kill")
		until(t, fmt.Sprintf("%s: %d ends on job_kill", command, pids[0]), func() bool { return !alive(pids[0]) })
		if e := <-k.told; e.ID != "job-1" || e.Why != "killed" || e.Call != "c1" {
			t.Errorf("told %+v", e)
		}
		k.Close()
	}
}

// stubborn starts two grandchildren, one of which ignores TERM, and writes their pids.
const stubborn = `echo up; sh -c 'trap "" TERM; echo $$ >> pids; while :; do sleep 300; done' & sh -c 'echo $$ >> pids; exec sleep 300' & wait`

func TestEscEndsTheWholeGroup(t *testing.T) { // case TOL-04, TOOL-3
	k := newBench(t)
	ctx, esc := context.WithCancel(t.Context())
	var pids []int
	go func() {
		until(t, "both are up", func() bool { pids = pidsIn(t, k, "pids"); return len(pids) == 2 })
		esc()
	}()
	r := k.fails(k.doCtx(ctx, "bash", m{"command": stubborn}), "up\n", "interrupted by the user")
	if r.Interrupted != ByUser {
		t.Errorf("interrupted %q", r.Interrupted)
	}
	for _, pid := range pids {
		until(t, fmt.Sprintf("%d ends on Esc", pid), func() bool { return !alive(pid) })
	}
}

func TestEscReachesWhatLeftTheGroup(t *testing.T) { // case TOL-01, case TOL-04
	if runtime.GOOS != "linux" {
		t.Skip("the environment of other processes can be read on Linux only")
	}
	k := newBench(t)
	ctx, esc := context.WithCancel(t.Context())
	var pids []int
	go func() {
		until(t, "it is up", func() bool { pids = pidsIn(t, k, "pids"); return len(pids) == 1 })
		esc()
	}()
	k.doCtx(ctx, "bash", m{"command": `setsid sh -c 'trap "" TERM; echo $$ > pids; while :; do sleep 300; done' >/dev/null 2>&1 & wait`})
	until(t, fmt.Sprintf("%d ends on Esc", pids[0]), func() bool { return !alive(pids[0]) })
}

func TestTimeoutEndsTheGroup(t *testing.T) { // TOOL table, case TOL-04
	k := newBench(t)
	r := k.fails(k.do("bash", m{"command": "echo partial; sleep 300 & wait", "timeout_ms": 80}), "partial\n", "timeout: the command and its children were ended (killed by SIGTERM)")
	if r.Interrupted != ByTimeout || r.Signal != "SIGTERM" {
		t.Errorf("%+v", r)
	}
}

func TestCloseLeavesNothing(t *testing.T) { // case TOL-04
	k := newBench(t)
	k.ok(k.do("bash", m{"command": stubborn, "background": true}), "started in the background: job-1")
	k.ok(k.do("bash", m{"command": "sleep 300 >/dev/null 2>&1 & echo $! >> pids"}), "job-2")
	done := make(chan Result)
	go func() {
		done <- k.Run(context.Background(), Call{ID: "fg", Name: "bash", Args: []byte(`{"command":"echo $$ >> pids; exec sleep 300"}`)}, k, nil)
	}()
	var pids []int
	until(t, "all are up", func() bool { pids = pidsIn(t, k, "pids"); return len(pids) == 4 })
	k.Close()
	if r := <-done; r.Interrupted != ByUser {
		t.Errorf("the foreground call: %+v", r)
	}
	for _, pid := range pids {
		until(t, fmt.Sprintf("%d ends on Close", pid), func() bool { return !alive(pid) })
	}
	if a, b := <-k.told, <-k.told; a.Why != "closed" || b.Why != "closed" {
		t.Errorf("told %+v %+v", a, b)
	}
	k.fails(k.do("bash", m{"command": "true"}), "the program is ending")
	k.Close()
}

func TestNoTerminal(t *testing.T) { // case TUI-16
	k := newBench(t)
	k.says(k.do("bash", m{"command": "exec 2>&1; echo hi > /dev/tty; tty"}), "/dev/tty: ", "not a tty")
	k.ok(k.do("bash", m{"command": "read x || echo eof"}), "eof")
	c, err := k.start("exec sleep 300", k.ws, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer k.jobs.wg.Done()
	if sid, err := unix.Getsid(c.pid); err != nil || sid != c.pid {
		t.Errorf("session %d (%v) of %d: it could have a controlling terminal", sid, err, c.pid)
	}
	c.end(k.Grace)
}

func TestProgressThatPanicsLosesNothing(t *testing.T) { // REL-7
	k := newBench(t)
	r := k.Run(t.Context(), k.call("bash", m{"command": "echo a; sleep 0.01; echo b"}), k, func([]byte) { panic("screen") })
	k.ok(r, "a\nb\n[exit code 0")
	if !strings.Contains(r.Fault, "screen") {
		t.Errorf("fault %q", r.Fault)
	}
}

func TestEnvironmentIsTheGivenOne(t *testing.T) { // SEC-2
	t.Setenv("SECRET_OF_OURS", "key")
	k := newBench(t, func(c *Config) { c.TempDir = c.Workspace; c.Env = append(c.Env, "PAGER=less", "A=1") })
	r := k.ok(k.do("bash", m{"command": "env; pwd"}), "A=1\n", "PAGER=cat\n", "TERM=dumb\n", "TMPDIR="+k.ws+"\n", "PWD="+k.ws+"\n")
	if s := string(r.Text); strings.Contains(s, "SECRET_OF_OURS") || strings.Contains(s, "PAGER=less") {
		t.Errorf("environment leaks:\n%s", s)
	}
	k.put("sub/x", "")
	k.ok(k.do("bash", m{"command": "pwd", "workdir": "sub"}), k.path("sub")+"\n")
	k.fails(k.do("bash", m{"command": "pwd", "workdir": "none"}), "workdir none is not a folder")
	outside := t.TempDir()
	if p := k.Plan(t.Context(), k.call("bash", m{"command": "pwd", "workdir": outside}), k); len(p.Paths) != 1 || p.Paths[0].Inside {
		t.Errorf("outside workdir: %+v", p.Paths)
	}
}

func TestForegroundMovesToTheBackground(t *testing.T) { // TOOL table
	k := newBench(t, func(c *Config) { c.Foreground = 30 * time.Millisecond })
	r := k.ok(k.do("bash", m{"command": "echo early; until test -e go; do sleep 0.01; done; echo late; exit 4"}),
		"early\n", "still running after 30ms and moved to the background: job-1", "it is ended 2m0s from now")
	if r.Job == nil || r.Job.Pid == 0 {
		t.Fatalf("%+v", r)
	}
	k.ok(k.do("job_output", m{"job_id": "job-1"}), "[no new output]", "job-1: running for")
	k.put("go", "")
	e := <-k.told
	if e.ID != "job-1" || e.Why != "exited" || e.Exit == nil || *e.Exit != 4 {
		t.Errorf("told %+v", e)
	}
	r = k.ok(k.do("job_output", m{"job_id": "job-1"}), "late\n", "[job-1: exit code 4]")
	if strings.Contains(string(r.Text), "early") {
		t.Errorf("old output again: %s", r.Text)
	}
	k.ok(k.do("job_output", m{"job_id": "job-1"}), "[no new output]")
	k.ok(k.do("job_kill", m{"job_id": "job-1"}), "it had ended before")
	k.fails(k.do("job_output", m{"job_id": "job-9"}), `there is no job "job-9"; there are: job-1`)
}

func TestBackgroundTimeoutRunsOn(t *testing.T) { // TOOL table
	if unspent(time.Second, 400*time.Millisecond) != 600*time.Millisecond || unspent(time.Second, 2*time.Second) <= 0 {
		t.Error("a limit that is over has become none")
	}
	k := newBench(t, func(c *Config) { c.Foreground = 10 * time.Millisecond })
	k.ok(k.do("bash", m{"command": "sleep 300", "timeout_ms": 60}), "job-1")
	if e := <-k.told; e.Why != "timeout" || e.Signal != "SIGTERM" {
		t.Errorf("told %+v", e)
	}
	k.ok(k.do("job_output", m{"job_id": "job-1"}), "ended by its timeout, killed by SIGTERM")
}

func TestSilentDaemonEndsAsAJob(t *testing.T) { // case TOL-01
	k := newBench(t)
	k.ok(k.do("bash", m{"command": "(until test -e go; do sleep 0.01; done) >/dev/null 2>&1 & echo ok"}), "job-1")
	k.put("go", "")
	until(t, "the job is seen to have ended", func() bool {
		return strings.Contains(string(k.do("job_output", m{"job_id": "job-1"}).Text), "[job-1: exit code 0]")
	})
	if e := <-k.told; e.Why != "exited" {
		t.Errorf("told %+v", e)
	}
}

func TestHugeOutputIsHeadTailAndCounts(t *testing.T) { // case TOL-10, TOOL-2
	k := newBench(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := k.ok(k.do("bash", m{"command": "echo first; yes | head -c 50M; echo last"}), "first\ny\n", "last\n[exit code 0", "lines, ", "left out")
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 24<<20 {
		t.Errorf("50 MB of output allocated %d MB", grown>>20)
	}
	shown := int64(strings.Count(string(r.Text), "\ny"))
	if want := int64(25<<20) - shown; r.LeftOut.Lines != want {
		t.Errorf("left out %d lines, want %d", r.LeftOut.Lines, want)
	}
	if want := int64(50<<20) - 2*shown; r.LeftOut.Bytes != want {
		t.Errorf("left out %d bytes, want %d", r.LeftOut.Bytes, want)
	}
	if r.Full == nil || r.Full.Size != maxFull || r.Full.Discarded != 50<<20+int64(len("first\nlast\n"))-maxFull {
		t.Errorf("full %+v", r.Full)
	}
	k.says(r, `read file_path "item:c1" has the whole output`, "that were discarded")
	k.ok(k.do("read", m{"file_path": "item:c1", "offset": 1500, "limit": 2}), "1500\ty\n1501\ty\n[lines 1500-1501 of ")
	k.ok(k.do("read", m{"file_path": "item:c1", "offset": -1}), "\tlast\n")
}

func TestLeftOutIsExact(t *testing.T) { // TOOL-2
	k := newBench(t)
	r := k.do("bash", m{"command": "seq 1 27000"})
	text := string(r.Text)
	cut := regexp.MustCompile(`\[([\d,]+) lines, ([\d,]+) bytes left out; read file_path "item:c1" has the whole output\]\n`).FindStringSubmatchIndex(text)
	if cut == nil {
		t.Fatalf("no mark:\n%s", text)
	}
	var all strings.Builder
	for i := range 27000 {
		fmt.Fprintln(&all, i+1)
	}
	head, tail := text[:cut[0]], text[cut[1]:strings.LastIndex(text, "[exit")]
	if !strings.HasPrefix(all.String(), head) || !strings.HasSuffix(all.String(), tail) {
		t.Error("head and tail are not the output's")
	}
	left := all.String()[len(head) : all.Len()-len(tail)]
	want := fmt.Sprintf("%s lines, %s bytes", count(strings.Count(left, "\n")), count(len(left)))
	if got := text[cut[0]+1 : cut[5]+6]; got != want {
		t.Errorf("says %q, want %q", got, want)
	}
	if r.LeftOut != (LeftOut{int64(len(left)), int64(strings.Count(left, "\n"))}) {
		t.Errorf("left out %+v", r.LeftOut)
	}
	if full, _ := k.blobs.Get(r.Full.SHA256); string(full) != all.String() {
		t.Error("the kept output is not the whole")
	}
}

func TestOneHugeLineCanBeReadWhole(t *testing.T) { // case TOL-10
	k := newBench(t)
	r := k.ok(k.do("bash", m{"command": `head -c 200000 /dev/zero | tr '\0' x; printf END`}), "xxx", "END\n[exit")
	if r.LeftOut.Bytes == 0 || r.Full == nil {
		t.Fatalf("%+v", r)
	}
	n := 0
	for off := 1; ; {
		r := k.do("read", m{"file_path": "item:c1", "offset": off})
		n += strings.Count(string(r.Text), "x") - strings.Count(string(r.Text), "next")
		next := regexp.MustCompile(`next offset (\d+)`).FindSubmatch(r.Text)
		if next == nil {
			break
		}
		off, _ = strconv.Atoi(string(next[1]))
	}
	if n != 200_000 {
		t.Errorf("the parts hold %d of 200000", n)
	}
}

func TestCommandRunsWhenNothingCanBeKept(t *testing.T) { // case TOL-11
	k := newBench(t)
	k.blobs.fail = errors.New("no space left on device: /spill")
	r := k.ok(k.do("bash", m{"command": "seq 1 100000; df . | tail -1"}), "1\n2\n", "could not be kept: no space left on device: /spill", "exit code 0")
	if r.Full != nil {
		t.Errorf("%+v", r.Full)
	}
}

func TestRawBytesAreKept(t *testing.T) { // case SES-04
	k := newBench(t)
	raw := "a\nb\rc\u2028d\u0085e\x00f\xed\xa0\x80g\xff\x1b[31mh\x1b[0m\n"
	k.put("raw", raw)
	r := k.ok(k.do("bash", m{"command": "cat raw"}))
	if got := string(r.Text[:bytes.IndexByte(r.Text, '[')]); got != "a\nc\u2028def\uFFFDg\uFFFDh\n" {
		t.Errorf("text %q", got)
	}
	if full, _ := k.blobs.Get(r.Full.SHA256); string(full) != raw {
		t.Errorf("kept %q", full)
	}
}

func TestCleanText(t *testing.T) { // SEC-5
	for in, want := range map[string]string{
		"plain\n":                "plain\n",
		"\x1b[1;31mred\x1b[0m\n": "red\n",
		"10%\r50%\r100%\n":       "100%\n",
		"done\r\nnext\r\n":       "done\nnext\n",
		"spin\r":                 "spin",
		"man\b\b\bxyz":           "xyz",
		"\x1b]0;title\x07text":   "text",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\":  "link",
		"\x1b]0;never ended\nnext line\n":           "\nnext line\n",
		"\x1b]52;c;ZXZpbA==\x07x":                   "x",
		"bell\a null\x00 del\x7f\n":                 "bell null del\n",
		"\u009b31mC1\n":                             "C1\n",
		"caf\xe9\n":                                 "caf\uFFFD\n",
		"\x1bPq#0;2;0;0;0\x1b\\sixel\tand tab, äöü": "sixel\tand tab, äöü",
	} {
		if got := clean([]byte(in)); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestProgressIsBoundedAndNeverRewritten(t *testing.T) { // architecture rule 12
	k := newBench(t)
	type view struct {
		b   []byte
		sum string
	}
	var views []view
	c := k.call("bash", m{"command": "for i in 1 2 3 4 5; do seq 1 20000; sleep 0.01; done; echo end"})
	k.Run(t.Context(), c, k, func(b []byte) { views = append(views, view{b, hashOf(b)}) })
	if len(views) == 0 || !bytes.HasSuffix(views[len(views)-1].b, []byte("end\n")) {
		t.Fatalf("%d views", len(views))
	}
	for i, v := range views {
		if len(v.b) > liveMax || hashOf(v.b) != v.sum {
			t.Fatalf("view %d has %d bytes or was rewritten", i, len(v.b))
		}
	}
}

func TestShownCommandHidesNothing(t *testing.T) { // case SEC-11, PERM-2
	k := newBench(t)
	long := strings.Repeat("echo harmless; ", 300) + "rm -rf /"
	for command, want := range map[string]string{
		long:                                  long,
		"echo a\rrm b":                        "echo a⟨U+000D⟩rm b",
		"echo \u202egnp.exe":                  "echo ⟨U+202E⟩gnp.exe",
		"a\x1b[2Kb":                           "a⟨U+001B⟩[2Kb",
		"x\u200b\u00a0\u3164y":                "x⟨U+200B⟩⟨U+00A0⟩⟨U+3164⟩y",
		"x⟨U+000D⟩":                           "x⟨U+27E8⟩U+000D⟩",
		"multi\nline\ttab" + "\n\n\n" + "end": "multi\nline\ttab\n\n\nend",
		"\u00e9 \u4e16 \u0085":                "é 世 ⟨U+0085⟩",
	} {
		p := k.Plan(t.Context(), k.call("bash", m{"command": command}), k)
		head, text, _ := strings.Cut(p.Shown.Text, ":\n")
		if p.Shown.What != "command" || text != want || head != "in "+k.ws+" (at most 2m0s)" {
			t.Errorf("%q is shown as %q: %q", command, head, text)
		}
	}
	c := k.call("bash", m{"command": "echo approved > x"})
	c.Judged = k.Plan(t.Context(), c, k).Shown.SHA256
	changed := c
	changed.Args = []byte(`{"command":"echo other > x"}`)
	k.fails(k.Run(t.Context(), changed, k, nil), "has changed since it was approved")
	if _, err := os.Stat(k.path("x")); err == nil {
		t.Error("it ran")
	}
	k.ok(k.Run(t.Context(), c, k, nil))
	k.has("x", "approved\n")
}
