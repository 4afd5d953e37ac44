package tui

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
)

// saved are the drafts that were saved so far, in their order.
func (s *stage) saved() (out []string) {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	for _, d := range s.a.did {
		if text, ok := strings.CutPrefix(d, "draft "); ok {
			out = append(out, text)
		}
	}
	return out
}

func (s *stage) wantSaved(want ...string) {
	s.t.Helper()
	if got := s.saved(); !slices.Equal(got, want) {
		s.t.Errorf("saved %q, want %q", got, want)
	}
}

func (s *stage) wantLast(text string, changed bool) {
	s.t.Helper()
	if got, ch := s.Draft(); got != text || ch != changed {
		s.t.Errorf("the last draft is %q, changed %v; want %q, %v", got, ch, text, changed)
	}
}

func TestDraftIsSaved(t *testing.T) { // TUI-4
	scene(t, func(s *stage) {
		s.press("half a th")
		s.wantSaved()
		s.wantLast("half a th", true)
		s.later(time.Second)
		s.wantSaved("half a th")
		s.wantLast("half a th", false)
		s.press("ought")
		s.later(time.Second)
		s.wantSaved("half a th", "half a thought")
		s.later(time.Minute)
		s.press("<left>") // nothing was changed
		s.later(time.Minute)
		s.wantSaved("half a th", "half a thought")
		s.press("<ctrl+c>") // deleted: at once
		s.wantSaved("half a th", "half a thought", "")
		s.wantLast("", false)
	})
}

func TestSentDraftIsGone(t *testing.T) { // TUI-4
	onStage(t, 80, 24, noColours(), func(s *stage) { s.a.ident.Draft = "half a thought" }, func(s *stage) {
		s.wantDraft("half a thought")
		s.wantLast("half a thought", false)
		s.press("<enter>")
		s.wantCommands(`say "half a thought" steer=false`)
		s.wantSaved("")
		s.wantLast("", false)
	})
	scene(t, func(s *stage) { // sent before it was ever saved
		s.press("quick<enter>")
		s.later(time.Minute)
		s.wantSaved()
		s.wantLast("", false)
	})
}

// A window in which nothing was written leaves the draft of another one alone,
// whatever keys were pressed in it.
func TestDraftOfAnotherWindow(t *testing.T) { // TUI-4
	scene(t, func(s *stage) {
		s.press("<pgup>x<backspace>")
		s.later(time.Minute)
		s.wantSaved()
		s.wantLast("", false)
	})
	onStage(t, 80, 24, noColours(), func(s *stage) { s.a.ident.Draft = "the other's" }, func(s *stage) {
		s.press("<pgup><ctrl+p><esc>")
		s.later(time.Minute)
		s.wantSaved()
		s.wantLast("the other's", false)
	})
}

// What the program put there is nobody's draft, until somebody changes it.
func TestGivenTextIsNoDraft(t *testing.T) { // TUI-4
	o := Options{Prompt: "The tests fail.", Draft: true, Colors: colorprofile.NoTTY}
	onStage(t, 80, 24, o, nil, func(s *stage) {
		s.wantDraft("The tests fail.")
		s.press("<left>")
		s.later(time.Minute)
		s.wantSaved()
		s.wantLast("", false)
		s.press("<ctrl+e> Why?")
		s.later(time.Second)
		s.wantSaved("The tests fail. Why?")
	})
	scene(t, func(s *stage) {
		s.send(switchedMsg{id: Identity{Draft: "The tests fail."}})
		s.wantDraft("The tests fail.")
		s.press("<left>")
		s.later(time.Minute)
		s.wantSaved()
		s.wantLast("", false)
	})
}

// Saves come one after the other: one that takes its time is not overtaken, and
// what was sent meanwhile does not come back.
func TestSlowDraftIsNotOvertaken(t *testing.T) { // TUI-4
	scene(t, func(s *stage) {
		s.a.slowDraft = make(chan struct{})
		s.press("half")
		s.later(time.Second)
		s.wantSaved("half")
		s.wantLast("half", true) // it is on its way
		s.press(" a thought")
		s.later(2 * time.Second)
		s.press("<enter>")
		s.wantSaved("half")
		s.wantLast("", true)
		close(s.a.slowDraft)
		s.settle()
		s.wantSaved("half", "")
		s.wantLast("", false)
	})
}

// One that can't be saved is said, and tried again with the next change and at the end.
func TestDraftThatCantBeSaved(t *testing.T) { // TUI-4
	scene(t, func(s *stage) {
		s.a.noDraft = errors.New("no space left on device")
		s.press("half")
		s.later(time.Second)
		s.sees("! The draft can't be saved: no space left on device")
		s.wantLast("half", true)
		s.a.noDraft = nil
		s.press("!")
		s.later(time.Second)
		s.wantSaved("half", "half!")
		s.wantLast("half!", false)
	})
}
