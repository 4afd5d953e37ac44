package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// elsewhere opens a log, as far as it is given, on another disk: what a process
// finds whose predecessor was killed outright.
func (w *wire) elsewhere(name string, log []byte) *Local {
	w.t.Helper()
	o := machine(w.t.TempDir(), nil)
	o.Clock, o.Settings, o.Summarizers, o.Model, o.Resolve = w.opts.Clock, w.opts.Settings, w.opts.Summarizers, w.opts.Model, w.opts.Resolve
	path := filepath.Join(o.DataDir, "sessions", "s", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, log, 0o600); err != nil {
		w.t.Fatal(err)
	}
	l, err := Resume(w.t.Context(), o, path)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	return l
}

// A process that is killed behind any line of a MapReduce, with everything in
// it: the next one goes on when it is asked to, asks for no accepted map again,
// and commits what the first would have. Opening starts nothing; what was
// written stays. // MR-9, REL-1, S10, case CMP-29
func TestWireCutAnywhere(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(12_000)
	l := w.talked(4, 5_000)
	w.does("map", func(n int, r scripted.Request) []scripted.Step { return whole("notes of " + partOf(r)) })
	w.does("reduce", func(_ int, r scripted.Request) []scripted.Step {
		if strings.Contains(r.LastUser(), "The raw items that you asked for") {
			return whole(handoff("joined"))
		}
		return whole("REREAD: 6-10")
	})
	w.does("audit", func(_ int, r scripted.Request) []scripted.Step {
		if strings.Contains(r.LastUser(), "## Objective\ncorrected") {
			return whole("PASS")
		}
		return whole("the second part is missing")
	})
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v\n%s", f, staged(t, l))
	}
	want := staged(t, l)
	log := must(os.ReadFile(l.Session.Path()))
	name := filepath.Base(l.Session.Path())
	lines := bytes.SplitAfter(log, []byte("\n"))
	begun := slices.IndexFunc(lines, func(b []byte) bool { return bytes.Contains(b, []byte(`"compaction.requested"`)) })
	end := slices.IndexFunc(lines, func(b []byte) bool { return bytes.Contains(b, []byte(`"checkpoint.committed"`)) })
	for cut := begun + 1; cut <= end; cut++ {
		l := w.elsewhere(name, bytes.Join(lines[:cut], nil))
		at := fmt.Sprint(cut, " ", must(session.Decode(bytes.TrimSpace(lines[cut-1]))).Type)
		g := l.State().Branch.Staging
		missing := 4
		if g != nil {
			missing = len(g.Missing)
		}
		maps := w.count("map")
		if cut%2 == 0 {
			submit(t, l, drive.Compact{})
		} else {
			say(t, l, "And now?") // it waits for the compaction
		}
		if f := over(t, l, 0); f != nil {
			t.Fatalf("cut behind %s: %+v\n%s", at, f, staged(t, l))
		}
		if n := w.count("map") - maps; n != missing {
			t.Errorf("cut behind %s: %d maps, %d were missing", at, n, missing)
		}
		if cut%2 != 0 {
			ended(t, l, 5)
		}
		got := shownView(t, l)
		if !strings.HasPrefix(got, "checkpoint: ## Objective corrected") || strings.Contains(got, "question") {
			t.Errorf("cut behind %s: %s", at, got)
		}
		if now := must(os.ReadFile(l.Session.Path())); !bytes.HasPrefix(now, bytes.Join(lines[:cut], nil)) {
			t.Errorf("cut behind %s: written lines have changed", at)
		}
		n := 0
		for _, e := range must(l.Session.Entries(0, 1<<20)) {
			if e.Type == "checkpoint.committed" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("cut behind %s: %d checkpoints", at, n)
		}
		l.Close()
	}
	if end-begun < 25 {
		t.Errorf("only %d places to cut\n%s", end-begun, want)
	}
}

// Nothing is asked of a model by opening a session whose compaction was cut off.
// // LOG-14, case CMP-29
func TestWireResumeStartsNothing(t *testing.T) {
	w := newWire(t, 60_000)
	l := w.filled(2_000)
	w.answers("one_shot", []scripted.Step{scripted.Hang()})
	submit(t, l, drive.Compact{})
	until(t, l, "the request", func(e session.Entry) bool {
		ev, ok := e.Event.(session.RequestSent)
		return ok && ev.Compaction != 0
	})
	if err := w.srv.Await(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	log := must(os.ReadFile(l.Session.Path()))
	name := filepath.Base(l.Session.Path())
	l.Close()
	two := w.elsewhere(name, log)
	two.Close()
	if now := must(os.ReadFile(two.Session.Path())); !bytes.Equal(now, log) || len(w.srv.Requests()) != 2 {
		t.Errorf("%d requests, %d bytes more", len(w.srv.Requests()), len(now)-len(log))
	}
	// Esc in the next process ends it; its request has one end.
	three := w.elsewhere(name, log)
	submit(t, three, drive.Cancel{By: "user"})
	if f := over(t, three, 0); f == nil || f.Kind != "cancelled" {
		t.Errorf("%+v", f)
	}
	if s := compactions(t, three); strings.Count(s, "rejected") != 1 || !strings.Contains(s, "rejected lost\nfailed cancelled") {
		t.Error(s)
	}
}

// Killed again and again while it fails: what was spent stays spent, attempts
// times models at most. // FIN-3, SUM-3, CMP-10
func TestWireKillsSpendAttempts(t *testing.T) {
	w := newWire(t, 60_000)
	w.summarizers(60_000, 60_000)
	l := w.filled(2_000)
	w.answers("one_shot", []scripted.Step{scripted.Hang()})
	name := filepath.Base(l.Session.Path())
	log := must(os.ReadFile(l.Session.Path()))
	l.Close()
	kills := 0
	for kills < 20 {
		sent := w.count("one_shot")
		l := w.elsewhere(name, log)
		submit(t, l, drive.Compact{})
		e := until(t, l, "a request, or the end", func(e session.Entry) bool {
			ev, ok := e.Event.(session.RequestSent)
			return e.Seq > session.Seq(bytes.Count(log, []byte("\n"))) && (ok && ev.Compaction != 0 || e.Type == "compaction.failed")
		})
		if e.Type == "compaction.failed" {
			break
		}
		kills++
		if err := w.srv.Await(t.Context(), 1+sent+1); err != nil {
			t.Fatal(err)
		}
		log = must(os.ReadFile(l.Session.Path()))
		l.Close()
	}
	if n := w.count("one_shot"); n != 6 || kills != 6 {
		t.Errorf("%d kills, %d requests", kills, n)
	}
	var models []string
	for _, r := range w.srv.Requests()[1:] {
		models = append(models, r.Model())
	}
	if got := fmt.Sprint(models); got != "[s1 s1 s1 s2 s2 s2]" {
		t.Error(got)
	}
}

// The same of a turn whose request waits for a compaction: a person goes on with
// it, no call runs again, and it ends with one checkpoint. // CMP-10, LOG-14, S10
func TestWireCutTurn(t *testing.T) {
	w := newWire(t, 60_000)
	w.triggers(12_000)
	l := w.filled(14_000)
	w.answers("agent", looks(1), whole("Looked."))
	say(t, l, "Look around.")
	ended(t, l, 2)
	log := must(os.ReadFile(l.Session.Path()))
	name := filepath.Base(l.Session.Path())
	lines := bytes.SplitAfter(log, []byte("\n"))
	begun := slices.IndexFunc(lines, func(b []byte) bool { return bytes.Contains(b, []byte("Look around.")) })
	for cut := begun + 1; cut < len(lines)-1; cut++ {
		at := fmt.Sprint(cut, " ", must(session.Decode(bytes.TrimSpace(lines[cut-1]))).Type)
		l := w.elsewhere(name, bytes.Join(lines[:cut], nil))
		summaries := w.count("one_shot")
		committed := bytes.Contains(bytes.Join(lines[:cut], nil), []byte(`"checkpoint.committed"`))
		w.does("agent", func(_ int, r scripted.Request) []scripted.Step {
			if strings.Contains(string(r.Body), "call_1") {
				return whole("Looked.")
			}
			return looks(1)
		})
		if bytes.Contains(lines[cut-1], []byte(`"turn.ended"`)) {
			l.Close()
			break
		}
		submit(t, l, drive.Resume{})
		if end := ended(t, l, 2); end.Status != "completed" {
			t.Errorf("cut behind %s: %+v", at, end)
		}
		if n := w.count("one_shot") - summaries; committed && n != 0 || !committed && n != 1 {
			t.Errorf("cut behind %s: %d summaries", at, n)
		}
		if started(t, l, "checkpoint.committed") != 1 || started(t, l, "tool.started") != 1 {
			t.Errorf("cut behind %s\n%s", at, compactions(t, l))
		}
		l.Close()
	}
}
