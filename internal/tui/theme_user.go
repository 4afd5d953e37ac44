package tui

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"varve/internal/setup"
)

// Themes are the built-in ones and the user's own, of appearance.themes. The zero
// value has the built-in ones.
type Themes struct{ own map[string]map[string]string }

// A ThemeProblem is a line of appearance.themes that does not do what it says.
type ThemeProblem struct{ Theme, Role, What string }

func (p ThemeProblem) Error() string {
	if p.Role == "" {
		return fmt.Sprintf("appearance.themes.%s: %s", oneLine(p.Theme), oneLine(p.What))
	}
	return fmt.Sprintf("appearance.themes.%s.%s: %s", oneLine(p.Theme), oneLine(p.Role), oneLine(p.What))
}

// baseRole names what a theme of the user's changes: dark, light, none or auto,
// which it is where nothing is said.
const baseRole = "base"

// NewThemes reads the user's themes (setup.Appearance.Themes: name, role, style).
// What could not be done as asked is returned; the rest of that theme holds.
func NewThemes(users map[string]map[string]string) (Themes, []ThemeProblem) {
	t := Themes{own: map[string]map[string]string{}}
	var problems []ThemeProblem
	for _, name := range slices.Sorted(maps.Keys(users)) {
		switch {
		case slices.Contains(ThemeNames(), name):
			problems = append(problems, ThemeProblem{Theme: name, What: "is the name of a built-in theme; give it another"})
			continue
		case !commandName(name):
			problems = append(problems, ThemeProblem{Theme: name, What: "a name has a to z, 0 to 9, - and _ only"})
			continue
		}
		t.own[name] = map[string]string{}
		for _, role := range slices.Sorted(maps.Keys(users[name])) {
			value, what := users[name][role], ""
			switch {
			case role == baseRole && !slices.Contains(ThemeNames(), value):
				what = fmt.Sprintf("%q is not one of %s", value, strings.Join(ThemeNames(), ", "))
			case role == baseRole:
			case !slices.Contains(Roles(), role):
				what = "there is no such role" + nearest(role, Roles())
			default:
				_, what = parseStyle(value, colorprofile.TrueColor)
			}
			if what != "" {
				problems = append(problems, ThemeProblem{name, role, what})
				continue
			}
			t.own[name][role] = value
		}
	}
	return t, problems
}

// LookProblems are those of all looks: themes, the choice among them, and keys.
func LookProblems(a setup.Appearance) (problems []error) {
	themes, wrong := NewThemes(a.Themes)
	for _, p := range wrong {
		problems = append(problems, p)
	}
	if err := themes.check(a.Theme); err != nil {
		problems = append(problems, err)
	}
	_, keys := NewKeymap(a.Keys)
	for _, p := range keys {
		problems = append(problems, p)
	}
	return problems
}

// Names are all that can be chosen.
func (t Themes) Names() []string {
	return append(ThemeNames(), slices.Sorted(maps.Keys(t.own))...)
}

func (t Themes) check(name string) error {
	if name == "" || slices.Contains(t.Names(), name) {
		return nil
	}
	return fmt.Errorf("appearance.theme %s is not one of %s: auto is used", oneLine(name), strings.Join(t.Names(), ", "))
}

// Pick is [PickTheme] with the user's own. Colours are brought down to what the
// profile can show, and none are left where it has none.
func (t Themes) Pick(name string, profile colorprofile.Profile, dark bool) (Theme, bool) {
	own, ok := t.own[name]
	if !ok {
		return PickTheme(name, profile, dark)
	}
	th, _ := PickTheme(own[baseRole], profile, dark)
	th.Name = name
	roles := th.roles()
	for role, value := range own {
		st, what := parseStyle(value, profile)
		if what == "" {
			for _, place := range roles[role] {
				place.set(st)
			}
		}
	}
	return th, true
}

// A place is where a role of a theme is kept.
type place struct {
	style *Style
	text  *string
}

func (p place) set(s Style) {
	if p.style != nil {
		*p.style = s
		return
	}
	*p.text = string(s)
}

// roles is where each role stands. Answers and diffs take those that they share.
func (t *Theme) roles() map[string][]place {
	m := &t.md
	own := func(s *Style, more ...*string) []place {
		out := []place{{style: s}}
		for _, x := range more {
			out = append(out, place{text: x})
		}
		return out
	}
	only := func(s *string) []place { return []place{{text: s}} }
	return map[string][]place{
		"text": own(&t.Text, &m.Text), "strong": own(&t.Strong, &m.Strong), "dim": own(&t.Dim, &m.Dim, &m.URL),
		"title": own(&t.Title), "accent": own(&t.Accent, &m.Accent), "error": own(&t.Error), "warn": own(&t.Warn), "ok": own(&t.OK),
		"user": own(&t.User), "agent": own(&t.Agent), "code": own(&t.Code, &m.Code), "added": own(&t.Added, &m.Added),
		"removed": own(&t.Removed, &m.Removed), "selection": own(&t.Selection), "match": own(&t.Match), "border": own(&t.Border),
		"key": own(&t.Key), "chip": own(&t.Chip), "bar": own(&t.Bar),
		"heading": only(&m.Heading), "emphasis": only(&m.Emph), "strike": only(&m.Strike), "link": only(&m.Link), "quote": only(&m.Quote), "hunk": only(&m.Hunk),
		"keyword": only(&m.Keyword), "type": only(&m.Type), "function": only(&m.Func), "string": only(&m.String), "number": only(&m.Number),
		"comment": only(&m.Comment),
	}
}

// Roles are what a theme gives a style to, by name.
func Roles() []string { return slices.Sorted(maps.Keys(new(Theme).roles())) }

// parseStyle reads a style: attributes, a colour, and "on" with a colour behind
// the text, apart by blanks, as in "bold #ff8800 on black". "" is plain. what says
// what is wrong with it.
func parseStyle(text string, profile colorprofile.Profile) (st Style, what string) {
	var codes []string
	behind := false
	for _, word := range strings.Fields(text) {
		if code, ok := attributes[word]; ok && !behind {
			codes = append(codes, code)
			continue
		}
		if word == "on" && !behind {
			behind = true
			continue
		}
		c, ok := parseColour(word)
		if !ok {
			return "", fmt.Sprintf("%q is no colour and no attribute: a colour is a name such as red or bright-blue, a number to 255, or #rrggbb", word)
		}
		if profile > colorprofile.ASCII {
			codes = append(codes, colourCode(profile.Convert(c), behind))
		}
		behind = false
	}
	switch {
	case behind:
		return "", `nothing stands behind "on"`
	case len(codes) == 0:
		return "", ""
	}
	return Style("\x1b[" + strings.Join(codes, ";") + "m"), ""
}

var attributes = map[string]string{"bold": "1", "faint": "2", "italic": "3", "underline": "4", "reverse": "7"}

var colourNames = []string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}

func parseColour(word string) (color.Color, bool) {
	name, bright := strings.CutPrefix(word, "bright-")
	if word == "gray" || word == "grey" {
		name, bright = "black", true
	}
	if i := slices.Index(colourNames, name); i >= 0 {
		if bright {
			i += 8
		}
		return ansi.BasicColor(i), true
	}
	if hex, ok := strings.CutPrefix(word, "#"); ok {
		if len(hex) == 3 {
			hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
		}
		n, err := strconv.ParseUint(hex, 16, 32)
		return color.RGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), 255}, err == nil && len(hex) == 6
	}
	n, err := strconv.Atoi(word)
	return ansi.IndexedColor(max(min(n, 255), 0)), err == nil && n >= 0 && n <= 255
}

// colourCode is a colour of text, or behind it.
func colourCode(c color.Color, behind bool) string {
	add := 0
	if behind {
		add = 10
	}
	switch c := c.(type) {
	case ansi.BasicColor:
		if c < 8 {
			return strconv.Itoa(30 + add + int(c))
		}
		return strconv.Itoa(90 + add + int(c) - 8)
	case ansi.IndexedColor:
		return fmt.Sprintf("%d;5;%d", 38+add, c)
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("%d;2;%d;%d;%d", 38+add, r>>8, g>>8, b>>8)
}

// themeNote says what a theme is, in the list of them.
func (t Themes) themeNote(name string) string {
	own, ok := t.own[name]
	switch {
	case ok:
		return "yours, on " + cmp.Or(own[baseRole], "auto")
	case name == "auto":
		return "dark or light, as the terminal says"
	case name == "none":
		return "no colours: bold, faint, underline, reverse"
	}
	return "the terminal's sixteen colours on a " + name + " background"
}
