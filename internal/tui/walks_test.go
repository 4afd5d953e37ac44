package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// What walks of the program found (docs/walks.md).

// A prompt of the command line waits for a model to answer it.
func TestPromptWaitsForAModel(t *testing.T) { // CLI-3
	onStage(t, 80, 24, Options{Prompt: "fix the tests", Colors: colorprofile.NoTTY}, func(s *stage) {
		s.a.ident.Setup, s.a.ident.Model = true, session.Model{}
		s.a.offers = []Offer{{ID: "demo", Title: "See it work"}, {Title: "Another address"}}
	}, func(s *stage) {
		s.now()
		s.sees("See it work")
		s.wantCommands("")
		s.press("<esc>")
		s.wantDraft("fix the tests")
		s.sees("No model is chosen yet")
		s.press("<enter>")
		s.sees("See it work")
		s.wantCommands("")
		s.press("another<enter>") // says how, and takes nothing
		s.sees("agent config set providers.NAME.base_url")
		if slices.ContainsFunc(s.a.did, func(x string) bool { return strings.HasPrefix(x, "take") }) {
			t.Errorf("an offer was taken: %q", s.a.did)
		}
		s.press("<ctrl+c><enter>")
		s.sees("See it work")
	})
}

func TestShellIsSeenAndEnds(t *testing.T) { // TUI-4, TUI-5
	scene(t, func(s *stage) {
		s.press("!hang<enter>")
		s.a.mu.Lock()
		s.a.pulses = []drive.Pulse{{Job: "shell:hang", Kind: "shell", Name: "hang", Began: time.Now(), Text: []byte("one\ntwo\n")}}
		s.a.mu.Unlock()
		s.now()
		s.later(3 * time.Second)
		s.sees("! hang · 3 s", "two")
		s.works("hello") // Esc ends the command first, then the turn
		s.now()
		s.press("<esc>")
		s.wantCommands("")
		if !slices.Contains(s.a.did, "shell hang ended") {
			t.Error("Esc did not end the command")
		}
		s.later(2 * time.Second)
		s.press("<esc>")
		s.wantCommands("drive.Cancel{By:user}")
	})
}

// Another session is not the one that another window works on.
func TestNewSessionIsNotBusy(t *testing.T) { // SES-08
	scene(t, func(s *stage) {
		s.works("hello")
		s.a.busy = true
		s.now()
		s.sees("Another window works on this session")
		s.a.other = newFakeAgent(t)
		s.press("/new<enter>")
		s.handle(switchedMsg{id: s.a.other.ident})
		if s.busy || s.ours {
			t.Errorf("busy %v, ours %v: nothing is known yet of the new session", s.busy, s.ours)
		}
	})
}

func TestLongMessageFolds(t *testing.T) { // TUI-2
	scene(t, func(s *stage) {
		s.works("first\n" + strings.Repeat("middle\n", 40) + "last")
		s.now()
		s.sees("first", "27 more lines (Ctrl+O)")
		s.lacks("last")
		s.press("<ctrl+o>")
		s.sees("last")
	})
}

// What can't be seen can't be allowed, and what leads to it can be read.
func TestQuestionThatIsNotSeen(t *testing.T) { // PERM-2, TUI-9
	scene(t, func(s *stage) {
		s.works("run it")
		q := s.question("bash", `{"command":"x"}`, "rm -rf /")
		s.asked()
		s.send(tea.WindowSizeMsg{Width: 20, Height: 5})
		s.later(2 * time.Second)
		s.press("y")
		s.wantCommands("")
		s.send(tea.WindowSizeMsg{Width: 80, Height: 24})
		s.press("<backspace>")
		s.later(2 * time.Second)
		s.press("a")
		s.sees("a again allows")
		s.press("<esc>") // takes the first press back, and stops nothing
		s.wantCommands("")
		s.press("<ctrl+p>")
		s.sees("╭─")
		s.press("<esc>")
		s.later(2 * time.Second)
		s.press("<enter>")
		s.wantCommands(fmt.Sprintf(`answer %d once rule="" words=""`, q))
	})
}

// A mode that another run switched on is not the one that holds here.
func TestModeOfHere(t *testing.T) { // PERM-1
	scene(t, func(s *stage) {
		s.works("hello")
		s.a.fact(session.Fact{Event: session.PermissionChanged{Mode: "full", Op: "mode", Scope: "run"}})
		s.now()
		s.sees("full")
		s.a.notOurs = true
		s.now()
		s.lacks("full")
		s.sees("ask")
	})
}

func TestCopyByNumber(t *testing.T) { // TUI, commands
	scene(t, func(s *stage) {
		s.works("hello")
		s.a.reply("assistant", "One:\n```sh\nls\n```\nTwo:\n```sh\npwd\n```\n")
		s.now()
		for _, c := range []struct{ args, says string }{{"0", "takes the number"}, {"x", "takes the number"}, {"3", "has 2 code blocks"}, {"1", "Copied one line"}} {
			s.press("/copy " + c.args + "<enter>")
			s.sees(c.says)
		}
		s.press("/copy code<enter>") // of which?
		s.sees("/copy takes the number")
		s.a.reply("assistant", "One:\n```sh\nls -l\ncd\n```\n")
		s.now()
		s.press("/copy code<enter>")
		s.sees("Copied 2 lines")
	})
}
