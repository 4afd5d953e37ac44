package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// What becomes of accepted work: it is refused once and dropped then, it is of
// nobody where nothing was accepted, and it goes on with the models of now.

// audits is a session whose notes nobody can make a handoff of: its corrections
// are spent.
func (w *wire) audits(exchanges int) *Local {
	w.t.Helper()
	l := w.talked(exchanges, 5_000)
	w.answers("audit", whole("Nobody forbade to run the tests."))
	if f := compacted(w.t, l); f == nil || f.Kind != "audit" {
		w.t.Fatalf("%+v\n%s", f, staged(w.t, l))
	}
	return l
}

// failures are the kinds of the compactions that failed behind from.
func failures(l *Local, from session.Seq) (kinds []string) {
	for _, e := range must(l.Session.Entries(from, 1<<20)) {
		if ev, ok := e.Event.(session.CompactionFailed); ok {
			kinds = append(kinds, ev.Kind)
		}
	}
	return kinds
}

// Where the trigger's attempt can't go on since a budget is spent, that is said
// once in a turn, whatever is done then, and also where another process goes on with
// it. // CMP-10, MR-11
func TestWireSpentIsSaidOnce(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(12_000)
	w.triggers(22_000)
	l := w.talked(4, 5_000)
	w.answers("audit", whole("Nobody forbade to run the tests."))
	w.answers("agent", long(3_000), looks(1), looks(2), append([]scripted.Step{scripted.Role()}, scripted.Hang()))
	from := l.Session.Head()
	say(t, l, strings.Repeat("Look around. ", 1_500))
	ended(t, l, 5)
	if got := strings.Join(failures(l, from), " "); got != "audit" {
		t.Fatalf("%s\n%s", got, staged(t, l))
	}
	from = l.Session.Head()
	say(t, l, "Look around.")
	until(t, l, "three requests", func(session.Entry) bool {
		turn := l.State().Branch.Turn
		return turn != nil && turn.Requests == 3 && turn.Open.Seq != 0
	})
	log := must(os.ReadFile(l.Session.Path()))
	l.Close()
	l = w.elsewhere(filepath.Base(l.Session.Path()), log)
	w.answers("agent", looks(3), looks(4), whole("Looked."))
	submit(t, l, drive.Resume{})
	ended(t, l, 6)
	if got := strings.Join(failures(l, from), " "); got != "stuck" {
		t.Errorf("%s\n%s", got, staged(t, l))
	}
}

// /compact says which budget is spent; once more it begins anew, with the same
// model and without what was accepted. What is offered is what would be done.
// // MR-11, SUM-4
func TestWireSpentIsDropped(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(12_000)
	l := w.audits(4)
	offered := func() (out []string) {
		for _, e := range must(l.Session.Entries(0, 1<<20)) {
			if ev, ok := e.Event.(session.ToastPosted); ok && ev.Code == "compaction.failed" {
				out = append(out, strings.Join(ev.Actions, " "))
			}
		}
		return out
	}
	wantOnward(t, l, w, "refused")
	sent, maps := len(w.srv.Requests()), w.count("map")
	if f := compacted(t, l); f == nil || f.Kind != "stuck" || len(w.srv.Requests()) != sent {
		t.Fatalf("%+v, %d requests more", f, len(w.srv.Requests())-sent)
	}
	if got := strings.Join(offered(), "; "); got != "focus models go_on; anew models go_on" {
		t.Error(got)
	}
	wantOnward(t, l, w, "dropped")
	w.answers("audit", whole("PASS"))
	log := must(os.ReadFile(l.Session.Path()))
	l = restarted(t, w, l) // the refusal is in the log
	if f := compacted(t, l); f != nil || w.count("map") != 2*maps {
		t.Fatalf("%+v, %d maps after %d\n%s", f, w.count("map"), maps, staged(t, l))
	}
	if n := toasts(t, l, "staging.voided"); len(n) != 1 || n[0]["why"] != "spent" {
		t.Errorf("%v", n)
	}
	// With another model the refusal of the one before drops nothing.
	other := w.elsewhere(filepath.Base(l.Session.Path()), log)
	w.models["s2"] = 12_000
	w.opts.Summarizers = func() []session.Model { return []session.Model{{Provider: "wire", API: "openai-chat", Model: "s2"}} }
	other.Close()
	other = w.elsewhere(filepath.Base(l.Session.Path()), log)
	wantOnward(t, other, w, "goes_on")
	maps = w.count("map")
	if f := compacted(t, other); f != nil || w.count("map") != maps {
		t.Errorf("%+v, %d maps more", f, w.count("map")-maps)
	}
}

// wantOnward is what /context says that a /compact would make of accepted work.
// // CMP-15
func wantOnward(t *testing.T, l *Local, w *wire, want string) {
	t.Helper()
	if r := l.Session.Report(t.Context(), l.State(), w.opts.Resolve, w.opts.Summarizers()); r.Onward != want || r.Route != "map_reduce" {
		t.Errorf("%q by %s, want %q", r.Onward, r.Route, want)
	}
}

// Parts of which none was accepted are no work of anybody: another model is asked
// as if there had been none, by one request where that fits, else by maps side by
// side. // MR-11, MR-4
func TestWireNothingAccepted(t *testing.T) {
	for _, c := range []struct {
		window int
		want   string
	}{
		{100_000, "sent one_shot"},
		{12_000, "staging of 4"},
	} {
		w := newWire(t, 200_000)
		w.summarizers(12_000)
		l := w.talked(4, 5_000)
		good := w.says["map"]
		w.answers("map", []scripted.Step{scripted.Role(), scripted.CloseReset()})
		if f := compacted(t, l); f == nil || f.Kind != "exhausted" || !l.State().Branch.Staging.Sequential {
			t.Fatalf("%+v\n%s", f, staged(t, l))
		}
		w.does("map", good)
		w.models["s2"] = c.window
		w.opts.Summarizers = func() []session.Model { return []session.Model{{Provider: "wire", API: "openai-chat", Model: "s2"}} }
		l = restarted(t, w, l)
		from := l.Session.Head()
		submit(t, l, drive.Compact{})
		over(t, l, from)
		_, story, _ := strings.Cut(compactions(t, l), "started wire/s2")
		if !strings.Contains(story, c.want) || !strings.Contains(story, "committed") || l.State().Branch.Staging != nil {
			t.Errorf("window %d\n%s", c.window, story)
		}
		for _, e := range must(l.Session.Entries(from, 1<<20)) {
			if ev, ok := e.Event.(session.StagingSequenced); ok {
				t.Errorf("window %d: %+v", c.window, ev)
			}
		}
		if n := toasts(t, l, "staging.voided"); len(n) != 0 {
			t.Errorf("%v: there was nothing to miss", n)
		}
	}
}

// A compaction that a killed process left open goes on with the list of the
// moment: the maps that were accepted are kept, whoever is asked. With the same
// list it goes on as it is. // SUM-7, MR-9
func TestWireLeftOpenWithAnotherList(t *testing.T) {
	for _, c := range []struct {
		stage, by string // who goes on with it: a command, or a message
		same      bool
	}{
		{"map", "/compact", false},
		{"map", "message", false},
		{"map", "/compact", true},
		{"map", "message", true},
		{"one_shot", "/compact", false},
		{"one_shot", "message", false},
		{"one_shot", "/compact", true},
	} {
		t.Run(c.stage+" "+c.by+map[bool]string{true: ", same list"}[c.same], func(t *testing.T) {
			w := newWire(t, 200_000)
			window := 12_000
			if c.stage == "one_shot" {
				window = 100_000
			}
			w.summarizers(window)
			w.triggers(150_000)
			l := w.talked(4, 5_000)
			good := w.says[c.stage]
			w.does(c.stage, func(n int, r scripted.Request) []scripted.Step {
				if c.stage == "map" && partOf(r) < "2" {
					return good(n, r)
				}
				return []scripted.Step{scripted.Role(), scripted.Hang()}
			})
			submit(t, l, drive.Compact{Focus: []byte("the third answer")})
			if c.stage == "map" {
				w.asking(l, "map", 4)
				until(t, l, "two maps", func(session.Entry) bool { g := l.State().Branch.Staging; return g != nil && len(g.Maps) == 2 })
			} else {
				w.asking(l, c.stage, 1)
			}
			log := must(os.ReadFile(l.Session.Path()))
			l.Close()
			w.does(c.stage, good)
			last := "s1"
			if !c.same {
				last = "s2"
				w.models["s2"] = window
				list := []session.Model{{Provider: "wire", API: "openai-chat", Model: "s2"}}
				w.opts.Settings.Summarizers = list
				w.opts.Summarizers = func() []session.Model { return list }
			}
			maps, sent := w.count("map"), len(w.srv.Requests())
			l = w.elsewhere(filepath.Base(l.Session.Path()), log)
			from := l.Session.Head()
			if c.by == "message" {
				say(t, l, "Go on.")
			} else {
				submit(t, l, drive.Compact{})
			}
			until(t, l, "the checkpoint", func(e session.Entry) bool { return e.Type == "checkpoint.committed" })
			if c.by == "message" {
				ended(t, l, 5)
			}
			idle(t, l)
			if got := strings.Join(failures(l, from), " "); got != map[bool]string{false: "superseded"}[c.same] {
				t.Errorf("failed: %q", got)
			}
			if n := w.count("map") - maps; c.stage == "map" && n != 2 {
				t.Errorf("%d maps more\n%s", n, staged(t, l))
			}
			for _, r := range w.srv.Requests()[sent:] {
				if stageOf(r) != "agent" && r.Model() != last {
					t.Errorf("%s of %s", stageOf(r), r.Model())
				}
				if s := stageOf(r); (s == "one_shot" || s == "reduce") && !strings.Contains(r.LastUser(), "the third answer") {
					t.Errorf("%s without its focus", s)
				}
			}
			if n := started(t, l, "checkpoint.committed"); n != 1 {
				t.Errorf("%d checkpoints\n%s", n, staged(t, l))
			}
		})
	}
}

// So it is with the trigger's in a turn that a killed process left: whoever goes on
// with the turn asks the list of now, and Esc ends it for this turn. // SUM-7, CMP-10
func TestWireLeftOpenInATurn(t *testing.T) {
	for _, esc := range []bool{false, true} {
		w := newWire(t, 60_000)
		w.summarizers(60_000)
		w.triggers(12_000)
		l := w.filled(14_000)
		w.answers("one_shot", []scripted.Step{scripted.Hang()})
		say(t, l, "Look around.")
		w.asking(l, "one_shot", 1)
		log := must(os.ReadFile(l.Session.Path()))
		l.Close()
		w.models["s2"] = 60_000
		list := []session.Model{{Provider: "wire", API: "openai-chat", Model: "s2"}}
		w.opts.Settings.Summarizers, w.opts.Summarizers = list, func() []session.Model { return list }
		w.answers("agent", looks(1), whole("Looked."))
		if !esc {
			w.answers("one_shot", whole(handoff("go on")))
		}
		l = w.elsewhere(filepath.Base(l.Session.Path()), log)
		submit(t, l, drive.Resume{})
		if esc {
			w.asking(l, "one_shot", 2)
			submit(t, l, drive.Cancel{By: "user"})
		}
		if end := ended(t, l, 2); end.Status != "completed" || w.count("one_shot") != 2 {
			t.Errorf("esc %v: %+v, %d summaries\n%s", esc, end, w.count("one_shot"), staged(t, l))
		}
		var by []string
		for _, r := range w.srv.Requests() {
			if stageOf(r) == "one_shot" {
				by = append(by, r.Model())
			}
		}
		if got := strings.Join(by, " "); got != "s1 s2" {
			t.Errorf("esc %v: %s", esc, got)
		}
	}
}

// Who stops a compaction while a message waits for it wants none in that
// message's turn either; the next turn tries afresh. // CMP-10, TUI-5
func TestWireEscapeBeforeAMessage(t *testing.T) {
	w := newWire(t, 60_000)
	w.triggers(12_000)
	l := w.filled(14_000)
	w.answers("one_shot", []scripted.Step{scripted.Hang()})
	submit(t, l, drive.Compact{})
	w.asking(l, "one_shot", 1)
	log := must(os.ReadFile(l.Session.Path()))
	l.Close()
	l = w.elsewhere(filepath.Base(l.Session.Path()), log)
	w.answers("agent", looks(1), whole("Looked."))
	say(t, l, "Look around.")
	w.asking(l, "one_shot", 2)
	submit(t, l, drive.Cancel{By: "user"})
	if end := ended(t, l, 2); end.Status != "completed" || w.count("one_shot") != 2 {
		t.Errorf("%+v, %d summaries", end, w.count("one_shot"))
	}
	w.answers("one_shot", whole(handoff("go on")))
	say(t, l, "And now?")
	if end := ended(t, l, 3); end.Status != "completed" || w.count("one_shot") != 3 {
		t.Errorf("%+v, %d summaries", end, w.count("one_shot"))
	}
}

// That parts were accepted is said where some were. // SUM-4, MR-12
func TestWireStoppedWithNothing(t *testing.T) {
	w := newWire(t, 60_000)
	l := w.filled(2_000)
	w.answers("one_shot", []scripted.Step{scripted.Hang()})
	submit(t, l, drive.Compact{})
	w.asking(l, "one_shot", 1)
	submit(t, l, drive.Cancel{By: "user"})
	if f := over(t, l, 0); f == nil || f.Kept {
		t.Errorf("%+v", f)
	}
	if n := toasts(t, l, "compaction.failed"); len(n) != 1 || n[0]["kept"] != "" {
		t.Errorf("%v", n)
	}
}

// The toast of each model says why it is not the one before. // SUM-8, SUM-4
func TestWireWhyTheNext(t *testing.T) {
	w := newWire(t, 60_000)
	w.summarizers(60_000, 60_000, 60_000)
	l := w.filled(2_000)
	w.does("one_shot", func(n int, r scripted.Request) []scripted.Step {
		switch r.Model() {
		case "s1":
			return refusedWith(401, `{"error":{"message":"no such key"}}`)
		case "s2":
			return cutOff("length")
		}
		return whole(handoff("go on"))
	})
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v", f)
	}
	n := toasts(t, l, "compaction.asks")
	if len(n) != 3 || n[0]["after"] != "" || n[1]["after"] != "wire/s1" || !strings.Contains(n[1]["why"], "no such key") || n[2]["after"] != "wire/s2" || n[2]["why"] != "length" {
		t.Errorf("%v", n)
	}
}

// What a refusal says of the window counts from then on, also before the next
// request. // CMP-1, PRV-8
func TestWireRoomIsLearned(t *testing.T) {
	w := newWire(t, 60_000)
	w.opts.Settings.Compaction.Mode = mode("disabled")
	l := w.filled(2_000)
	if c, _ := drive.Room(l.State()); c.N != 60_000 {
		t.Errorf("%+v", c)
	}
	w.answers("agent", tooLong(20_000))
	say(t, l, "Go on.")
	ended(t, l, 2)
	if c, _ := drive.Room(l.State()); c.N != 20_000 || c.Source != "learned" {
		t.Errorf("%+v", c)
	}
}

// A /compact that fails in a turn is not followed by the trigger's in the same
// moment. // CMP-10
func TestWireFailedByHandInATurn(t *testing.T) {
	w := newWire(t, 60_000)
	w.triggers(12_000)
	l := w.filled(8_000)
	let := make(chan struct{})
	w.answers("one_shot", refusedWith(401, `{"error":{"message":"no such key"}}`))
	more := []scripted.Step{scripted.Wait(let), scripted.Role(), scripted.Text(strings.Repeat("so it is. ", 1_800))}
	w.answers("agent", append(more, looks(1)...), looks(2), whole("Looked."))
	say(t, l, "Look around.")
	until(t, l, "the request", func(session.Entry) bool { s := l.State().Branch.Turn; return s != nil && s.Open.Seq != 0 })
	submit(t, l, drive.Compact{})
	close(let)
	ended(t, l, 2)
	if got := strings.Join(failures(l, 0), " "); got != "exhausted" || w.count("one_shot") != 1 {
		t.Errorf("%s, %d requests\n%s", got, w.count("one_shot"), staged(t, l))
	}
	w.answers("one_shot", whole(handoff("go on")))
	say(t, l, "And now?")
	if end := ended(t, l, 3); end.Status != "completed" || started(t, l, "checkpoint.committed") != 1 {
		t.Errorf("%+v\n%s", end, staged(t, l))
	}
}

// So it is with the next of the list in the same compaction. // MR-11, SUM-3
func TestWireNothingAcceptedInAChain(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(12_000, 100_000)
	l := w.talked(4, 5_000)
	w.answers("map", []scripted.Step{scripted.Role(), scripted.CloseReset()})
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v\n%s", f, staged(t, l))
	}
	_, story, _ := strings.Cut(compactions(t, l), "started wire/s2 2/2")
	if !strings.HasPrefix(strings.TrimSpace(story), "sent one_shot 1, limit 0\ncommitted") {
		t.Error(story)
	}
}
