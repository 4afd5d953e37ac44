package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"varve/internal/session"
)

// What instructs the model is published once, and again when it has changed; it
// is withdrawn when it is gone. What was left out is said once, and where none
// could be looked for the turn goes on and says so. // ASM-2, ASM-3, ASM-8
func TestDiscover(t *testing.T) {
	source := func(key, text, why string) (session.AssemblySource, string) {
		return session.AssemblySource{Key: key, Path: "/" + key, Why: why, Size: int64(len(text))}, text
	}
	type found struct{ key, text, why string }
	var now []found
	var broken error
	var print string
	look := func(context.Context) (Assembly, error) {
		a := Assembly{Fingerprint: print, Texts: map[string][]byte{}}
		for _, f := range now {
			src, text := source(f.key, f.text, f.why)
			if a.Sources = append(a.Sources, src); f.why == "" {
				a.Texts[f.key] = []byte(text)
			}
		}
		return a, broken
	}
	synctest.Test(t, func(t *testing.T) {
		w := alone(t)
		w.script.rest = text("Done.")
		w.opts.Look = look
		l := w.start()
		for i, turn := range []struct {
			what  string
			print string
			now   []found
			err   error
			want  string
		}{
			{"two", "a", []found{{"1", "be good", ""}, {"2", "be quick", ""}}, nil, "instruction.published 1 be good, instruction.published 2 be quick, assembly.reported 2"},
			{"the same", "a", []found{{"1", "be good", ""}, {"2", "be quick", ""}}, nil, "assembly.reported 0"},
			{"one changed, one gone", "b", []found{{"1", "be better", ""}}, nil, "instruction.published 1 be better, instruction.withdrawn 2, assembly.reported 1"},
			{"one left out", "c", []found{{"1", "be better", ""}, {"3", "", "too large"}}, nil, "toast.posted 1 /3: too large, assembly.reported 2"},
			{"still", "c", []found{{"1", "be better", ""}, {"3", "", "too large"}}, nil, "assembly.reported 0"},
			{"unreadable", "", nil, errors.New("no such folder"), "fault.recorded no such folder, assembly.reported 0"},
		} {
			now, broken, print = turn.now, turn.err, turn.print
			head := l.Session.Head()
			say(t, l, "go")
			if end := ended(t, l, i+1); end.Status != "completed" {
				t.Errorf("%s: %+v", turn.what, end)
			}
			var got []string
			for _, e := range must(l.Session.Entries(head, 100)) {
				parts := must(e.Parts())
				switch ev := e.Event.(type) {
				case session.InstructionPublished:
					got = append(got, e.Type+" "+ev.Key+" "+string(parts[0].Bytes))
				case session.InstructionWithdrawn:
					got = append(got, e.Type+" "+ev.Key)
				case session.ToastPosted:
					got = append(got, e.Type+" "+ev.Args["n"]+" "+ev.Args["what"])
				case session.FaultRecorded:
					got = append(got, e.Type+" "+string(parts[0].Bytes))
				case session.AssemblyReported:
					n := strings.Count(string(parts[0].Bytes), `"key"`)
					got = append(got, e.Type+" "+string(rune('0'+n)))
				}
			}
			if s := strings.Join(got, ", "); s != turn.want {
				t.Errorf("%s:\n got %s\nwant %s", turn.what, s, turn.want)
			}
		}
	})
}
