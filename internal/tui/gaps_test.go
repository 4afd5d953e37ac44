package tui

import (
	"slices"
	"strings"
	"testing"

	"varve/internal/session"
)

// Where something can't be read that is said there, whatever pages it came with. // LOG-7, BRW-4
func TestGapsAreMarked(t *testing.T) {
	tp := newTape(t)
	tp.put(session.SessionCreated{Format: session.Format, ID: "s"})
	for _, s := range []string{"one", "two", "three", "four", "five", "six"} {
		tp.say(s)
	}
	all := slices.Clone(tp.entries)
	entries := slices.DeleteFunc(all, func(e session.Entry) bool { return e.Seq == 4 || e.Seq == 5 })
	gaps := []Gap{{First: 2, Last: 2, Changed: true}, {First: 4, Last: 5}}
	order := []string{"▌ one", "Event 2, before this line, was changed", "▌ two", "Here events 4 to 5 of this session can't be read", "▌ five", "▌ six"}
	for cut := 0; cut < len(entries); cut++ {
		tr := newTranscript(plainLook(plainTime()))
		tr.gaps = gaps
		tr.add(entries[cut:])
		if cut > 0 {
			tr.prepend(entries[:cut])
		}
		text := strings.Join(tr.view(100, 40), "\n")
		last := -1
		for _, part := range order {
			at := strings.Index(text, part)
			if at <= last || strings.Count(text, part) != 1 {
				t.Fatalf("cut at %d: %q is missing, twice there, or too early:\n%s", cut, part, text)
			}
			last = at
		}
	}
	scene(t, func(s *stage) {
		turn := s.works("first of all")
		s.a.branches.gaps = []Gap{{First: turn - 1, Last: turn - 1, Changed: true}}
		s.now()
		s.sees("was changed after it was written")
		if n := s.asksOf("tail"); n != 2 {
			t.Errorf("read %d times", n)
		}
	})
}
