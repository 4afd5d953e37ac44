package tui

import (
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

func TestPickTheme(t *testing.T) { // TUI-9
	for _, c := range []struct {
		name    string
		profile colorprofile.Profile
		dark    bool
		want    string
		ok      bool
	}{
		{"auto", colorprofile.TrueColor, true, "dark", true},
		{"auto", colorprofile.ANSI, false, "light", true},
		{"", colorprofile.ANSI, true, "dark", true},
		{"light", colorprofile.ANSI256, true, "light", true},
		{"dark", colorprofile.ANSI, false, "dark", true},
		{"none", colorprofile.TrueColor, true, "none", true},
		{"dark", colorprofile.ASCII, true, "none", true}, // NO_COLOR
		{"dark", colorprofile.NoTTY, true, "none", true},
		{"solarized", colorprofile.ANSI, false, "light", false},
	} {
		if got, ok := PickTheme(c.name, c.profile, c.dark); got.Name != c.want || ok != c.ok {
			t.Errorf("%q, %v is %s %v, want %s %v", c.name, c.profile, got.Name, ok, c.want, c.ok)
		}
	}
}

// No theme uses more than sixteen colours, and none has a colour in NoTheme.
func TestThemesUseTheTerminalsColours(t *testing.T) { // TUI-9
	for _, th := range []Theme{DarkTheme(), LightTheme(), NoTheme()} {
		v := reflect.ValueOf(th)
		for i := range v.NumField() {
			st, ok := styleOf(v.Field(i))
			if !ok || st == "" {
				continue
			}
			codes, ok := strings.CutPrefix(strings.TrimSuffix(string(st), "m"), "\x1b[")
			if !ok {
				t.Errorf("%s %s is no style: %q", th.Name, v.Type().Field(i).Name, st)
			}
			for code := range strings.SplitSeq(codes, ";") {
				if len(code) > 2 || th.Name == "none" && len(code) > 1 {
					t.Errorf("%s %s has %q", th.Name, v.Type().Field(i).Name, st)
				}
			}
		}
	}
}

func styleOf(v reflect.Value) (Style, bool) {
	return Style(v.String()), v.Type() == reflect.TypeFor[Style]()
}
