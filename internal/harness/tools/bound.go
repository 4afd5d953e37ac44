package tools

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// The bounds of a result's text, whichever comes first (TOOL-2). They hold for the whole of it: notes for the model
// have a reserve inside them.
const (
	maxChars = 30_000
	maxLines = 2_000
	maxBytes = 50_000

	reserveChars = 1_500
	reserveLines = 20

	maxFull = 1 << 20 // of captured output that is kept
)

// room is what may still be written.
type room struct{ chars, lines, bytes int }

func wholeRoom() room {
	return room{maxChars - reserveChars, maxLines - reserveLines, maxBytes - reserveChars}
}

func (r room) half() room { return room{r.chars / 2, r.lines / 2, r.bytes / 2} }

// take reserves a piece of text, or says that it doesn't fit.
func (r *room) take(s string) bool {
	n := room{r.chars - utf8.RuneCountInString(s), r.lines - strings.Count(s, "\n"), r.bytes - len(s)}
	if n.chars < 0 || n.lines < 0 || n.bytes < 0 {
		return false
	}
	*r = n
	return true
}

// head is the length of the longest beginning that fits, cut after a line where that costs less than half of it.
func (r room) head(s string) int {
	i := 0
	for i < len(s) {
		c, n := utf8.DecodeRuneInString(s[i:])
		if r.chars--; r.chars < 0 || i+n > r.bytes {
			break
		}
		if c == '\n' {
			if r.lines--; r.lines < 0 {
				break
			}
		}
		i += n
	}
	if i < len(s) {
		if nl := strings.LastIndexByte(s[:i], '\n') + 1; nl > i/2 {
			return nl
		}
	}
	return i
}

// tail is where the longest end that fits begins.
func (r room) tail(s string) int {
	i := len(s)
	for i > 0 {
		c, n := utf8.DecodeLastRuneInString(s[:i])
		if r.chars--; r.chars < 0 || len(s)-i+n > r.bytes {
			break
		}
		if c == '\n' {
			if r.lines--; r.lines < 0 {
				break
			}
		}
		i -= n
	}
	if i > 0 {
		if nl := strings.IndexByte(s[i:], '\n'); nl >= 0 && nl+1 < (len(s)-i)/2 {
			return i + nl + 1
		}
	}
	return i
}

// rest says how what was left out is reached.
func (p *prep) rest(l LeftOut) string {
	words := plural(l.Lines, "line", "lines") + ", " + plural(l.Bytes, "byte", "bytes") + " left out"
	if p.Blobs == nil {
		return words
	}
	return words + fmt.Sprintf("; read file_path \"item:%s\" has the whole output", p.call.ID)
}

// headOnly bounds a finished text for files and searches, and keeps the whole of it when something was left out.
func (p *prep) headOnly(r *Result, text, footer string) {
	if n := wholeRoom().head(text); n < len(text) {
		left := text[n:]
		r.LeftOut = LeftOut{int64(len(left)), int64(lineCount(left))}
		p.keepFull(r, []byte(text), 0)
		text = strings.TrimSuffix(text[:n], "\n") + "\n[" + p.rest(r.LeftOut) + "]\n"
	}
	r.Text = []byte(text + footer)
}

// keepFull keeps captured output of at most maxFull bytes; without a store, or when it fails, the text says so.
func (p *prep) keepFull(r *Result, full []byte, discarded int64) (problem string) {
	if p.Blobs == nil {
		return ""
	}
	if len(full) > maxFull {
		discarded += int64(len(full) - maxFull)
		full = full[:maxFull]
	}
	sha, err := p.Blobs.Put(full)
	if err != nil {
		return "the whole output could not be kept: " + strings.ToValidUTF8(err.Error(), "\uFFFD")
	}
	r.Full = &Full{sha, int64(len(full)), discarded}
	return ""
}

// clean turns what a command wrote to its terminal into text: valid UTF-8, no escape sequences, of overwritten lines
// (CR) what remains, no other controls but tab and LF (SEC-5). Escape sequences end with their line at the latest.
func clean(b []byte) string {
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	if !controls(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	for line := range strings.SplitAfterSeq(s, "\n") {
		if !controls(line) {
			out.WriteString(line)
			continue
		}
		body, end := strings.CutSuffix(line, "\n")
		body = strings.TrimRight(ansi.Strip(plainer(body)), "\r")
		body = body[strings.LastIndexByte(body, '\r')+1:]
		var l []rune
		for _, r := range body {
			switch {
			case r == '\b':
				l = l[:max(0, len(l)-1)]
			case r == '\t' || r >= 0x20 && r != 0x7f && (r < 0x80 || r >= 0xa0):
				l = append(l, r)
			}
		}
		out.WriteString(string(l))
		if end {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// plainer writes the one-character controls of C1 as the escape sequences they stand for, and ends a control string
// (a title, a link) that was never finished where the line is overwritten: CAN aborts a sequence.
func plainer(s string) string {
	return strings.NewReplacer("\r", "\x18\r", "\u009b", "\x1b[", "\u009d", "\x1b]", "\u0090", "\x1bP", "\u009c", "\x1b\\").Replace(s)
}

func controls(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 && c != '\n' && c != '\t' || c == 0x7f || c == 0xc2 && i+1 < len(s) && s[i+1] < 0xa0 {
			return true
		}
	}
	return false
}

func lossy(b []byte) bool { return !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 }

// printed turns what a command wrote into text with head and tail, and keeps the raw bytes when the text is less than they.
func (p *prep) printed(r *Result, o output) string {
	var text, mark string // mark stands at gap
	gap := 0
	if o.missed > 0 {
		text = clean(o.head)
		gap = len(text)
		mark = fmt.Sprintf("\n[%s discarded here]\n", plural(o.missed, "byte", "bytes"))
		text += mark + clean(o.tail)
	} else {
		text = clean(append(o.head, o.tail...))
	}
	half := wholeRoom().half()
	from, to := half.head(text), half.tail(text)
	if fits := wholeRoom().head(text) == len(text); fits {
		from, to = len(text), len(text)
	}
	to = max(from, to)
	if cut := to - from; cut > 0 || o.missed > 0 {
		if from <= gap && gap+len(mark) <= to {
			cut -= len(mark)
		}
		r.LeftOut.Bytes = int64(cut) + o.missed
		r.LeftOut.Lines = max(o.lines-int64(strings.Count(text[:from], "\n")+strings.Count(text[to:], "\n")), 0)
	}
	problem := ""
	if r.LeftOut.Bytes > 0 || lossy(o.head) || lossy(o.tail) {
		raw := append(append(make([]byte, 0, len(o.head)+len(o.tail)), o.head...), o.tail...)
		problem = p.keepFull(r, raw, o.missed)
	}
	if to > from {
		words := p.rest(r.LeftOut)
		if o.missed > 0 {
			words += fmt.Sprintf(" (but for %s that were discarded)", plural(o.missed, "byte", "bytes"))
		}
		if problem != "" {
			words += "; " + problem
		}
		text = newline(text[:from]) + "[" + words + "]\n" + text[to:]
	}
	return text
}

// newline ends a text's last line, if it has one.
func newline(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
