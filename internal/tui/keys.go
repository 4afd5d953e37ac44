package tui

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// A Keymap says what keys do. It is a value made once from the table and the user's settings, and never changed. The zero
// value knows no key.
type Keymap struct {
	rows  []binding
	byKey map[string][]int // rows by key, in the table's order
	plain bool
	users map[Action]bool // whose keys the user gave
	wrong []KeyProblem
}

// A KeyProblem is a line of appearance.keys that does not do what it says.
type KeyProblem struct{ Action, Key, What string }

func (p KeyProblem) Error() string {
	if p.Key == "" {
		return fmt.Sprintf("appearance.keys: %s: %s", p.Action, p.What)
	}
	return fmt.Sprintf("appearance.keys: %s: %q %s", p.Action, p.Key, p.What)
}

// DefaultKeymap is the table as it stands.
func DefaultKeymap() Keymap {
	k, _ := NewKeymap(nil)
	return k
}

// NewKeymap is the table with the user's keys (setup.Appearance.Keys: action to keys). The keys of an action that the user
// names replace all of its own; no keys at all unbind it. Where two actions want a key in the same place the user's own
// wins over the table's, and then the one that stands first in the table. What could not be done as asked is returned.
func NewKeymap(users map[string][]string) (Keymap, []KeyProblem) {
	var problems []KeyProblem
	rows := bindings()
	known := map[Action]Where{} // places where something is written at any time
	for _, r := range rows {
		writes := r.Where & (typing | InList | InSearch | InBrowser)
		if r.Where&WhenEmpty != 0 {
			writes = 0
		}
		known[r.Action] |= writes
	}
	own := map[Action][]string{}
	for _, name := range slices.Sorted(maps.Keys(users)) {
		a := Action(name)
		writes, ok := known[a]
		if !ok {
			problems = append(problems, KeyProblem{Action: name, What: "there is no such action" + nearest(name, slices.Collect(actionNames(rows)))})
			continue
		}
		keys := []string{}
		for _, text := range users[name] {
			if key, ok := ParseKey(text); !ok {
				problems = append(problems, KeyProblem{name, text, "is not the name of a key"})
			} else if writes != 0 && isText(key) {
				problems = append(problems, KeyProblem{name, text, "is needed to write with"})
			} else if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		if needed := a == ActQuit || a == ActInterrupt || a == ActSend || a == ActClose; len(keys) == 0 && (needed || len(users[name]) > 0) {
			if needed {
				problems = append(problems, KeyProblem{Action: name, What: "needs a key; its own stays"})
			}
			continue
		}
		own[a] = keys
	}
	k := Keymap{byKey: map[string][]int{}, users: map[Action]bool{}}
	for a := range own {
		k.users[a] = true
	}
	first := map[Action]bool{}
	for _, r := range rows {
		if keys, ok := own[r.Action]; ok {
			if first[r.Action] {
				continue
			}
			first[r.Action] = true
			r.Keys = keys
		} else {
			r.Keys = slices.Clone(r.Keys)
		}
		k.rows = append(k.rows, r)
	}
	k.wrong = append(problems, k.settle(own)...)
	return k, k.wrong
}

// settle takes keys from rows that lose them to another, and makes the index.
func (k *Keymap) settle(own map[Action][]string) (problems []KeyProblem) {
	loses := func(loser, winner int, key string) {
		l, w := &k.rows[loser], k.rows[winner]
		l.Keys = slices.DeleteFunc(l.Keys, func(s string) bool { return s == key })
		problems = append(problems, KeyProblem{string(l.Action), key, "is the key of " + string(w.Action)})
	}
	for i := range k.rows {
		for j := range k.rows[:i] {
			a, b := k.rows[j], k.rows[i]
			_, mine := own[a.Action]
			_, yours := own[b.Action]
			if a.Action == b.Action || !clash(a.Where, b.Where) {
				continue
			}
			for _, key := range slices.Clone(b.Keys) {
				switch {
				case !slices.Contains(k.rows[j].Keys, key):
				case yours && !mine:
					loses(j, i, key)
				default:
					loses(i, j, key)
				}
			}
		}
	}
	for i, r := range k.rows {
		for _, key := range r.Keys {
			k.byKey[key] = append(k.byKey[key], i)
		}
	}
	return problems
}

// clash says that neither of two bindings in a place is narrower than the other, so that a key can't tell them apart.
func clash(a, b Where) bool {
	return a&b&places != 0 && bits.OnesCount16(uint16(a&^places)) == bits.OnesCount16(uint16(b&^places))
}

// Action is what a key press does there.
func (k Keymap) Action(msg tea.KeyPressMsg, at Where) (Action, bool) {
	best, width := -1, -1
	consider := func(key string) {
		for _, i := range k.byKey[key] {
			w := k.rows[i].Where
			if w&at&places == 0 || w&^places&^at != 0 {
				continue
			}
			if n := bits.OnesCount16(uint16(w &^ places)); n > width {
				best, width = i, n
			}
		}
	}
	for _, name := range keyNames(msg) {
		consider(name)
	}
	if best < 0 {
		return "", false
	}
	return k.rows[best].Action, true
}

// keyNames are the names by which a key may be bound: what it writes, and what was pressed.
func keyNames(msg tea.KeyPressMsg) []string {
	stroke := msg.Keystroke()
	if text := msg.Text; text != "" && text != " " && text != stroke {
		return []string{text, stroke}
	}
	return []string{stroke}
}

// Plain is the keymap of a terminal that can't tell apart the keys that older terminals send alike: help leaves out what
// it can't send (case TUI-10). They still act, should they come.
func (k Keymap) Plain() Keymap {
	k.plain = true
	return k
}

// Keys are the keys of an action as people read them, those first that this terminal surely sends.
func (k Keymap) Keys(a Action) []string {
	var keys []string
	for _, r := range k.rows {
		if r.Action != a {
			continue
		}
		for _, key := range r.Keys {
			if k.plain && !legacy(key) {
				continue
			}
			text := KeyText(key)
			if r.Where&WhenAgain != 0 {
				text += " " + text
			}
			if !slices.Contains(keys, text) {
				keys = append(keys, text)
			}
		}
	}
	return keys
}

// Key is the first of Keys, "" for none.
func (k Keymap) Key(a Action) string {
	if keys := k.Keys(a); len(keys) > 0 {
		return keys[0]
	}
	return ""
}

// Elsewhere says of the keys of an action that do another thing while a turn runs
// when they do this one, "" where there are none.
func (k Keymap) Elsewhere(a Action) string {
	var keys []string
	for _, r := range k.rows {
		for _, key := range r.Keys {
			taken := slices.ContainsFunc(k.byKey[key], func(i int) bool {
				o := k.rows[i].Where
				return k.rows[i].Action != a && o&r.Where&places != 0 && o&WhenWorking != 0 && r.Where&WhenWorking == 0
			})
			if text := KeyText(key); r.Action == a && taken && !(k.plain && !legacy(key)) && !slices.Contains(keys, text) {
				keys = append(keys, text)
			}
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return strings.Join(keys, ", ") + " only while no turn runs"
}

// Actions are the table's rows with words, in order; the keys are to be asked for.
func (k Keymap) Actions() []binding {
	return slices.DeleteFunc(slices.Clone(k.rows), func(r binding) bool { return r.Says == "" })
}

func actionNames(rows []binding) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, r := range rows {
			if !yield(string(r.Action)) {
				return
			}
		}
	}
}
