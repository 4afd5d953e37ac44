package tui

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"varve/internal/setup"
	"varve/internal/tui/plain"
)

func aUsage() UsageInfo {
	large := UsageRow{Model: "acme/large", Requests: 12, Failed: 2, Untold: 1, Input: 48_200, Cached: 310_000, CacheWrite: 20_000, Output: 9_100, Reasoning: 4_000, Cost: 0.4217}
	local := UsageRow{Model: "local/解析-モデル-🦉-with-a-long-name", Requests: 3, Input: 900, Output: 120, Unpriced: true}
	small := UsageRow{Model: "acme/small", Summaries: true, Requests: 1, Input: 150_000, Output: 2_000, Cost: 0.0301}
	return UsageInfo{Scopes: []UsageScope{
		{Name: "Since your last message"}, {Name: "Branch main", Rows: []UsageRow{large}}, {Name: "This session", Rows: []UsageRow{large, local, small}},
	}}
}

func TestGoldenUsage(t *testing.T) { // PRV-10
	moment(t, "usage", "What was used, by model and for summaries: a price that is not known is not zero, failed requests are counted, and sums say that they are not all.",
		Options{}, func(s *stage) { s.begun(); s.a.reports.usage = aUsage() }, func(s *stage) { s.types("/usage") })
	for w := 1; w < 200; w++ {
		for _, l := range aUsage().Lines(w) {
			if plain.Width(l) > max(w, narrow) {
				t.Fatalf("%d columns at width %d: %q", plain.Width(l), w, l)
			}
		}
	}
}

func someDiffs() []FileDiff {
	long := strings.Repeat("line\n", 40)
	return []FileDiff{
		{Path: "/home/ada/work/greet/greet.go", Op: "modify", Before: "package greet\n\nfunc Hello() {\n}\n", After: "package greet\n\nfunc Hello() string {\n\treturn \"こんにちは 🦉\"\n}\n"},
		{Path: "/home/ada/work/greet/logo.png", Op: "modify", Why: "it is not text"},
		{Path: "/home/ada/work/greet/notes/解析.md", Op: "create", After: "# Notes\x1b[2J\n", Since: true},
		{Path: "/home/ada/elsewhere.txt", Op: "delete", Before: "bye\n"},
		{Path: "/home/ada/work/greet/long.txt", Op: "modify", Before: long, After: strings.ReplaceAll(long, "line", "row")},
	}
}

func TestGoldenChanges(t *testing.T) { // BRN-8, SEC-5
	moment(t, "changes", "What this session has changed in files: names with their sums, one that somebody changed since, one that is no text; and what can't be known. The rest is scrolled to.",
		Options{}, func(s *stage) { s.begun(); s.a.reports.diffs, s.a.reports.commands = someDiffs(), 2 }, func(s *stage) { s.types("/diff") })
	onStage(t, 60, 16, Options{Colors: colorprofile.ANSI}, func(s *stage) { s.begun(); s.a.reports.diffs = someDiffs() }, func(s *stage) {
		s.types("/diff")
		s.sees("5 files, +43 −42")
		if !strings.Contains(s.paint, string(s.frame.Theme.Added)) {
			t.Errorf("what was added has no colour:\n%q", s.paint)
		}
		s.press("<end>")
		s.sees("+ row")
		for range 30 {
			s.send(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
		}
		s.sees("greet.go  +2 −1")
		s.send(tea.WindowSizeMsg{Width: 40, Height: 12}) // drawn again for the width
		s.sees("greet.go  +2 −1")
		s.press("<esc>")
		s.lacks("5 files")
	})
	onStage(t, 60, 16, noColours(), func(s *stage) { s.begun() }, func(s *stage) {
		s.types("/diff")
		s.sees("No change of a file is recorded in this session.")
	})
}

// readable shows what a terminal would be told.
func readable(s string) string { return strings.ReplaceAll(s, "\x1b", "␛") }

// Each theme shows every style once. The page has its codes, so that a colour that changes is seen.
func TestGoldenThemes(t *testing.T) { // TUI-9
	own := map[string]map[string]string{"sea": {"base": "dark", "accent": "#5fafff", "error": "bold red", "selection": "black on cyan", "keyword": "italic 214", "dim": ""}}
	themes, problems := NewThemes(own)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var b strings.Builder
	for _, c := range []struct {
		name    string
		profile colorprofile.Profile
	}{{"dark", colorprofile.ANSI}, {"light", colorprofile.ANSI}, {"none", colorprofile.ANSI}, {"sea", colorprofile.TrueColor}, {"sea", colorprofile.ANSI256}, {"sea", colorprofile.ANSI}, {"sea", colorprofile.ASCII}} {
		th, ok := themes.Pick(c.name, c.profile, true)
		if !ok {
			t.Fatal(c.name)
		}
		fmt.Fprintf(&b, "\n==== %s, %v\n", c.name, c.profile)
		roles := th.roles()
		for _, role := range slices.Sorted(maps.Keys(roles)) {
			shown := ""
			if p := roles[role][0]; p.style != nil {
				shown = p.style.Of(role)
			} else {
				shown = Style(*p.text).Of(role)
			}
			fmt.Fprintf(&b, "%s%s%s\n", role, strings.Repeat(" ", 12-len(role)), readable(shown))
		}
	}
	golden(t, "themes", "Every role of every theme with its codes: two with the sixteen colours, one with none, and one of the user's own at each depth of colour.", b.String())
}

// Every style of a theme is a role that its user can change, and of all roles no two stand in one place.
func TestRolesAreAllOfTheTheme(t *testing.T) { // TUI-9
	var th Theme
	seen := map[any]bool{}
	for role, places := range th.roles() {
		for _, p := range places {
			at := any(p.style)
			if p.style == nil {
				at = p.text
			}
			if seen[at] {
				t.Errorf("%s stands where another role does", role)
			}
			seen[at] = true
		}
	}
	n := 0
	for _, v := range []reflect.Value{reflect.ValueOf(th), reflect.ValueOf(th.md)} {
		for i := range v.NumField() {
			if v.Field(i).Kind() == reflect.String && v.Type().Field(i).Name != "Name" {
				n++
			}
		}
	}
	if n != len(seen) {
		t.Errorf("%d styles, %d of them in a role", n, len(seen))
	}
}

// What can't be done is said with its place, and the rest of the theme holds.
func TestUserThemes(t *testing.T) { // TUI-9, CFG-2
	looks := setup.Appearance{Theme: "see", Themes: map[string]map[string]string{
		"dark": {"accent": "red"},
		"A b":  {},
		"sea": {
			"acent": "red", "accent": "green", "error": "very red", "warn": "bold on", "ok": "#12345", "title": "300", "base": "black", "key": "on bold",
			"code": "bright-blue on 17", "user": "\x1b[2J",
		},
	}}
	want := []string{
		`appearance.themes.A b: a name has a to z, 0 to 9, - and _ only`,
		`appearance.themes.dark: is the name of a built-in theme; give it another`,
		`appearance.themes.sea.acent: there is no such role; did you mean accent?`,
		`appearance.themes.sea.base: "black" is not one of auto, dark, light, none`,
		`appearance.themes.sea.error: "very" is no colour and no attribute`,
		`appearance.themes.sea.key: "bold" is no colour and no attribute`,
		`appearance.themes.sea.ok: "#12345" is no colour and no attribute`,
		`appearance.themes.sea.title: "300" is no colour and no attribute`,
		`appearance.themes.sea.user: "\x1b[2J" is no colour and no attribute`,
		`appearance.themes.sea.warn: nothing stands behind "on"`,
		`appearance.theme see is not one of auto, dark, light, none, sea: auto is used`,
	}
	got := LookProblems(looks)
	for i, err := range got {
		if i >= len(want) || !strings.HasPrefix(err.Error(), want[i]) {
			t.Errorf("said %q", err)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d problems, want %d", len(got), len(want))
	}
	themes, _ := NewThemes(looks.Themes)
	th, ok := themes.Pick("sea", colorprofile.TrueColor, false)
	light := LightTheme()
	if !ok || th.Accent != "\x1b[32m" || th.md.Accent != "\x1b[32m" || th.Code != "\x1b[94;48;5;17m" || th.Error != light.Error {
		t.Errorf("%+v", th)
	}
}

// Going through the list shows each theme at once; leaving it brings the old one back; choosing one keeps it.
func TestThemePicker(t *testing.T) { // TUI-9
	looks := setup.Appearance{Theme: "light", Themes: map[string]map[string]string{"sea": {"base": "none", "accent": "#5fafff"}}}
	onStage(t, 80, 24, Options{Looks: looks, Colors: colorprofile.TrueColor}, func(s *stage) { s.begun() }, func(s *stage) {
		is := func(name string) {
			t.Helper()
			if got := s.frame.Theme.Name; got != name {
				t.Errorf("the theme is %q, want %q", got, name)
			}
		}
		s.types("/theme")
		s.sees("▸ light", "sea", "yours, on none")
		s.press("<down><down>")
		is("sea")
		if !strings.Contains(s.paint, "38;2;95;175;255") {
			t.Errorf("it is not shown: %q", s.paint)
		}
		s.press("<esc>")
		is("light")
		s.types("/theme")
		s.press("dark<enter>")
		is("dark")
		if s.sees("✓ The theme is dark from now on."); s.asksOf("theme dark") != 1 {
			t.Errorf("asked for %q", s.a.did)
		}
		s.types("/theme lihgt")
		s.sees("lihgt: themes are auto, dark, light, none, sea.")
		s.a.reports.noTheme = fmt.Errorf("disk full")
		s.types("/theme none")
		is("none")
		s.sees("! The theme is none until the end; it can't be kept in the settings: disk full")
	})
	moment(t, "theme_picker", "Themes: the one in use is chosen, and what each is stands behind it; one is the user's own.", Options{Looks: looks}, func(s *stage) { s.begun() }, func(s *stage) { s.types("/theme") })
}

func TestGoldenCompletionOfArguments(t *testing.T) { // TUI-4
	moment(t, "composer_arguments", "What may stand behind a command is offered above the composer: nothing is chosen until something is written or gone to.", Options{}, func(s *stage) {
		s.begun()
		for i := range 12 {
			s.a.sessions = append(s.a.sessions, SessionInfo{ID: fmt.Sprintf("01ab%02d", i), Title: []string{"Mend the 解析器", "A long title that goes on and on, and on, and then on", "🦉🦉"}[i%3], Age: "2 h ago", Here: i < 6, Workspace: "/home/ada/else"})
		}
	}, func(s *stage) { s.press("/resume ") })
}

func TestGoldenDoctor(t *testing.T) {
	moment(t, "doctor", "What `agent doctor` says, in a view.", Options{}, func(s *stage) { s.begun() }, func(s *stage) { s.types("/doctor") })
}

// docs/setup.md lists the roles.
func TestRolesPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "setup.md")
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- roles: begin, generated -->\n", "<!-- roles: end -->"
	head, rest, ok := strings.Cut(string(doc), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	want := head + begin + "`" + strings.Join(Roles(), "`, `") + "`.\n" + end + tail
	if !ok || !ok2 || want != string(doc) {
		if os.Getenv("UPDATE") == "" {
			t.Fatal("docs/setup.md does not list the roles as they are: UPDATE=1 go test ./internal/tui writes it")
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
