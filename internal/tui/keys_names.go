package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParseKey reads the name of a key as people write it ("Ctrl+S", "alt+return", "?") and returns the one in the table.
func ParseKey(text string) (key string, ok bool) {
	name := strings.TrimSpace(text)
	if utf8.RuneCountInString(name) == 1 {
		return name, !unicode.IsControl([]rune(name)[0])
	}
	var ctrl, alt, shift bool
	for {
		mod, rest, found := strings.Cut(name, "+")
		if !found || rest == "" {
			break
		}
		switch strings.ToLower(strings.TrimSpace(mod)) {
		case "ctrl", "control":
			ctrl = true
		case "alt", "option", "meta":
			alt = true
		case "shift":
			shift = true
		default:
			return "", false
		}
		name = strings.TrimSpace(rest)
	}
	base := name
	if utf8.RuneCountInString(base) != 1 {
		base = strings.ToLower(base)
		switch base {
		case "return":
			base = "enter"
		case "escape":
			base = "esc"
		case "pageup":
			base = "pgup"
		case "pagedown", "pgdn":
			base = "pgdown"
		case "del":
			base = "delete"
		}
		if !slices.Contains(namedKeys(), base) {
			return "", false
		}
	} else if lower := strings.ToLower(base); lower != base && (ctrl || alt) {
		base = lower
	}
	if shift && !ctrl && !alt && utf8.RuneCountInString(base) == 1 {
		return strings.ToUpper(base), true
	}
	return modified(ctrl, alt, shift) + base, true
}

func modified(ctrl, alt, shift bool) (prefix string) {
	for _, m := range []struct {
		on   bool
		name string
	}{{ctrl, "ctrl+"}, {alt, "alt+"}, {shift, "shift+"}} {
		if m.on {
			prefix += m.name
		}
	}
	return prefix
}

func namedKeys() []string {
	names := []string{"enter", "esc", "tab", "space", "backspace", "delete", "insert", "up", "down", "left", "right", "home", "end", "pgup", "pgdown"}
	for i := range 20 {
		names = append(names, fmt.Sprintf("f%d", i+1))
	}
	return names
}

// KeyText is the name of a key for people: ctrl+pgdown is Ctrl+PgDn.
func KeyText(key string) string {
	var mods []string
	for {
		mod, rest, found := strings.Cut(key, "+")
		if !found || rest == "" {
			break
		}
		mods, key = append(mods, strings.ToUpper(mod[:1])+mod[1:]), rest
	}
	switch {
	case key == "pgup":
		key = "PgUp"
	case key == "pgdown":
		key = "PgDn"
	case len(key) == 1 && len(mods) > 0, key != "" && len(key) > 1 && key[0] < utf8.RuneSelf:
		key = strings.ToUpper(key[:1]) + key[1:]
	}
	return strings.Join(append(mods, key), "+")
}

// legacy says that every terminal can send the key and tell it from others. Control with a key that has no control
// character, and a modified Enter, Tab or Backspace, need a newer way of reporting keys. (Alt+Enter is ESC CR.)
func legacy(key string) bool {
	base := key[strings.LastIndex(key[:len(key)-1], "+")+1:]
	mods := strings.TrimSuffix(key, base)
	switch base {
	case "enter":
		return mods == "" || mods == "alt+"
	case "tab":
		return mods == "" || mods == "shift+"
	case "backspace":
		return mods == "" || mods == "alt+"
	case "esc", "space":
		return mods == ""
	}
	if strings.Contains(mods, "ctrl") && len(base) == 1 {
		c := base[0]
		return c >= 'a' && c <= 'z' && c != 'i' && c != 'm' && c != 'h' || strings.IndexByte(`\]^_@`, c) >= 0
	}
	return true
}

// isText says that the key writes a character.
func isText(key string) bool { return utf8.RuneCountInString(key) == 1 || key == "space" }

// nearest is a suggestion for a name that is none, "" where nothing is near.
func nearest(name string, names []string) string {
	best, least := "", min(3, len(name)/2+1)
	for _, n := range names {
		if d := distance(name, n); d < least {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance is the number of letters to put in, take out or change to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
