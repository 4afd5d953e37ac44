package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"varve/internal/session"
)

// shownToasts are their marks and texts, oldest first.
func shownToasts(t toasts) string { return strings.Join(toastLines(t, 200, len(t)), "\n") }

func toastLines(t toasts, w, most int) (out []string) {
	for _, x := range t.rows(w, most, toastKeys{}, plainLook(plainTime())) {
		out = append(out, x.text)
	}
	return out
}

func TestToastsAreBounded(t *testing.T) { // TUI-7, case TUI-17
	var list toasts
	now := plainTime()
	for i := range 40 {
		level := []string{"info", "success", "warning", "error"}[i%4]
		list = list.post(level, fmt.Sprintf("%s %d", level, i), now)
		if len(list) > toastsShown {
			t.Fatalf("%d toasts on the screen", len(list))
		}
	}
	if got, want := shownToasts(list), "✗ error 31\n✗ error 35\n✗ error 39"; got != want {
		t.Errorf("shown\n%s\nwant\n%s", got, want)
	}
}

// What comes later pushes no error out, of whatever level it is.
func TestErrorsAreNotPushedOut(t *testing.T) { // TUI-7
	for _, level := range []string{"info", "success", "warning"} {
		var list toasts
		for i := range 3 {
			list = list.post("error", fmt.Sprint("error ", i), plainTime())
		}
		list = list.post(level, "later", plainTime())
		if got, want := shownToasts(list), "✗ error 0\n✗ error 1\n✗ error 2"; got != want {
			t.Errorf("%s: shown\n%s\nwant\n%s", level, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var list toasts
		errs := map[string]bool{}
		for i := range rapid.IntRange(1, 30).Draw(t, "n") {
			level := rapid.SampledFrom([]string{"info", "warning", "error"}).Draw(t, "level")
			text := fmt.Sprint(level, i)
			list = list.post(level, text, plainTime())
			if level == "error" {
				errs[text] = true
			}
			shown := 0
			for _, x := range list {
				if x.level == "error" {
					shown++
				}
			}
			if shown != min(len(errs), toastsShown) {
				t.Fatalf("%d errors on the screen, %d came", shown, len(errs))
			}
		}
	})
}

func TestSameToastIsCounted(t *testing.T) { // case TUI-17
	var list toasts
	for range 12 {
		list = list.post("warning", "  the same\n\tthing ", plainTime())
	}
	if got, want := shownToasts(list), "! the same thing (×12)"; got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
	list = list.post("error", "the same thing", plainTime())
	if len(list) != 2 {
		t.Error("the same words at another level are another toast")
	}
}

func TestToastIsClean(t *testing.T) { // case TUI-17, SEC-5
	list := toasts(nil).post("info", "a\x1b[31mb\x07c\n\n"+strings.Repeat("long ", 400)+"\u202e", plainTime())
	for _, w := range []int{10, 20, 40, 80} {
		out := toastLines(list, w, 4)
		if len(out) > 2 {
			t.Errorf("%d lines at width %d", len(out), w)
		}
		fits(t, out, max(w, 10), len(out))
	}
}

func TestToastsGoByThemselves(t *testing.T) { // TUI-7, TUI-13
	scene(t, func(s *stage) {
		s.send(saidMsg{"info", "a note"}, saidMsg{"error", "a fault"})
		s.sees("· a note", "✗ a fault")
		s.later(toastStays + time.Second)
		s.lacks("a note")
		s.sees("a fault")
		s.later(errorStays)
		s.lacks("a fault")
		if s.ticking {
			t.Error("the clock still runs")
		}
		s.press("/toasts<enter>")
		s.sees("a note", "a fault")
	})
	scene(t, func(s *stage) {
		s.send(saidMsg{"error", "one"}, saidMsg{"error", "two"})
		s.press("<esc>")
		s.sees("one")
		s.lacks("two")
	})
}

// Toasts of the log are shown, with their words; those that were there before
// the window opened are not news.
func TestToastsOfTheLog(t *testing.T) { // TUI-7
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.begun()
		s.a.put(session.ToastPosted{Level: "info", Code: "saved", Args: map[string]string{"what": "old.txt"}})
	}, func(s *stage) {
		s.lacks("old.txt")
		s.a.put(session.ToastPosted{Level: "success", Code: "saved", Args: map[string]string{"what": "new.txt"}})
		s.now()
		s.sees("✓ Saved new.txt.")
	})
}

// However much is queued, errors and the composer stay in view.
func TestToastsAreNotCoveredByTheQueue(t *testing.T) { // case TUI-17, TUI-5
	for _, size := range goldenSizes {
		onStage(t, size[0], size[1], noColours(), nil, func(s *stage) {
			s.works("hello")
			for i := range 40 {
				s.queues("queue", fmt.Sprintf("message %d", i))
			}
			s.now()
			s.send(failedMsg{errors.New("the disk is full")})
			s.press("draft")
			s.sees("✗ the disk is full", "> draft", "message 39", "more before these")
		})
	}
}
