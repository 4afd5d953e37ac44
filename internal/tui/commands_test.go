package tui

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"varve/internal/session"
	"varve/internal/setup"
)

// types writes a line and sends it: completion is closed first, so that Enter is that of the line.
func (s *stage) types(line string) {
	s.send(tea.PasteMsg{Content: line})
	if s.chat.comp.Offering() {
		s.press("<esc>")
	}
	s.press("<enter>")
}

// Each command and each alias does something that is seen or asked for, with words behind it and without, in a new session
// and in one that works.
func TestEveryCommandDoesSomething(t *testing.T) { // TUI, "Commands"
	cmds, _ := NewCommands()
	for _, c := range cmds.All() {
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			for _, args := range []string{"", "a word", "1"} {
				for _, running := range []bool{false, true} {
					t.Run(strings.Join([]string{name, args, map[bool]string{true: "running"}[running]}, " "), func(t *testing.T) {
						onStage(t, 80, 24, Options{Colors: colorprofile.NoTTY}, func(s *stage) {
							s.a.other = s.a
							s.works("hello")
							if !running {
								s.a.answer(s.a.last(), "assistant", "Hello.")
								s.a.put(session.TurnEnded{Turn: 5, Status: "completed"})
							}
						}, func(s *stage) {
							before, did, told := s.screen(), len(s.a.did), len(s.other)
							s.types(strings.TrimSpace("/" + name + " " + args))
							asked := s.a.did[did:]
							for len(asked) > 0 && (strings.HasPrefix(asked[0], "remember") || strings.HasPrefix(asked[0], "draft")) {
								asked = asked[1:]
							}
							if s.screen() == before && len(asked) == 0 && len(s.other) == told && !s.quit {
								t.Errorf("/%s %s does nothing that is seen:\n%s", name, args, before)
							}
							if c.Later && !strings.Contains(s.screen(), "is not there yet") {
								t.Errorf("/%s is not there yet, and that is not said:\n%s", name, s.screen())
							}
							s.press("<esc>")
						})
					})
				}
			}
		}
	}
}

// What a command could not do is said in a line, and nothing is opened.
func TestCommandsThatFail(t *testing.T) {
	for _, line := range []string{"/usage", "/diff", "/doctor", "/permissions", "/export x.md"} {
		onStage(t, 80, 24, noColours(), func(s *stage) {
			s.begun()
			s.a.reports.noReport = errors.New("the file can't be read\x1b[2J")
		}, func(s *stage) {
			s.types(line)
			if s.sees("✗ the file can't be read"); len(s.overlays) != 0 {
				t.Errorf("%s opened something", line)
			}
		})
	}
}

func TestExportAsksBeforeItReplaces(t *testing.T) { // BRN-9
	onStage(t, 80, 24, noColours(), func(s *stage) { s.begun(); s.a.reports.there = "talk.md" }, func(s *stage) {
		s.types("/export talk.md")
		s.sees("~/work/greet/talk.md is there already. Replace it?")
		s.press("<enter>")
		if s.lacks("Replace it?"); s.asksOf("export") != 1 {
			t.Error("the first choice is to leave it")
		}
		s.types("/export talk.md")
		s.press("y")
		if s.sees("✓ Branch main is in talk.md (md, 1.0 KB)."); s.asksOf(`export "talk.md" true`) != 1 {
			t.Errorf("asked for %q", s.a.did)
		}
		s.types("/export")
		if s.asksOf(`export "" false`) != 1 {
			t.Errorf("asked for %q", s.a.did)
		}
	})
}

// A command of the user's own is sent as a message, and is what its file says when it is sent. It takes no name of the
// table's, and what its file's head says can't drive the terminal.
func TestCustomCommandIsSent(t *testing.T) { // SEC-4, SEC-5
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.begun()
		s.a.reports.customs = []Command{
			{Name: "review", Says: "look\x1b]0;x\a at\nthe change", Args: "[what]"},
			{Name: "undo", Says: "mine"},
			{Name: "No Name"},
			{Name: "gone"},
			{Name: "deploy", Project: true, Says: "ship it"},
		}
		s.a.reports.notes = []string{"long.md is left out: longer than 65536 characters"}
	}, func(s *stage) {
		s.sees("Your command /undo is left out: that name is taken.", "Your command /No Name is left out: a name has a to z", "long.md is left out")
		s.press("/revie")
		s.sees("▸ /review [what]", "look at the change (yours)")
		s.press("<tab>the tests<enter>")
		s.wantCommands(`say "do review: the tests" steer=false`)
		s.types("/gone")
		s.sees("/gone is not there any more")
		s.wantDraft("/gone")
		s.press("<ctrl+u><ctrl+p>yours")
		s.press("<ctrl+u>deploy")
		s.sees("Your commands", "▸ /deploy", "ship it (of this project)")
		s.press("<enter>")
		s.wantCommands(`say "do deploy: " steer=false`)
	})
}

func TestInitIsAMessage(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) { s.begun() }, func(s *stage) {
		s.types("/init the tests")
		s.wantCommands(`say "do init: the tests" steer=false`)
	})
	onStage(t, 80, 24, noColours(), func(s *stage) { s.a.ident.Setup = true; s.a.offers = []Offer{{ID: "demo", Title: "The demo"}} }, func(s *stage) {
		s.press("<esc>")
		s.types("/init")
		s.wantCommands("") // a session begins with its model
		s.sees("The demo")
	})
}

// What may stand behind a command is offered. Enter takes what was written of or gone to, and else runs the line as it is.
func TestCompletionOfArguments(t *testing.T) { // TUI-4
	set := func(s *stage) {
		s.begun()
		s.a.other = s.a
		s.a.models = []ModelInfo{
			{Model: session.Model{Provider: "acme", API: "openai-chat", Model: "large"}, Window: 200_000, State: "ready"},
			{Model: session.Model{Provider: "acme", API: "openai-chat", Model: "small"}, Window: 8_000, State: "ready"},
			{Model: session.Model{Provider: "far"}, State: "no key"},
		}
		s.a.sessions = []SessionInfo{{ID: "01ab", Title: "Mend the 解析器", Age: "2 h ago"}, {ID: "02cd", Title: "Here\x1b[2J too", Age: "3 h ago", Here: true}}
		s.a.branches.limbs = []Limb{{Name: "main", Here: true, Reverts: []Revert{{Label: "v1", Preview: "first try", Age: "1 h ago"}, {Label: "v2", Preview: "second", Age: "now"}}}}
		q := s.a.say("code please")
		s.a.put(session.RequestSent{Purpose: "agent", Turn: q, Attempt: 1, Model: s.a.ident.Model})
		s.a.answer(s.a.last(), "assistant", "```sh\nls -l\n```\n\n```go\npackage x\nfunc f() {}\n```\n")
		s.a.put(session.TurnEnded{Turn: q, Status: "completed"})
	}
	for _, c := range []struct {
		keys string
		sees []string
		do   string
		did  string // of the agent
		say  string // on the screen, afterwards
	}{
		{"/model ", []string{"  acme/large", "acme/large                  200k", "far", "no key"}, "<enter>", "models", "Models"},
		{"/model sm", []string{"▸ acme/small"}, "<enter>", "submit drive.Choose", ""},
		{"/model ", nil, "<down><down><tab><enter>", "submit drive.Choose", ""},
		{"/model far", []string{"▸ far"}, "<enter>", "", "/model far"},
		{"/theme ", []string{"  auto", "dark or light, as the terminal says", "none"}, "<up><enter>", "theme auto", "The theme is auto"},
		{"/theme li", []string{"▸ light"}, "<enter>", "theme light", "The theme is light"},
		{"/resume ", []string{"  Here too", "Mend the 解析器"}, "解析<enter>", "switch 01ab", ""},
		{"/sessions mend", []string{"▸ Mend the 解析器", "2 h ago"}, "<enter>", "switch 01ab", ""},
		{"/rollback ", []string{"  v2", "second, now", "  v1", "first try, 1 h ago"}, "<down><down><enter>", "drive.RollBack {Branch:main Label:v1}", ""},
		{"/copy ", []string{"  1", "ls -l, one line", "  2", "package x, 2 lines"}, "2<enter>", "", "Copied"},
		{"/compact ", nil, "on tests<enter>", "submit drive.Compact", ""},
		{"/export ", nil, "x.md<enter>", `export "x.md" false`, ""},
	} {
		onStage(t, 80, 24, noColours(), set, func(s *stage) {
			s.press(c.keys)
			s.sees(c.sees...)
			s.press(c.do)
			if c.did != "" && s.asksOf(c.did) == 0 {
				t.Errorf("%s%s asked for %q", c.keys, c.do, s.a.did)
			}
			s.sees(c.say)
		})
	}
	onStage(t, 80, 24, noColours(), func(s *stage) { set(s); s.a.sessions = nil }, func(s *stage) {
		s.press("/resume x")
		s.press("<enter>")
		if s.asksOf("switch x") != 1 {
			t.Errorf("without an offer the line runs as it is: %q", s.a.did)
		}
	})
}

// Who gave keys of their own sees them in help and palette, and there which of them do not what was asked.
func TestHelpKnowsYourKeys(t *testing.T) { // TUI-12
	looks := setup.Appearance{Keys: map[string][]string{"models": {"f2"}, "plan": {"no such key"}, "nonsense": {"f3"}}}
	onStage(t, 100, 40, Options{Looks: looks, Colors: colorprofile.NoTTY}, func(s *stage) { s.begun() }, func(s *stage) {
		s.press("?")
		s.sees("Of your keys these do not what you asked", "appearance.keys: nonsense: there is no such action", `appearance.keys: plan: "no such key" is not the name of a key`)
		s.sees("F2 ", "choose a model (your key)")
		s.press("<esc><ctrl+p>")
		s.send(tea.PasteMsg{Content: "choose a model"})
		s.sees("choose a model", "F2")
	})
}
