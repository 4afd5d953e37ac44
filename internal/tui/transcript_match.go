package tui

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"varve/internal/session"
)

// A span is a part of a drawn line: bytes of it without its styles.
type span struct{ line, from, to int }

// A needle is what is looked for: case is ignored, and any blanks are as good as
// others, the end of a line that was wrapped among them.
type needle struct {
	text  string // as it was typed
	runes []rune // lower case, single blanks
	bare  string // its letters and digits
}

func newNeedle(s string) needle {
	s = strings.Join(strings.Fields(s), " ")
	return needle{text: s, runes: []rune(strings.ToLower(s)), bare: bare(s)}
}

// bare is the letters and digits of a text, in lower case: what is left of them
// whatever Markdown, JSON and line ends do.
func bare(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("nrt", s[i+1]) >= 0 {
			i += 2
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if i += n; unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// near reports whether a row may show the needle: it is quick, and right where
// it says no of what a person, a model or a tool wrote.
func (n needle) near(r *row) bool {
	texts := []string{r.src.text, r.out.text, r.head, r.name, r.mark}
	for _, k := range r.plan {
		texts = append(texts, k.text)
	}
	for _, f := range r.files {
		texts = append(texts, f.Op+" "+f.Path)
	}
	if c := r.sides; c != nil {
		texts = append(texts, c.before.text, c.after.text)
	}
	if ev, ok := r.event.(session.CheckpointCommitted); ok {
		texts = append(texts, checkpointTitle(ev), checkpointNotes(ev))
	}
	for _, s := range texts {
		if n.bare != "" && strings.Contains(bare(s), n.bare) ||
			n.bare == "" && strings.ContainsRune(s, n.runes[0]) {
			return true
		}
	}
	return false
}

// A flat rune is one of drawn lines: '\n' stands between two of them.
type flatRune struct {
	r    rune
	span span
}

// flatten makes one row of runes of drawn lines, without styles and margins.
func flatten(lines []string) []flatRune {
	var out []flatRune
	for i, l := range lines {
		s := ansi.Strip(l)
		if i > 0 {
			out = append(out, flatRune{r: '\n', span: span{i, 0, 0}})
		}
		off := len(s) - len(strings.TrimLeft(s, " ▌"))
		for j, r := range s[off:] {
			out = append(out, flatRune{unicode.ToLower(r), span{i, off + j, off + j + utf8.RuneLen(r)}})
		}
	}
	return out
}

// in is where the needle is in drawn lines: for each place the parts of lines
// that it takes.
func (n needle) in(lines []string) (found [][]span) {
	if len(n.runes) == 0 {
		return nil
	}
	flat := flatten(lines)
	for i := 0; i < len(flat); {
		if end := n.at(flat, i); end > i {
			var parts []span
			for _, f := range flat[i:end] {
				switch last := len(parts) - 1; {
				case f.r == '\n':
				case last >= 0 && parts[last].line == f.span.line:
					parts[last].to = f.span.to
				default:
					parts = append(parts, f.span)
				}
			}
			found = append(found, parts)
			i = end
			continue
		}
		i++
	}
	return found
}

// at is the end of the needle that begins at i, 0 for none.
func (n needle) at(flat []flatRune, i int) int {
	j := i
	for k := 0; k < len(n.runes); {
		switch {
		case j >= len(flat):
			return 0
		case n.runes[k] == ' ':
			if !unicode.IsSpace(flat[j].r) {
				return 0
			}
			for j < len(flat) && unicode.IsSpace(flat[j].r) {
				j++
			}
			k++
		case flat[j].r == '\n' && k > 0 && flat[j-1].r != '\n':
			j++ // a word that was too long for its line
		case flat[j].r != n.runes[k]:
			return 0
		default:
			j, k = j+1, k+1
		}
	}
	return j
}

// restyled is a drawn line with parts of it in another style. The line's own
// styles go on behind each.
func restyled(line string, parts []span, st Style) string {
	if st == "" || len(parts) == 0 {
		return line
	}
	var b strings.Builder
	parts = slices.DeleteFunc(slices.Clone(parts), func(s span) bool { return s.from >= s.to })
	own, at := "", 0 // the styles that are on, and how much text was written
	within := false
	for i := 0; i < len(line); {
		if within && at >= parts[0].to {
			b.WriteString("\x1b[m" + own)
			within, parts = false, parts[1:]
		}
		if line[i] == '\x1b' {
			if end := strings.IndexByte(line[i:], 'm'); end > 0 {
				seq := line[i : i+end+1]
				if own += seq; seq == "\x1b[m" || seq == "\x1b[0m" {
					own = ""
				}
				b.WriteString(seq)
				if within {
					b.WriteString(string(st))
				}
				i += end + 1
				continue
			}
		}
		if !within && len(parts) > 0 && at >= parts[0].from {
			b.WriteString(string(st))
			within = true
		}
		b.WriteByte(line[i])
		i, at = i+1, at+1
	}
	if within {
		b.WriteString("\x1b[m" + own)
	}
	return b.String()
}
