package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// keeps lets the agent of a stage do to the queue what it is asked for, as the
// harness does.
func (s *stage) keeps() {
	s.a.answers = func(cmd drive.Command) error {
		facts, err := drive.Admit(s.a.fold.State("main"), drive.Env{Run: "r"}, cmd)
		for _, f := range facts {
			s.a.fact(f)
		}
		return err
	}
}

// waits are the words that wait, as the session has them.
func (s *stage) waits() string {
	var out []string
	for _, q := range s.state.Branch.Queue {
		out = append(out, s.chat.tr.queued(q.ID))
	}
	return strings.Join(out, "|")
}

// Three messages wait: each can be moved, removed and edited where it stands.
func TestQueueIsEditedMovedAndRemoved(t *testing.T) { // TUI-5
	scene(t, func(s *stage) {
		s.press("<alt+q>")
		s.sees("Nothing waits.")
		s.works("hello")
		for _, w := range []string{"one", "two", "three"} {
			s.queues("queue", w)
		}
		s.now()
		s.keeps()
		did := func(want string) {
			t.Helper()
			s.now()
			if got := s.waits(); got != want {
				t.Errorf("what waits is %s, want %s", got, want)
			}
		}
		s.press("my draft<alt+q>")
		s.sees("What waits (3)", "▸ 3. three", "Enter edit", "Delete remove", "Alt+Up up")
		s.press("<alt+up><alt+up><alt+up>") // the third does nothing: it is the first
		did("three|one|two")
		s.sees("▸ 1. three", "  2. one", "  3. two")
		s.press("<down><delete>")
		did("three|two")
		s.sees("  1. three", "▸ 2. two")
		s.press("<alt+down>") // the last one
		did("three|two")
		s.press("<enter>")
		s.sees("A message that waits", "two", "leave it as it was")
		s.press(" and a half<ctrl+j>with a line")
		s.send(tea.PasteMsg{Content: " that was pasted"})
		s.press("<enter>")
		did("three|two and a half\nwith a line that was pasted")
		s.press("<up><enter>, not<esc>") // left as it was
		did("three|two and a half\nwith a line that was pasted")
		s.press("<enter><ctrl+u><enter>")
		s.sees("an empty message can't wait")
		s.press("<esc>")
		s.wantDraft("my draft")
		s.press("<esc>")
		s.lacks("What waits")
		s.wantDraft("my draft")
		if got := s.commands(); strings.Contains(got, "Cancel") {
			t.Errorf("asked for %s", got)
		}
	})
}

// The mouse does what keys do: it chooses, edits, moves, removes, and a click on
// what waits opens the list.
func TestQueueByMouse(t *testing.T) { // TUI-5, TUI-9
	scene(t, func(s *stage) {
		s.works("hello")
		for _, w := range []string{"one", "two", "three"} {
			s.queues("queue", w)
		}
		s.now()
		s.keeps()
		click := func(text string) {
			t.Helper()
			for y, l := range strings.Split(s.screen(), "\n") {
				if i := strings.Index(l, text); i >= 0 {
					s.send(tea.MouseClickMsg{X: len([]rune(l[:i])) + 1, Y: y, Button: tea.MouseLeft})
					s.now()
					return
				}
			}
			t.Fatalf("no %q to click on:\n%s", text, s.screen())
		}
		click("queued: two")
		s.sees("What waits (3)")
		click("1. one")
		click("3. three")
		click("[↑]")
		s.sees("▸ 2. three")
		click("[↓]")
		click("[↑]")
		click("[x]")
		if got := s.waits(); got != "one|two" {
			t.Errorf("what waits is %s", got)
		}
		click("2. two")
		s.sees("A message that waits")
		s.send(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	})
}

// What was asked for is done though the list is closed before the first of it was.
func TestQueueGoesOnWhenClosed(t *testing.T) { // TUI-5
	scene(t, func(s *stage) {
		s.works("hello")
		for _, w := range []string{"one", "two", "three", "four"} {
			s.queues("queue", w)
		}
		s.now()
		s.keeps()
		s.press("<alt+q>")
		s.burst("delete", "delete", "esc")
		s.now()
		if s.waits() != "one|two" {
			t.Errorf("what waits is %s, want one|two", s.waits())
		}
	})
}

// The column beside the control that removes belongs to nobody.
func TestQueueAirRemovesNothing(t *testing.T) { // TUI-5, TUI-9
	scene(t, func(s *stage) {
		s.works("hello")
		s.queues("queue", "one")
		s.now()
		s.keeps()
		s.press("<alt+q>")
		b := s.overlays[0].(*queueBox).box(s.frame)
		s.send(tea.MouseClickMsg{X: b.x + b.w - 2, Y: b.y + 1, Button: tea.MouseLeft})
		s.now()
		if s.waits() != "one" {
			t.Error("a click on air removed it")
		}
		s.send(tea.MouseClickMsg{X: b.x + b.w - 3, Y: b.y + 1, Button: tea.MouseLeft})
		s.now()
		if s.waits() != "" {
			t.Error("a click on the control did not remove it")
		}
	})
}

// Words that were written for an entry that was taken meanwhile are not lost.
func TestQueueEditThatComesLate(t *testing.T) { // TUI-5, case TUI-11
	for _, draft := range []string{"", "my draft"} {
		scene(t, func(s *stage) {
			s.works("hello")
			s.queues("queue", "one")
			s.now()
			s.press(draft + "<alt+q><enter>, changed")
			s.a.answers = func(drive.Command) error { return drive.ErrGone }
			s.press("<enter>")
			s.sees("What waits was not changed: ")
			s.press("<esc>")
			if draft == "" {
				s.wantDraft("one, changed")
				return
			}
			s.wantDraft(draft)
			s.press("<ctrl+u><up>")
			s.wantDraft("one, changed")
		})
	}
	scene(t, func(s *stage) { // its text is not there yet: it is not emptied
		s.works("hello")
		ref := session.Part{Ref: &session.Ref{SHA256: strings.Repeat("a", 64), MediaType: "text/plain", Size: 100_000}}
		s.a.noBody = errors.New("disk on fire")
		s.a.fact(session.Fact{Event: session.InputQueued{Kind: "queue"}, Body: []session.Part{ref}})
		s.now()
		s.press("<alt+q><enter>")
		s.sees("its text can't be read yet")
		s.press("<esc>")
	})
}

// Any keys at any speed: what waits at the end is what the list said, and no
// words are lost or doubled.
func TestQueueIsWhatItShows(t *testing.T) { // TUI-5
	rapid.Check(t, func(rt *rapid.T) {
		w := newTape(t)
		fold := session.NewFold()
		folded := 0
		state := func() session.State {
			for _, e := range w.entries[folded:] {
				if err := fold.Apply(e); err != nil {
					rt.Fatal(err)
				}
			}
			folded = len(w.entries)
			return fold.State("main")
		}
		w.put(session.SessionCreated{Format: session.Format, ID: "s"})
		w.put(session.RunStarted{Run: "r"})
		w.say("hello")
		var model []session.Seq // the order that keys asked for
		for i := range rapid.IntRange(1, 6).Draw(rt, "entries") {
			model = append(model, w.put(session.InputQueued{Kind: "queue"}, fmt.Sprint("message ", i)))
		}
		var flying []tea.Cmd
		q := &queueBox{
			text: func(session.Seq) (string, bool) { return "words", true },
			more: func() bool { return false },
			submit: func(cmd drive.Command) tea.Cmd {
				return func() tea.Msg {
					facts, err := drive.Admit(state(), drive.Env{Run: "r"}, cmd)
					for _, f := range facts {
						w.fact(f)
					}
					return queueDoneMsg{cmd: cmd, err: err}
				}
			},
		}
		f := frameOf(80, 24)
		f.State = state()
		run := func() { // a command is done, and its answer comes
			if len(flying) > 0 {
				cmd := flying[0]
				flying = flying[1:]
				if m, ok := cmd().(queueDoneMsg); ok {
					if next := q.done(m.err); next != nil {
						flying = append(flying, next)
					}
				}
			}
		}
		press := func(key string) {
			if _, cmd := q.Update(keyOf(key), f); cmd != nil {
				flying = append(flying, cmd)
			}
		}
		q.look(f)
		for range rapid.IntRange(1, 30).Draw(rt, "acts") {
			at := q.list.at
			switch rapid.IntRange(0, 6).Draw(rt, "act") {
			case 0:
				press("up")
			case 1:
				press("down")
			case 2, 3:
				key, to := "alt+up", at-1
				if rapid.Bool().Draw(rt, "down") {
					key, to = "alt+down", at+1
				}
				if press(key); to >= 0 && to < len(model) {
					model[at], model[to] = model[to], model[at]
				}
			case 4:
				if press("delete"); at < len(model) {
					model = slices.Delete(model, at, at+1)
				}
			case 5:
				run()
			case 6:
				f.State = state() // the screen hears of it
			}
			q.View(f)
			if !slices.Equal(q.ids, model) {
				rt.Fatalf("the list is %v, want %v", q.ids, model)
			}
			if len(q.ids) > 0 && q.list.at >= len(q.ids) {
				rt.Fatalf("the %d. of %d is chosen", q.list.at, len(q.ids))
			}
		}
		for len(flying) > 0 {
			run()
		}
		var got []session.Seq
		for _, x := range state().Branch.Queue {
			got = append(got, x.ID)
		}
		if !slices.Equal(got, model) {
			rt.Errorf("what waits is %v, the list said %v", got, model)
		}
	})
}

func TestGoldenQueue(t *testing.T) { // TUI-5
	many := func(s *stage) {
		s.works("hello")
		s.queues("queue", "then run the tests\nand tell me what fails")
		s.queues("steer", "挨拶を日本語にしてください 🐈, and a line that goes on and on until it does not fit into the box any more, whatever it is as wide as")
		for i := range 40 {
			s.queues("queue", fmt.Sprintf("message %d", i))
		}
	}
	moment(t, "queue", "What waits, a long list: the last one is chosen and in view, with what the mouse can do to it at its end; a message takes one line.", Options{}, many, func(s *stage) { s.press("<alt+q>") })
	moment(t, "queue_top", "The beginning of the list: a message of this turn says so, a wide one is cut.", Options{}, many, func(s *stage) { s.press("<alt+q><home><down>") })
	moment(t, "queue_edit", "A message that waits is being edited, with the cursor at its end; the foot says what keeps it.", Options{}, many, func(s *stage) { s.press("<alt+q><home><enter>") })
	moment(t, "queue_empty", "The last one was removed: the list says that nothing waits.", Options{}, func(s *stage) { s.works("hello"); s.queues("queue", "one") }, func(s *stage) { s.press("<alt+q><delete>") })
}
