package tools

import "strings"

// indents maps the indentation that a model wrote to the one that the file has,
// learned line by line from a text that stands in both.
type indents struct {
	known      map[string]string
	low, base  string // the shortest that the model wrote, and the file's
	step, unit string // one level more, in the model's and in the file's; "" where not known
}

// learn reads the map off lines that are the same but for whitespace. It is not
// ok where they are not, or where one indentation of the model's stands for two
// of the file's: then nothing is known of the lines that are new.
func learn(file, wrote []string) (m indents, ok bool) {
	if len(file) != len(wrote) {
		return m, false
	}
	m.known = map[string]string{}
	for i := range wrote {
		a, b := strings.Fields(wrote[i]), strings.Fields(file[i])
		if strings.Join(a, " ") != strings.Join(b, " ") {
			return m, false
		}
		if len(a) == 0 {
			continue
		}
		from, to := indentOf(wrote[i]), indentOf(file[i])
		if was, met := m.known[from]; met && was != to {
			return m, false
		}
		if len(m.known) == 0 || len(from) < len(m.low) {
			m.low, m.base = from, to
		}
		m.known[from] = to
	}
	return m, len(m.known) > 0 && m.levels()
}

func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// levels finds what one more level is on both sides.
func (m *indents) levels() bool {
	for from, to := range m.known {
		more, ok := strings.CutPrefix(from, m.low)
		deeper, same := strings.CutPrefix(to, m.base)
		if !ok || !same || (more == "") != (deeper == "") {
			return false
		}
		if more != "" && (m.step == "" || len(more) < len(m.step)) {
			m.step, m.unit = more, deeper
		}
	}
	for from, to := range m.known {
		if got, ok := m.of(from); !ok || got != to {
			return false
		}
	}
	return true
}

// of is the file's indentation for one of the model's.
func (m *indents) of(from string) (string, bool) {
	more, ok := strings.CutPrefix(from, m.low)
	if !ok {
		return "", false
	}
	switch {
	case more == "":
		return m.base, true
	case m.step != "":
		n := len(more) / len(m.step)
		if strings.Repeat(m.step, n) != more {
			return "", false
		}
		return m.base + strings.Repeat(m.unit, n), true
	}
	// One level alone is known: deeper ones are as the model wrote them, where
	// both indent alike.
	kind := m.low + m.base
	if kind == "" || strings.Trim(kind+more, more[:1]) == "" {
		return m.base + more, true
	}
	return "", false
}

// fit gives new lines the file's indentation. It is not ok where that of a line
// can't be known.
func (m *indents) fit(lines []string) ([]string, bool) {
	out := make([]string, len(lines))
	for i, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		in, ok := m.of(indentOf(l))
		if !ok {
			return nil, false
		}
		out[i] = in + strings.TrimLeft(l, " \t")
	}
	return out, true
}
