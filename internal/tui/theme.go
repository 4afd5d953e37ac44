package tui

import (
	"github.com/charmbracelet/colorprofile"

	"varve/internal/tui/markdown"
)

// A Style is the SGR sequence of a role, such as "\x1b[1;34m"; "" is plain. It is a string and no lipgloss style, so that
// drawing a row costs a concatenation.
type Style string

// Of is text in the style, and no style after it. Text that has styles of its own ends this one where its first ends.
func (s Style) Of(text string) string {
	if s == "" || text == "" {
		return text
	}
	return string(s) + text + "\x1b[m"
}

// A Theme gives each role a style. The themes here use the sixteen colours that every terminal has and that its user
// chose, so they serve every profile with colours (TUI-9). A role is for one thing; a new thing on the screen takes the
// role that means it, and no colour of its own.
type Theme struct {
	Name                   string // dark, light, none
	Text, Strong, Dim      Style
	Title, Accent          Style
	Error, Warn, OK        Style
	User, Agent, Code      Style
	Added, Removed         Style
	Selection              Style // the chosen row of a list, over its whole width
	Match                  Style // the letters that a filter found
	Border, Key, Chip, Bar Style

	md markdown.Theme
}

// Ink is text in the style of a role by its name: dim, accent, user, ok, warn, error, strong, title, code, added, removed,
// border, key. An unknown role is plain.
func (t Theme) Ink(role, text string) string { return t.style(role).Of(text) }

func (t Theme) style(role string) Style {
	switch role {
	case "dim":
		return t.Dim
	case "accent":
		return t.Accent
	case "user":
		return t.User
	case "ok":
		return t.OK
	case "warn":
		return t.Warn
	case "error":
		return t.Error
	case "strong":
		return t.Strong
	case "title":
		return t.Title
	case "code":
		return t.Code
	case "added":
		return t.Added
	case "removed":
		return t.Removed
	case "border":
		return t.Border
	case "key":
		return t.Key
	}
	return t.Text
}

// Markdown is the same theme for answers and diffs.
func (t Theme) Markdown() markdown.Theme { return t.md }

// DarkTheme is for a dark background.
func DarkTheme() Theme {
	return Theme{
		Name: "dark", Strong: "\x1b[1m", Dim: "\x1b[90m", Title: "\x1b[1;96m", Accent: "\x1b[96m",
		Error: "\x1b[91m", Warn: "\x1b[93m", OK: "\x1b[92m", User: "\x1b[94m", Agent: "\x1b[96m", Code: "\x1b[93m",
		Added: "\x1b[92m", Removed: "\x1b[91m", Selection: "\x1b[7m", Match: "\x1b[1;93m",
		Border: "\x1b[90m", Key: "\x1b[96m", Chip: "\x1b[95m", Bar: "\x1b[96m", md: markdown.Dark(),
	}
}

// LightTheme is for a light background.
func LightTheme() Theme {
	return Theme{
		Name: "light", Strong: "\x1b[1m", Dim: "\x1b[90m", Title: "\x1b[1;34m", Accent: "\x1b[34m",
		Error: "\x1b[31m", Warn: "\x1b[33m", OK: "\x1b[32m", User: "\x1b[34m", Agent: "\x1b[36m", Code: "\x1b[31m",
		Added: "\x1b[32m", Removed: "\x1b[31m", Selection: "\x1b[7m", Match: "\x1b[1;35m",
		Border: "\x1b[90m", Key: "\x1b[34m", Chip: "\x1b[35m", Bar: "\x1b[34m", md: markdown.Light(),
	}
}

// NoTheme uses no colour, only bold, faint, underline and reverse: for NO_COLOR and for terminals without colours.
func NoTheme() Theme {
	return Theme{
		Name: "none", Strong: "\x1b[1m", Dim: "\x1b[2m", Title: "\x1b[1m", Accent: "\x1b[1m",
		Error: "\x1b[1m", Warn: "\x1b[1m", Added: "\x1b[1m", Removed: "\x1b[2m", Selection: "\x1b[7m", Match: "\x1b[4m",
		Border: "\x1b[2m", Key: "\x1b[1m", Chip: "\x1b[4m", md: markdown.Mono(),
	}
}

// NewTheme is the theme for a background, with colours or without.
func NewTheme(dark, colours bool) Theme {
	switch {
	case !colours:
		return NoTheme()
	case dark:
		return DarkTheme()
	}
	return LightTheme()
}

// PickTheme is the theme of a name as in setup.json: dark, light, none, or auto, which follows the background. A profile
// without colours (NO_COLOR, TERM=dumb) wins over the name. ok is false for a name that is none of these; auto is used.
func PickTheme(name string, profile colorprofile.Profile, dark bool) (t Theme, ok bool) {
	ok = true
	switch name {
	case "dark", "light", "none":
	case "", "auto":
		name = "light"
		if dark {
			name = "dark"
		}
	default:
		ok = false
		t, _ = PickTheme("auto", profile, dark)
		return t, ok
	}
	return NewTheme(name == "dark", name != "none" && profile > colorprofile.ASCII), ok
}

// ThemeNames are what setup.json may say.
func ThemeNames() []string { return []string{"auto", "dark", "light", "none"} }
