package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// Another process replaces a covered item while a summary of it is made: the
// summary counts no more, and the next one has the new text. // CMP-8, RPR
func TestWireSourceReplaced(t *testing.T) {
	w := newWire(t, 60_000)
	l := w.filled(2_000)
	let := make(chan struct{})
	w.answers("one_shot", append([]scripted.Step{scripted.Wait(let)}, whole(handoff("old"))...), whole(handoff("new")))
	submit(t, l, drive.Compact{})
	w.asking(l, "one_shot", 1)
	said := userItems(l.Session, "main")[0]
	replace(t, l, said)
	close(let)
	if f := over(t, l, 0); f == nil || f.Kind != "source_changed" {
		t.Fatalf("%+v", f)
	}
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v", f)
	}
	all := w.srv.Requests()
	if s := string(all[len(all)-1].Body); !strings.Contains(s, "Tell me about silt.") || strings.Contains(s, "Tell me about sediment.") {
		t.Error("the summarizer reads the old text")
	}
}

func replace(t *testing.T, l *Local, item session.Seq) {
	t.Helper()
	foreign(t, l, session.Fact{
		Event: session.ItemReplaced{Item: item.Item(), Why: "redact", Text: session.Text{B: 0}, Tokens: session.Estimate(19)},
		Body:  []session.Part{{Bytes: []byte("Tell me about silt.")}},
	})
}

// Accepted maps of a text that was replaced meanwhile are void: the next
// attempt says so, and makes all of them anew. // MR-9
func TestWireStagingOfAReplacedSource(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(12_000)
	l := w.talked(4, 5_000)
	w.answers("reduce", refusedWith(400, `{"error":{"message":"no"}}`))
	if f := compacted(t, l); f == nil || f.Kind != "exhausted" || w.count("map") != 4 {
		t.Fatalf("%+v", f)
	}
	replace(t, l, userItems(l.Session, "main")[1])
	w.answers("reduce", whole(handoff("joined")))
	if f := compacted(t, l); f != nil || w.count("map") != 8 {
		t.Fatalf("%+v, %d maps", f, w.count("map"))
	}
	if n := toasts(t, l, "staging.voided"); len(n) != 1 || n[0]["why"] != "source_changed" {
		t.Errorf("%v", n)
	}
}

// What a program of before had generated is used by nobody: the next attempt
// says that it is void and begins at the source; opening says nothing. // MR-10
func TestWireLegacyStaging(t *testing.T) {
	for _, name := range []string{"staging.saved-v1", "staging.saved-v2", "split.saved"} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, 200_000)
			w.summarizers(12_000)
			log := must(os.ReadFile(filepath.Join("..", "session", "testdata", "legacy", name+".jsonl")))
			l := w.elsewhere("0194357e-0b80-7000-8000-000000000001.jsonl", log)
			w.does("agent", func(n int, _ scripted.Request) []scripted.Step { return numbered(n, 5_000) })
			for i := range 3 {
				say(t, l, fmt.Sprint("question ", i))
				idle(t, l)
			}
			if n := toasts(t, l, "staging.voided"); len(n) != 0 || l.State().Branch.Staging == nil {
				t.Errorf("%v %+v", n, l.State().Branch.Staging)
			}
			if f := compacted(t, l); f != nil {
				t.Fatalf("%+v\n%s", f, staged(t, l))
			}
			if n := toasts(t, l, "staging.voided"); len(n) != 1 || n[0]["why"] != "legacy" {
				t.Errorf("%v", n)
			}
			for _, r := range w.srv.Requests() {
				if strings.Contains(string(r.Body), "The user reports a crash") {
					t.Errorf("request %d has text of before", r.N)
				}
			}
			if w.count("map") < 2 {
				t.Errorf("%d maps", w.count("map"))
			}
		})
	}
}

// A reducer may ask for raw items once, also for such that an older checkpoint
// covers; it gets whole ones. What it asks wrongly fails by name, and the next
// attempt may ask better. // MR-7
func TestWireReread(t *testing.T) {
	for name, c := range map[string]struct {
		wish, want string
	}{
		"behind a checkpoint": {"REREAD: 6-10", ""},
		"malformed":           {"REREAD: all of it", "reread_malformed"},
		"too many":            {"REREAD: 6, 10, 15, 20", "reread_malformed"},
		"unavailable":         {"REREAD: 900-901", "reread_unavailable"},
		"too large":           {"REREAD: 6-60", "reread_too_large"},
		"again":               {"REREAD: 6", "reread_again"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, 200_000)
			l := w.talked(1, 2_000)
			if f := compacted(t, l); f != nil {
				t.Fatal(f)
			}
			w.summarizers(12_000)
			l = restarted(t, w, l)
			w.does("agent", func(n int, _ scripted.Request) []scripted.Step { return numbered(n-1, 5_000) })
			for i := range 3 {
				say(t, l, fmt.Sprintf("question %d", i+1))
				idle(t, l)
			}
			w.does("reduce", func(_ int, r scripted.Request) []scripted.Step {
				if raw := strings.Contains(r.LastUser(), "The raw items that you asked for"); raw && name != "again" {
					return whole(handoff("settled"))
				}
				return whole(c.wish)
			})
			f := compacted(t, l)
			if c.want == "" {
				if f != nil {
					t.Fatalf("%+v\n%s", f, staged(t, l))
				}
				var raw string
				for _, r := range w.srv.Requests() {
					if s := r.LastUser(); strings.Contains(s, "The raw items that you asked for") {
						raw = s
					}
				}
				if !strings.Contains(raw, "[6 user]\nquestion 0") || !strings.Contains(raw, "[10 assistant]\nanswer 0: ") || strings.Contains(raw, "answer 1: ") || strings.Contains(raw, "REREAD") {
					t.Errorf("%.600s", raw)
				}
				return
			}
			if f == nil || f.Kind != c.want {
				t.Fatalf("%+v, want %s\n%s", f, c.want, staged(t, l))
			}
			maps := w.count("map")
			w.answers("reduce", whole(handoff("settled")))
			if f := compacted(t, l); f != nil || w.count("map") != maps {
				t.Errorf("%+v\n%s", f, staged(t, l))
			}
		})
	}
}

// A handoff that two corrections did not make right is not installed; the same
// model is not asked again, another one is, with the maps that there are.
// // MR-8, MR-11, case CMP-11
func TestWireCorrectionFailure(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(12_000)
	l := w.talked(4, 5_000)
	before := shownView(t, l)
	w.answers("audit", whole("Nobody forbade to run the tests."))
	if f := compacted(t, l); f == nil || f.Kind != "audit" || w.count("correct") != 2 || w.count("audit") != 3 || shownView(t, l) != before {
		t.Fatalf("%+v, %d corrections, %d audits", f, w.count("correct"), w.count("audit"))
	}
	sent := len(w.srv.Requests())
	if f := compacted(t, l); f == nil || f.Kind != "stuck" || len(w.srv.Requests()) != sent {
		t.Fatalf("%+v, %d requests more", f, len(w.srv.Requests())-sent)
	}
	if n := toasts(t, l, "compaction.failed"); !strings.Contains(n[1]["detail"], "corrections") || !strings.Contains(n[1]["detail"], "wire/s1") {
		t.Errorf("%v", n)
	}
	// Another wish is another handoff: on a copy of the log, from the source.
	wish := w.elsewhere(filepath.Base(l.Session.Path()), must(os.ReadFile(l.Session.Path())))
	from := wish.Session.Head()
	submit(t, wish, drive.Compact{Focus: []byte("the tests")})
	over(t, wish, from)
	if n := toasts(t, wish, "staging.voided"); len(n) != 1 || n[0]["why"] != "focus" {
		t.Errorf("%v", n)
	}
	w.mu.Lock()
	w.asked = map[string]int{"map": 4, "correct": 2}
	w.mu.Unlock()
	w.models["s2"] = 12_000
	other := []session.Model{{Provider: "wire", API: "openai-chat", Model: "s2"}}
	w.opts.Summarizers = func() []session.Model { return other }
	l = restarted(t, w, l)
	if f := compacted(t, l); f == nil || f.Kind != "audit" || w.count("map") != 4 || w.count("correct") != 4 {
		t.Fatalf("%+v, %d maps, %d corrections", f, w.count("map"), w.count("correct"))
	}
	if f := compacted(t, l); f == nil || f.Kind != "stuck" { // renewed once, by the switch
		t.Fatalf("%+v\n%s", f, staged(t, l))
	}
	w.answers("audit", whole("PASS"))
	other[0].Model = "s1"
	if f := compacted(t, l); f != nil || w.count("map") != 4 {
		t.Errorf("%+v, %d maps\n%s", f, w.count("map"), staged(t, l))
	}
}

// Who spent the budget need not be the first of the list: its second /compact
// renews nothing. Another model does. // MR-11
func TestWireTheSecondSpent(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(-1, 12_000)
	l := w.talked(4, 5_000)
	w.answers("audit", whole("Nobody forbade to run the tests."))
	if f := compacted(t, l); f == nil || f.Kind != "audit" || w.count("correct") != 2 {
		t.Fatalf("%+v, %d corrections", f, w.count("correct"))
	}
	if f := compacted(t, l); f == nil || f.Kind != "stuck" || w.count("correct") != 2 {
		t.Fatalf("%+v, %d corrections\n%s", f, w.count("correct"), staged(t, l))
	}
	if n := toasts(t, l, "compaction.failed"); !strings.Contains(n[1]["detail"], "wire/s2") {
		t.Errorf("%v", n)
	}
	w.models["s3"] = 12_000
	list := append(w.opts.Summarizers(), session.Model{Provider: "wire", API: "openai-chat", Model: "s3"})
	w.opts.Summarizers = func() []session.Model { return list }
	w.answers("audit", whole("PASS"))
	if f := compacted(t, restarted(t, w, l)); f != nil || w.count("map") != 4 {
		t.Errorf("%+v, %d maps\n%s", f, w.count("map"), staged(t, l))
	}
}

// Models are asked in the order of the list, each with its bounds; one that
// can't be reached is said and passed over; the agent's own is none of them.
// // SUM-1, SUM-3, SUM-8, FIN-3
func TestWireChain(t *testing.T) {
	w := newWire(t, 60_000)
	w.summarizers(60_000, -1, 60_000, 60_000)
	l := w.filled(2_000)
	w.does("one_shot", func(_ int, r scripted.Request) []scripted.Step {
		switch r.Model() {
		case "s1":
			return cutOff("length")
		case "s3":
			return refusedWith(401, `{"error":{"message":"wrong key"}}`)
		}
		return whole(handoff("the fourth"))
	})
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v", f)
	}
	var tried []string
	for _, n := range toasts(t, l, "compaction.asks") {
		tried = append(tried, n["model"]+" "+n["i"]+"/"+n["n"])
	}
	if got := strings.Join(tried, ", "); got != "wire/s1 1/4, wire/s2 2/4, wire/s3 3/4, wire/s4 4/4" {
		t.Error(got)
	}
	w.proves(l, "chain", "The first is cut off, the second has no key, the third is refused, the fourth answers.")
}

// A handoff without the sections that have to be there is asked for once more,
// with a word on them; then the next model is asked. // CMP-6
func TestWireSections(t *testing.T) {
	w := newWire(t, 60_000)
	w.summarizers(60_000, 60_000)
	l := w.filled(2_000)
	w.does("one_shot", func(n int, r scripted.Request) []scripted.Step {
		switch {
		case r.Model() == "s2":
			return whole(handoff("all there"))
		case n == 1:
			return cutOff("length")
		}
		return whole("## Objective\nnone of the others")
	})
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v", f)
	}
	wantStory(t, l, `
request
ended completed
asked by user
started manual one_shot of [{6 10}]
started wire/s1 1/2 
sent one_shot 1, limit 0
rejected length
sent one_shot 2, limit 0
no handoff: sections
sent one_shot 3, limit 0
no handoff: sections
spent wire/s1 1/2 sections: the handoff has no Work State, no Next Action
started wire/s2 2/2 
sent one_shot 1, limit 0
committed [{6 10}]`)
	for _, r := range w.srv.Requests() {
		if strings.Contains(r.LastUser(), "Your last handoff had no") != (r.N == 4) {
			t.Errorf("request %d", r.N)
		}
	}
}

// A handoff that all accepted work came to, and that leaves no room, is not
// offered again: the next attempt makes another of the same notes. // CMP-7, MR-9
func TestWireOversizedMapReduce(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(12_000)
	l := w.talked(4, 5_000)
	before := shownView(t, l)
	w.answers("reduce", whole(handoff(strings.Repeat("so it is. ", 9_000))))
	w.models["s1"] = 100_000 // the audit of that has room
	w.answers("one_shot", refusedWith(400, unsaid))
	if f := compacted(t, l); f == nil || f.Kind != "not_smaller" || shownView(t, l) != before {
		t.Fatalf("%+v\n%s", f, staged(t, l))
	}
	maps := w.count("map")
	w.answers("reduce", whole(handoff("short")))
	if f := compacted(t, l); f != nil || w.count("map") != maps {
		t.Errorf("%+v, %d maps more\n%s", f, w.count("map")-maps, staged(t, l))
	}
}

// Notes of a history that has grown so much since that what they leave out is
// over the trigger are void: a handoff of them would be of no use. // CMP-7, MR-9
func TestWireSourceGrown(t *testing.T) {
	w := newWire(t, 200_000)
	w.opts.Settings.Compaction.Mode = mode("disabled")
	w.triggers(12_000)
	w.summarizers(12_000)
	l := w.talked(3, 5_000)
	w.answers("reduce", refusedWith(400, `{"error":{"message":"no"}}`), whole(handoff("joined")))
	if f := compacted(t, l); f == nil || f.Kind != "exhausted" {
		t.Fatalf("%+v", f)
	}
	for i := range 3 {
		say(t, l, fmt.Sprint("more ", i))
		ended(t, l, 4+i)
	}
	if f := compacted(t, l); f != nil {
		t.Errorf("%+v\n%s", f, staged(t, l))
	}
	if n := toasts(t, l, "staging.voided"); len(n) != 1 || n[0]["why"] != "source_grown" {
		t.Errorf("%v", n)
	}
}
