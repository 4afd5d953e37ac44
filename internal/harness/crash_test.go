package harness

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// leaveBehind is a process that starts a session in a folder, and has a command
// in the background and one in the foreground. It says the pid of the latter.
func leaveBehind() {
	p := &script{replies: []answer{
		calls("bash", `{"command":"exec sleep 100","background":true}`),
		calls("bash", `{"command":"echo $$; exec sleep 100"}`),
	}}
	l, err := Start(context.Background(), machine(os.Getenv("VARVE_TEST_DIR"), p))
	if err == nil {
		err = l.Submit(context.Background(), drive.Say{Text: []byte("work")})
	}
	for after, version := session.Seq(0), uint64(0); err == nil; {
		var u Update
		u, err = l.Follow(context.Background(), after, version)
		version = u.Version
		for _, p := range u.Pulses {
			if p.Kind == "tool" && bytes.HasSuffix(p.Text, []byte("\n")) {
				fmt.Printf("pid %s", p.Text)
			}
		}
		if n := len(u.Entries); n > 0 {
			after = u.Entries[n-1].Seq
		}
	}
	fmt.Println("! " + err.Error())
	os.Exit(1)
}

// What a program had started lives on when the program is killed outright. Who
// goes on with its session is told that it may: the command that was running is
// closed as lost and not run again, a background job is recorded as lost, once,
// and its pid stands where it was started. Its number is not given away again.
// LOG-14, REL-1
func TestSurvivorsAreTold(t *testing.T) {
	dir := t.TempDir()
	cmd, out := part(t, "leave", dir)
	var fore int
	if !out.Scan() {
		t.Fatal("the process says nothing")
	}
	if _, err := fmt.Sscanf(out.Text(), "pid %d", &fore); err != nil {
		t.Fatalf("it says %q", out.Text())
	}
	t.Cleanup(func() { _ = syscall.Kill(-fore, syscall.SIGKILL) })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()

	p := &script{
		replies: []answer{
			calls("job_output", `{"job_id":"job-1"}`),
			calls("bash", `{"command":"true","background":true}`),
		},
		rest: text("Done."),
	}
	l, err := Resume(t.Context(), machine(dir, p), onlySession(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	head := l.Session.Head()
	back := until(t, l, "the job", func(e session.Entry) bool { return e.Type == "job.started" }).Event.(session.JobStarted)
	t.Cleanup(func() { _ = syscall.Kill(-back.PID, syscall.SIGKILL) })
	for what, pid := range map[string]int{"the command": fore, "the job": back.PID} {
		if err := syscall.Kill(pid, 0); err != nil {
			t.Fatalf("%s, pid %d, does not live: %v", what, pid, err)
		}
	}
	if r := l.State().Session.Running; len(r) != 1 || !l.Paused() {
		t.Errorf("before anybody acts: %q, paused=%v", r, l.Paused())
	}

	submit(t, l, drive.Resume{})
	if s := idle(t, l); s.Branch.Last.Status != "completed" {
		t.Errorf("%+v", s.Branch.Last)
	}
	all, err := l.Session.Entries(head, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var lost []string
	for _, e := range all {
		switch ev := e.Event.(type) {
		case session.JobEnded:
			if ev.Why == "lost" {
				lost = append(lost, ev.Job)
			}
		case session.ToolInterrupted:
			parts, err := e.Parts()
			if err != nil || ev.Why != "lost" || !strings.Contains(string(parts[0].Bytes), "what it started may still run; it was not run again") {
				t.Errorf("%+v %v\n%s", ev, err, story(t, l))
			}
			lost = append(lost, "command")
		case session.JobStarted:
			if ev.Job != "job-2" {
				t.Errorf("the next job is %s", ev.Job)
			}
		}
	}
	if got := strings.Join(lost, " "); got != "job-1 command" {
		t.Errorf("lost: %s\n%s", got, story(t, l))
	}
	sent := p.sent()
	if pid := fmt.Sprintf("job-1 (pid %d)", back.PID); !strings.Contains(sent[0], pid) || !strings.Contains(sent[0], "may still run") {
		t.Errorf("the model is not told of %s:\n%s", pid, sent[0])
	}
	if !strings.Contains(sent[1], "if its processes still run, end them by the pid in its first result") {
		t.Errorf("who asks for the job is not told:\n%s", sent[1])
	}
	once(t, l)
}
