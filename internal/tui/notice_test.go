package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"varve/internal/session"
)

func failedCompaction(detail string) session.ToastPosted {
	return session.ToastPosted{Level: "warning", Code: "compaction.failed", Args: map[string]string{"kind": "exhausted", "detail": detail}, Actions: []string{"retry", "models", "go_on"}}
}

// What was said of a compaction goes with what came of the next one; a mere note
// that one is made leaves it.
func TestSuccessTakesTheFailureOff(t *testing.T) { // TUI-7, case TUI-17
	scene(t, func(s *stage) {
		s.begun()
		s.now()
		s.a.put(failedCompaction("length"))
		s.now()
		s.sees("! Not summarized", "Alt+1 try again")
		s.a.put(session.ToastPosted{Level: "info", Code: "compaction.asks", Args: map[string]string{"model": "acme/small", "i": "1", "n": "1"}})
		s.now()
		s.sees("! Not summarized", "· Summarizing with acme/small")
		s.send(saidMsg{"error", "of something else"})
		s.a.put(session.ToastPosted{Level: "success", Code: "compaction.done", Args: map[string]string{"before": "12000", "after": "900"}})
		s.now()
		s.sees("✓ Summarized", "✗ of something else")
		s.lacks("Not summarized", "try again", "Summarizing with")
	})
}

// While a turn runs Esc stops it; another key, and a click, hide a notice and
// touch nothing else.
func TestNoticeIsHiddenByItsOwnKey(t *testing.T) { // TUI-7, TUI-5
	scene(t, func(s *stage) {
		s.works("hello")
		s.now()
		s.press("a draft")
		s.send(saidMsg{"error", "first"}, saidMsg{"error", "second"}, saidMsg{"warning", "third"})
		s.sees("✗ first", "! third", "Alt+X hides it")
		s.press("<alt+x>")
		s.lacks("third")
		s.sees("✗ second")
		rows := strings.Split(s.screen(), "\n")
		for y, row := range rows {
			if strings.HasPrefix(row, "✗ first") {
				s.send(tea.MouseClickMsg{X: 4, Y: y, Button: tea.MouseLeft})
			}
		}
		s.lacks("✗ first")
		s.sees("✗ second")
		s.press("<alt+x><alt+x>")
		s.lacks("✗")
		s.sees("There is no notice on the screen; /toasts lists the earlier ones.")
		s.wantCommands("")
		s.wantDraft("a draft")
	})
}

// Nothing of the conversation moves when notices come and go: they lie over its
// free rows, or where there are none over its first.
func TestNothingMovesForANotice(t *testing.T) { // TUI-6, TUI-7
	for _, lines := range []int{2, 60} {
		onStage(t, 80, 24, noColours(), func(s *stage) {
			s.begun()
			for i := range lines {
				s.a.put(session.ShellRan{}, fmt.Sprintf("$ echo %d", i))
			}
		}, func(s *stage) {
			before := strings.Split(s.screen(), "\n")
			s.send(saidMsg{"error", strings.Repeat("long ", 60)}, saidMsg{"error", "two"}, saidMsg{"success", "three"})
			s.sees("✗ long", "✗ two", "✓ three")
			after, over := strings.Split(s.screen(), "\n"), 0
			for y := range before {
				if before[y] == after[y] {
					continue
				}
				over++
				if lines < 20 && before[y] != "" || !strings.ContainsAny(string([]rune(after[y])[:1]), "✗✓ ") {
					t.Errorf("row %d was %q and is %q", y, before[y], after[y])
				}
			}
			if over > 4 {
				t.Errorf("%d rows for three notices", over)
			}
			s.later(errorStays + time.Second)
			if got := s.screen(); got != strings.Join(before, "\n") {
				t.Errorf("the screen is not what it was:\n%s", got)
			}
		})
	}
}

// /toasts lists those of the whole session, runs before this one among them, and
// what only this window said; it reads on when one goes down.
func TestNoticesOfTheWholeSession(t *testing.T) { // TUI-7
	o := noColours()
	o.Now = func() time.Time { return time.Now().AddDate(30, 0, 0) } // behind the log
	onStage(t, 80, 24, o, func(s *stage) {
		s.begun()
		for i := range 120 {
			s.a.put(session.ToastPosted{Level: "info", Code: "saved", Args: map[string]string{"what": fmt.Sprintf("old-%d.txt", i)}})
		}
		s.a.put(session.ToastPosted{Level: "info", Code: "shell.started"}) // has no words
	}, func(s *stage) {
		s.send(saidMsg{"success", "only here"})
		s.a.put(session.ToastPosted{Level: "success", Code: "saved", Args: map[string]string{"what": "new.txt"}})
		s.now()
		s.later(errorStays)
		s.press("/toasts<enter>")
		s.sees("Notices", "only here", "Saved new.txt.", "Saved old-119.txt.")
		if n := strings.Count(s.screen(), "· Saved new.txt"); n > 1 {
			t.Error("what the log has is listed once")
		}
		s.lacks("shell.started")
		if n := s.asksOf("notices"); n != 1 {
			t.Errorf("%d pages were read for one screen", n)
		}
		s.press("<end>")
		s.sees("50 of 100+ ·") // the next page is there
		for range 12 {
			s.press("<end>")
		}
		s.sees("Saved old-0.txt.", "122 of 122 ·")
		s.press("<esc>")
		s.lacks("Notices")
	})
}

func TestNoticesCanBeActedOn(t *testing.T) { // TUI-7, SUM-4
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.begun()
		s.a.put(failedCompaction("length"))
	}, func(s *stage) {
		s.press("/toasts<enter>")
		s.sees("Enter what can be done")
		s.press("<enter>")
		s.sees("summarize again", "show who is asked")
		s.press("<enter>")
		s.wantCommands("drive.Compact{Focus:[]}")
		s.press("/toasts<enter><enter><down><enter>")
		s.sees("Summarization models")
	})
	onStage(t, 80, 24, noColours(), func(s *stage) { // a budget of what was accepted is spent // MR-11
		s.begun()
		spent := failedCompaction("")
		spent.Actions = []string{"focus", "models", "go_on"}
		s.a.put(spent)
	}, func(s *stage) {
		s.press("/toasts<enter><enter>")
		s.sees("begin anew, with what to keep in particular")
		s.lacks("summarize again")
		s.press("<enter>")
		s.sees("What is to be kept in particular?")
		s.press("the rules<enter>")
		s.wantCommands("drive.Compact{Focus:[116 104 101 32 114 117 108 101 115]}")
		spent := failedCompaction("")
		spent.Actions = []string{"anew", "models", "go_on"}
		s.a.put(spent)
		s.now()
		s.press("/toasts<enter><enter>")
		s.sees("begin anew, without what was accepted")
		s.press("<enter>")
		s.wantCommands("drive.Compact{Focus:[]}")
	})
	scene(t, func(s *stage) { // nothing yet
		s.press("/toasts<enter>")
		s.sees("There were none.")
		s.press("<enter><down><end><pgup><esc>")
	})
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.begun()
		s.a.noNotices = errors.New("line 3 can't be read")
	}, func(s *stage) {
		s.press("/toasts<enter>")
		s.sees("Earlier notices can't be read: line 3 can't be read")
	})
}

func TestGoldenNoticeList(t *testing.T) { // TUI-7, TUI-9
	at := func() time.Time { return plainTime() }
	o := noColours()
	o.Now = at
	moment(t, "notices", "All notices of a session, newest first: when (a day for an earlier one), the level's mark, the words; below, the chosen one in full; the foot says that something can be done.", o, func(s *stage) {
		s.begun()
		s.a.put(session.ToastPosted{Level: "success", Code: "saved", Args: map[string]string{"what": "日本語の挨拶 🎉.md"}})
		s.a.put(session.ToastPosted{Level: "error", Code: "log_failed", Args: map[string]string{"why": strings.Repeat("a long reason ", 20)}})
		s.a.put(failedCompaction("acme/small: length"))
	}, func(s *stage) { s.press("/toasts<enter>") })
}

// A summary that is being made is asked about like a turn, by Ctrl+D, Ctrl+C
// twice and /new; when it is done nothing asks any more.
func TestQuitAsksWhileSummarizing(t *testing.T) { // TUI-5, CMP-9
	for _, keys := range []string{"<ctrl+d>", "<ctrl+c><ctrl+c>", "/exit<enter>", "/new<enter>"} {
		scene(t, func(s *stage) {
			c := s.summing("user", small)
			s.now()
			s.press(keys)
			s.sees("The conversation is being summarized.")
			if s.quit {
				t.Errorf("%s: it was not asked", keys)
			}
			s.a.put(session.CompactionFailed{Compaction: c, Kind: "exhausted", Detail: &session.Text{B: 0}}, "length")
			s.now()
			s.lacks("is being summarized.")
			if keys == "/new<enter>" {
				return
			}
			s.press(keys)
			if !s.quit {
				t.Errorf("%s: nothing is made any more", keys)
			}
		})
	}
}

func TestCopyOfNoCode(t *testing.T) {
	scene(t, func(s *stage) {
		s.works("hello")
		s.a.reply("assistant", "No code here.")
		s.now()
		s.press("/copy 3<enter>")
		s.sees("There is no code block to copy", "/copy alone")
	})
}
