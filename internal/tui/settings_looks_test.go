package tui

import (
	"errors"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"varve/internal/setup"
)

const seaThemes = `{"appearance":{"theme":"light","themes":{"sea":{"base":"none","accent":"#5fafff","nosuch":"red"}}}}`

// toTheme opens the themes in settings.
func (s *stage) toTheme() {
	s.press("/settings<enter><end><enter><down>")
	s.wantChosen("Theme")
	s.press("<enter>")
}

func (s *stage) wantTheme(name string) {
	s.t.Helper()
	if got := s.frame.Theme.Name; got != name {
		s.t.Errorf("the theme is %q, want %q", got, name)
	}
}

func seaStage(t *testing.T, play func(*stage)) {
	t.Helper()
	looks := setup.Appearance{Theme: "light", Mouse: true, Themes: map[string]map[string]string{"sea": {"base": "none", "accent": "#5fafff"}}}
	onStage(t, 100, 40, Options{Looks: looks, Colors: colorprofile.TrueColor}, func(s *stage) { s.ready(seaThemes) }, play)
}

// Settings offer the themes that /theme does, the user's own too, show the one
// that is gone to, and take it back with Esc. // SET-1, TUI-9
func TestSettingsOfferAllThemes(t *testing.T) {
	seaStage(t, func(s *stage) {
		s.toTheme()
		s.sees("▸ light", "sea", "yours, on none", "what you go to is shown at once")
		s.press("<end>")
		s.wantTheme("sea")
		s.press("<esc>")
		s.wantTheme("light")
		s.press("<enter><end><enter>")
		s.wantTheme("sea")
		s.sees("Saved: the theme is sea.")
		if got := s.a.info().Set.Appearance.Theme; got != "sea" {
			t.Errorf("setup.json says %q", got)
		}
		s.sees("themes.sea.nosuch: there is no such role")
	})
}

// A theme that can't be saved is not shown any more. // SET-1
func TestThemeThatIsNotSavedGoes(t *testing.T) {
	seaStage(t, func(s *stage) {
		s.a.kept.noSave = errors.New("disk full")
		s.toTheme()
		s.press("<end><enter>")
		s.sees("disk full")
		s.wantTheme("light")
	})
}

// The theme is the one that the list was left with, though previews come in
// another order than they were asked for.
func TestThemePreviewsInAnyOrder(t *testing.T) { // TUI-9
	for range 20 { // the order is that of goroutines
		seaStage(t, func(s *stage) {
			s.types("/theme")
			s.burst("down", "down", "up", "up", "down", "esc")
			s.wantTheme("light")
			s.types("/theme")
			s.burst("home", "down", "down", "down", "enter")
			s.wantTheme("none")
		})
	}
}

// Another change leaves what the user switched for now. // SET-1, TUI-9
func TestOtherSettingsLeaveTheLooks(t *testing.T) {
	seaStage(t, func(s *stage) {
		s.looks.Mouse = false // as the transcript's view switches it
		s.a.reports.noTheme = errors.New("disk full")
		s.types("/theme dark") // until the end
		s.wantTheme("dark")
		s.press("/settings<enter>")
		s.send(tea.KeyPressMsg{Code: tea.KeyHome})
		s.press("<enter><down><down>")
		s.wantChosen("Reasoning")
		s.press("<enter>high<enter>")
		s.sees("Saved: Reasoning: high.")
		s.wantTheme("dark")
		if s.looks.Mouse {
			t.Error("the mouse is on again")
		}
	})
}

// What is allowed can be changed from where it is shown. // SET-1, PERM-1
func TestPermissionsLeadToSettings(t *testing.T) {
	seaStage(t, func(s *stage) {
		s.types("/permissions")
		s.sees("Mode: ask", "Enter change them · Esc close")
		s.press("<enter>")
		s.wantChosen("Permissions")
		s.sees("Mode of new sessions", "+ Allow without asking")
		s.press("<esc>")
		s.types("/usage")
		s.press("<enter>") // leads nowhere
		s.lacks("Settings")
		s.sees("Esc close")
	})
}

// Why nothing can be shown stays on the screen. // SET-1
func TestSettingsThatCantBeRead(t *testing.T) {
	s := &settings{err: errors.New("disk on fire")}
	s.build("")
	_, _ = s.Update(keyOf("down"), frameOf(80, 24))
	if got := s.head(frameOf(80, 24), 70); len(got) != 1 || got[0] != NoTheme().Error.Of("disk on fire") {
		t.Errorf("above the list stands %q", got)
	}
}

// The choice of an entry that was removed elsewhere meanwhile replaces no other. // SET-2, SET-4, case CFG-07
func TestReplacedEntryIsTheOneThatWasSeen(t *testing.T) {
	onStage(t, 100, 40, noColours(), func(s *stage) { s.ready(three) }, func(s *stage) {
		s.press("/summarizers<enter>")
		s.a.kept.slow = make(chan struct{})
		s.press("<alt+down>")  // a waits to be saved behind b
		s.press("<up><enter>") // in place of b
		s.sees("In place of acme/b")
		s.has(`{` + acmeProvider + `,"routing":{"summarization_models":[{"provider":"acme","model":"c"},{"provider":"acme","model":"a"}]}}`)
		close(s.a.kept.slow)
		s.settle()
		s.press("large<enter>")
		s.wantListed("c a")
		s.sees("acme/b is not in the list any more: nothing is replaced.")
	})
}
