package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"varve/internal/content"
	"varve/internal/harness"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// brokenSession is a session of a run that has not ended, and whose line 3 is no
// event. It returns the file's path and bytes.
func brokenSession(t *testing.T) (string, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	s := harness.New(path, content.Open(t.TempDir()), jsonl.Never, harness.System{})
	err := s.Record(t.Context(), session.MainBranch, 0, []session.Fact{
		{Event: session.SessionCreated{Format: session.Format, ID: "0197f3a1", Workspace: "/w", Program: "test"}},
		{Event: session.RunStarted{Run: "r1", PID: 41, Host: "desk"}},
		{Event: session.ToastPosted{Level: "info", Code: "x"}},
		{Event: session.RunEnded{Run: "r1", How: "closed"}},
		{Event: session.RunStarted{Run: "r2", PID: 42, Host: "lap"}},
		{Event: session.RunStarted{Run: "r3", PID: 43, Host: "desk"}},
		{Event: session.RunEnded{Run: "r3", How: "lost"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	lines[2] = []byte("x\n")
	b = bytes.Join(lines, nil)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, b
}

// Where another process holds the append lock for all of the time that is waited,
// it is said which one is known to work on the session, and nothing is written.
// When the lock is free the same command does it. // LOG-6, CLI-1
func TestRepairSaysWhoHoldsTheSession(t *testing.T) {
	path, left := brokenSession(t)
	holder, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if err := syscall.Flock(int(holder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	blobs := content.Open(t.TempDir())
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) { // the ten seconds pass at once
		began := time.Now()
		err := repairSession(t.Context(), &out, path, blobs, false)
		wantExit(t, err, exitSession, "locked by another writer", "process 42 on lap works on this session")
		if took := time.Since(began); took < 10*time.Second {
			t.Errorf("it gave up after %s", took)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errSignal{syscall.SIGTERM})
		wantExit(t, repairSession(ctx, &out, path, blobs, false), exitTerminated, "nothing was repaired")
	})
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, left) || out.Len() > 0 {
		t.Errorf("something was written, or said: %q %v", out.String(), err)
	}
	if err := syscall.Flock(int(holder.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if err := repairSession(t.Context(), &out, path, blobs, true); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Session          string
		Repaired, Before []struct {
			Kind     string
			Line     int
			From, To int64
			SHA256   string
			Lost     []int
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Session != "0197f3a1" || len(got.Repaired) != 1 || got.Before == nil || len(got.Before) > 0 {
		t.Fatalf("%v %s", err, out.Bytes())
	}
	from := int64(bytes.Index(left, []byte("\nx\n")) + 1)
	if r := got.Repaired[0]; r.Kind != "foreign" || r.Line != 3 || r.From != from || r.To != from+1 || len(r.SHA256) != 64 || len(r.Lost) != 2 || r.Lost[0] != 3 || r.Lost[1] != 3 {
		t.Errorf("%+v", r)
	}
	if err := verifySession(&out, path, path, blobs, false); err != nil {
		t.Error(err)
	}
}

func wantExit(t *testing.T, err error, code int, words ...string) {
	t.Helper()
	x, ok := err.(*exitError)
	if !ok || x.code != code {
		t.Errorf("%v, want exit code %d", err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q does not say %q in one line", err, w)
		}
	}
}

// A file that can't be written now says so, and that is no success. // LOG-8, CLI-1
func TestRepairOfAFileThatIsGone(t *testing.T) {
	path, _ := brokenSession(t)
	if err := repairSession(t.Context(), &bytes.Buffer{}, path+"x", content.Open(t.TempDir()), false); err == nil {
		t.Error("a file that is not there was repaired")
	}
	if os.Getuid() == 0 {
		t.Skip("root may write anything; internal/jsonl holds it on a read-only file system")
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	wantExit(t, repairSession(t.Context(), &bytes.Buffer{}, path, content.Open(t.TempDir()), false), exitSession, "make it writable")
}
