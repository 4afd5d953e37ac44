package tools

import (
	"bytes"
	"errors"
	"sort"
	"strings"
	"unicode/utf8"
)

const bom = "\uFEFF"

// document is an editable text file: UTF-8, with or without a byte order mark, whatever its line endings.
type document struct {
	mark bool
	raw  string // without the mark
}

// parseDocument refuses what an edit would damage (TOOL-3); the error ends a sentence that begins with the path.
func parseDocument(b []byte) (document, error) {
	if why := undecodable(b); why != "" {
		return document{}, errNotFile(why + "; it is not edited, so that nothing is lost (use bash)")
	}
	raw, mark := strings.CutPrefix(string(b), bom)
	return document{mark, raw}, nil
}

func (d document) bytes() []byte {
	if d.mark {
		return []byte(bom + d.raw)
	}
	return []byte(d.raw)
}

// undecodable says why bytes are no UTF-8 text, or nothing when they are.
func undecodable(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}), bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return "is UTF-16"
	case bytes.IndexByte(b, 0) >= 0:
		return "is binary (it holds NUL bytes)"
	case !utf8.Valid(b):
		return "is not valid UTF-8 (binary, or an encoding such as Latin-1, GBK or Shift-JIS)"
	}
	return ""
}

// lfView is a text with LF line ends only, and the way back: models write LF, files may hold CRLF or a mixture, and
// what an edit does not touch keeps its bytes.
type lfView struct {
	text string
	crs  []int // where in text a LF stands for CRLF, ascending
}

func viewOf(raw string) lfView {
	if !strings.Contains(raw, "\r\n") {
		return lfView{text: raw}
	}
	v := lfView{}
	var b strings.Builder
	b.Grow(len(raw))
	for {
		i := strings.Index(raw, "\r\n")
		if i < 0 {
			break
		}
		b.WriteString(raw[:i])
		v.crs = append(v.crs, b.Len())
		b.WriteByte('\n')
		raw = raw[i+2:]
	}
	b.WriteString(raw)
	v.text = b.String()
	return v
}

// rawAt is the place in the raw text of a place in the view. The place of a CRLF's LF is its CR.
func (v lfView) rawAt(i int) int { return i + sort.SearchInts(v.crs, i) }

// crlf says which line end new text in a span takes: that of most lines it replaces, else of most lines of the file.
func (v lfView) crlf(from, to int) bool {
	n := sort.SearchInts(v.crs, to) - sort.SearchInts(v.crs, from)
	if lines := strings.Count(v.text[from:to], "\n"); lines > 0 {
		return 2*n > lines
	}
	return 2*len(v.crs) > strings.Count(v.text, "\n")
}

func (v lfView) line(i int) int { return 1 + strings.Count(v.text[:i], "\n") }

func toLF(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// keepEnd gives back the final newline to a text that lost it in an edit (TOOL-3).
func keepEnd(before, after string) string {
	if after == "" || !strings.HasSuffix(before, "\n") || strings.HasSuffix(after, "\n") {
		return after
	}
	if strings.HasSuffix(before, "\r\n") {
		return after + "\r\n"
	}
	return after + "\n"
}

// rewrite is the content for a whole-file write over d: its byte order mark and its CRLF lines stay, and said tells so.
func (d document) rewrite(content string) (out document, said string) {
	content, given := strings.CutPrefix(content, bom)
	out = document{d.mark || given, content}
	if v := viewOf(d.raw); len(v.crs) > 0 && v.crlf(0, 0) && !strings.Contains(content, "\r\n") && strings.Contains(content, "\n") {
		out.raw = strings.ReplaceAll(content, "\n", "\r\n")
		said = "CRLF line endings kept"
	}
	if d.mark && !given {
		if said != "" {
			said += ", "
		}
		said += "byte order mark kept"
	}
	return out, said
}

var errNoChange = errors.New("old_string and new_string are the same (line endings are kept as the file has them); nothing to change")
