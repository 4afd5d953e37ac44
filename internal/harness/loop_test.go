package harness

import (
	"os"
	"strings"
	"testing"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// A turn with a command, from the first message to the last word; every
// request can be printed again byte for byte (PFX-3), and begins with the one
// before (PFX-1).
func TestTurn(t *testing.T) {
	w := newWorld(t, calls("bash", `{"command":"echo hello"}`), text("It says hello."))
	l := w.start()
	say(t, l, "what does echo say?")
	if end := ended(t, l, 1); end.Status != "completed" {
		t.Fatalf("%+v\n%s", end, story(t, l))
	}
	sent := w.sent()
	if len(sent) != 2 || !strings.Contains(sent[1], "tool_result hello") {
		t.Fatalf("requests: %q", sent)
	}
	if head := strings.TrimSuffix(sent[0], "end"); !strings.HasPrefix(sent[1], head) {
		t.Errorf("the second request does not begin with the first:\n%s\n%s", sent[0], sent[1])
	}
	n := 0
	all, _ := l.Session.Entries(0, 1000)
	for _, e := range all {
		if _, ok := e.Event.(session.RequestSent); ok {
			b, err := l.Session.Request(e.Seq)
			if err != nil || string(b) != sent[n] {
				t.Errorf("request %d rebuilt: %q, %v", n, b, err)
			}
			n++
		}
	}
	t.Log(story(t, l))
	if info, err := os.Stat(l.Session.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("session file: %v %v", info, err)
	}
}

// TUI-5, REL-4: an interrupt answers at once, whatever hangs, and keeps what
// was received.
func TestInterrupt(t *testing.T) {
	w := newWorld(t, hang("half an ans"), text("second"))
	l := w.start()
	say(t, l, "go")
	until(t, l, "the request", func(e session.Entry) bool { return e.Type == "request.sent" })
	began := time.Now()
	submit(t, l, drive.Cancel{By: "user"})
	end := ended(t, l, 1)
	if end.Status != "interrupted" || time.Since(began) > 5*time.Second {
		t.Fatalf("%+v after %s\n%s", end, time.Since(began), story(t, l))
	}
	say(t, l, "go on")
	if end := ended(t, l, 2); end.Status != "completed" {
		t.Fatalf("%+v\n%s", end, story(t, l))
	}
	if s := w.sent(); len(s) != 2 || !strings.Contains(s[1], "assistant half an ans") {
		t.Errorf("the partial answer is not in the next request: %q", s)
	}
	t.Log(story(t, l))
}
