package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

func prepareWrite(ctx context.Context, p *prep) (step, error) {
	at, err := p.writable(p.args.str("file_path"))
	if err != nil {
		return nil, err
	}
	c, err := p.look(ctx, at, false)
	if err != nil {
		return nil, err
	}
	content := p.args.str("content")
	if len(content) > maxEdit {
		return nil, fmt.Errorf("content is larger than %s; use bash", size(maxEdit))
	}
	after, said := []byte(content), ""
	if c.info != nil {
		d, err := parseDocument(c.data)
		if err != nil {
			return nil, fmt.Errorf("%s %w", at.Name, err)
		}
		d, said = d.rewrite(content)
		after = d.bytes()
	}
	p.showChange(c, after)
	return func(context.Context, Progress) Result {
		if c.info != nil && string(after) == string(c.data) {
			return Result{Text: []byte(p.rel(at.Real) + " already has this content; nothing was written")}
		}
		verb := "created"
		if c.info != nil {
			verb = "wrote"
		}
		words := fmt.Sprintf("%s %s (%s, %s)", verb, p.rel(at.Real), plural(lineCount(string(after)), "line", "lines"), size(int64(len(after))))
		return p.stored(c, after, words, said)
	}, nil
}

func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

func (p *prep) stored(c current, after []byte, words string, notes ...string) (r Result) {
	if err := p.replace(c, after, &r); err != nil {
		return refuse(fmt.Errorf("%s: %w", p.call.Name, err))
	}
	if c.links > 1 {
		notes = append(notes, fmt.Sprintf("the file had %d hard links; only this name was changed", c.links))
	}
	for _, n := range notes {
		if n != "" {
			words += "\nnote: " + n
		}
	}
	r.Text = []byte(words)
	return r
}

// change is one replacement the model asked for.
type change struct {
	from, to string
	all      bool
}

func changeOf(a args) change {
	return change{a.str("old_string"), a.str("new_string"), a.is("replace_all")}
}

func prepareEdit(ctx context.Context, p *prep) (step, error) {
	return p.edits(ctx, []change{changeOf(p.args)}, func(int) string { return "" })
}

func prepareMultiedit(ctx context.Context, p *prep) (step, error) {
	var cs []change
	for _, a := range p.args.list("edits") {
		cs = append(cs, changeOf(a))
	}
	if cs == nil {
		return nil, errors.New("edits is empty; nothing to change")
	}
	return p.edits(ctx, cs, func(i int) string { return fmt.Sprintf("edit %d of %d: ", i+1, len(cs)) })
}

func (p *prep) edits(ctx context.Context, cs []change, name func(int) string) (step, error) {
	at, err := p.writable(p.args.str("file_path"))
	if err != nil {
		return nil, err
	}
	c, err := p.look(ctx, at, true)
	if err != nil {
		return nil, err
	}
	d, err := parseDocument(c.data)
	if err != nil {
		return nil, fmt.Errorf("%s %w", at.Name, err)
	}
	var said []string
	raw := d.raw
	for i, ch := range cs {
		out, words, err := ch.apply(raw)
		if err != nil {
			none := ""
			if len(cs) > 1 {
				none = "; none of the edits was made"
			}
			return nil, fmt.Errorf("%s%w%s", name(i), err, none)
		}
		raw = out
		said = append(said, name(i)+words)
	}
	d.raw = keepEnd(d.raw, raw)
	after := d.bytes()
	if string(after) == string(c.data) {
		return nil, errors.New("the file would not change; nothing was written")
	}
	p.showChange(c, after)
	return func(context.Context, Progress) Result {
		return p.stored(c, after, "edited "+p.rel(at.Real)+": "+strings.Join(said, "\n"))
	}, nil
}

// apply makes one replacement in a raw text. The error says how to do better; the words say what was done.
func (ch change) apply(raw string) (out, words string, err error) {
	from, to := toLF(ch.from), toLF(ch.to)
	v := viewOf(raw)
	switch {
	case from == "":
		return "", "", errors.New("old_string is empty; give the text to replace (write makes whole files)")
	case from == to:
		return "", "", errNoChange
	}
	at := places(v.text, from, ch.all)
	if len(at) > 1 && !ch.all {
		return "", "", fmt.Errorf("old_string matches %d times, at lines %s; include more context so that it matches once, or set replace_all",
			len(at), v.lines(at))
	}
	if len(at) > 0 {
		spans := make([]span, len(at))
		for i, a := range at {
			spans[i] = span{a, a + len(from), to}
		}
		return v.splice(raw, spans), plural(len(at), "replacement", "replacements") + " at " + lineWord(len(at)) + v.lines(at), nil
	}
	near := loose(v.text, from)
	switch {
	case len(near) == 0:
		return "", "", errors.New("old_string is not in the file, not even with other whitespace; read the file again and copy the text exactly")
	case len(near) > 1:
		var starts []int
		for _, s := range near {
			starts = append(starts, s.from)
		}
		return "", "", fmt.Errorf("old_string is not in the file exactly, and %d places match but for whitespace, at lines %s; copy the text exactly, with more context",
			len(near), v.lines(starts))
	}
	s, ok := refit(v.text, near[0], from, to)
	if !ok {
		return "", "", fmt.Errorf("old_string is not in the file exactly; line %d differs from it in whitespace, and the indentation of new_string can't be told from that: copy the text exactly, without line numbers",
			v.line(near[0].from))
	}
	if s.to == v.text[s.from:s.end] {
		return "", "", errNoChange
	}
	first, last := v.line(s.from), v.line(max(s.end-1, s.from))
	words = fmt.Sprintf("1 replacement at line %d. old_string matched only but for whitespace (lines %d-%d)", first, first, last)
	if s.to == "" {
		words += "; they are removed"
	} else {
		words += "; new_string was given the file's indentation and reads now:\n" + excerpt(s)
	}
	return v.splice(raw, []span{s}), words, nil
}

func lineWord(n int) string {
	if n == 1 {
		return "line "
	}
	return "lines "
}

// lines lists line numbers, at most twenty.
func (v lfView) lines(at []int) string {
	var b strings.Builder
	for i, a := range at {
		if i == 20 {
			fmt.Fprintf(&b, " and %d more", len(at)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, v.line(a))
	}
	return b.String()
}

// places finds s. Overlapping matches count when one is wanted: "aa" in "aaa" is ambiguous.
func places(text, s string, apart bool) (at []int) {
	for i := 0; ; {
		j := strings.Index(text[i:], s)
		if j < 0 {
			return at
		}
		at = append(at, i+j)
		if i += j + 1; apart {
			i += len(s) - 1
		}
	}
}

// span is text[from:end] of a view and what takes its place.
type span struct {
	from, end int
	to        string
}

func (v lfView) splice(raw string, spans []span) string {
	var b strings.Builder
	b.Grow(len(raw))
	done := 0
	for _, s := range spans {
		b.WriteString(raw[done:v.rawAt(s.from)])
		if v.crlf(s.from, s.end) {
			b.WriteString(strings.ReplaceAll(s.to, "\n", "\r\n"))
		} else {
			b.WriteString(s.to)
		}
		done = v.rawAt(s.end)
	}
	b.WriteString(raw[done:])
	return b.String()
}

// loose finds where s would match if any run of whitespace matched any other. The span runs from its first to its
// last printing character. Too little text to be sure of (one short word) matches nowhere.
func loose(text, s string) (found []span) {
	words := strings.Fields(s)
	if len(words) == 0 || len(words) == 1 && len(words[0]) < 8 {
		return nil
	}
	lead, trail := isSpace(s[0]), isSpace(s[len(s)-1])
	for i := 0; ; {
		j := strings.Index(text[i:], words[0])
		if j < 0 {
			return found
		}
		start := i + j
		i = start + 1
		if lead && start > 0 && !isSpace(text[start-1]) {
			continue
		}
		end, ok := follow(text, start+len(words[0]), words[1:])
		if !ok || trail && end < len(text) && !isSpace(text[end]) {
			continue
		}
		found = append(found, span{from: start, end: end})
	}
}

func follow(text string, at int, words []string) (end int, ok bool) {
	for _, w := range words {
		next := at
		for next < len(text) && isSpace(text[next]) {
			next++
		}
		if next == at || !strings.HasPrefix(text[next:], w) {
			return 0, false
		}
		at = next + len(w)
	}
	return at, true
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}

// refit makes a loose span the place of new text, in the file's indentation. A
// span inside a line takes its place as it is, if both are of one line; else
// it is whole lines, which have to correspond to the model's one by one, the
// empty ones at both ends too. It is not ok where that is not so, or where the
// indentation of a new line can't be known.
func refit(text string, s span, from, to string) (span, bool) {
	start := strings.LastIndexByte(text[:s.from], '\n') + 1
	end := len(text)
	if i := strings.IndexByte(text[s.end:], '\n'); i >= 0 {
		end = s.end + i
	}
	from, to = strings.TrimRight(from, " \t"), strings.TrimRight(to, " \t")
	if strings.TrimSpace(text[start:s.from]) != "" || strings.TrimSpace(text[s.end:end]) != "" {
		if strings.Contains(from, "\n") || strings.Contains(to, "\n") || strings.Contains(text[s.from:s.end], "\n") {
			return s, false
		}
		s.to = strings.TrimSpace(to)
		return s, true
	}
	wrote := strings.Split(from, "\n")
	before, after := 0, 0 // empty lines of the model's, and ends of lines after its last word
	for strings.TrimSpace(wrote[before]) == "" {
		before++
	}
	for strings.TrimSpace(wrote[len(wrote)-1-after]) == "" {
		after++
	}
	m, ok := learn(strings.Split(text[start:s.end], "\n"), wrote[before:len(wrote)-after])
	if !ok {
		return s, false
	}
	lines, ok := m.fit(strings.Split(to, "\n"))
	if !ok {
		return s, false
	}
	s.from, s.to = start, strings.Join(lines, "\n")
	for range before {
		i := strings.LastIndexByte(text[:max(s.from-1, 0)], '\n') + 1
		if s.from == 0 || strings.TrimSpace(text[i:s.from]) != "" {
			return s, false
		}
		s.from = i
	}
	for range after {
		i := strings.IndexByte(text[s.end:], '\n')
		if i < 0 || strings.TrimSpace(text[s.end:s.end+i]) != "" {
			return s, false
		}
		s.end += i + 1
	}
	return s, true
}

// excerpt is what now stands in place of a span, at most twelve lines of it.
func excerpt(s span) string {
	lines := strings.Split(strings.TrimSuffix(s.to, "\n"), "\n")
	if len(lines) > 12 {
		lines = append(lines[:11:11], fmt.Sprintf("… %d more lines", len(lines)-11))
	}
	return strings.Join(lines, "\n")
}

// missing says that a file is not there, and what is near.
func (p *prep) missing(at Path) string {
	words := at.Name + " does not exist"
	if names := nearNames(filepath.Dir(at.Real), filepath.Base(at.Real)); names != nil {
		for i, n := range names {
			names[i] = p.rel(filepath.Join(filepath.Dir(at.Real), n))
		}
		words += "; near it: " + strings.Join(names, ", ")
	} else if up := p.lastFolder(at.Real); up != filepath.Dir(at.Real) {
		words += "; the last folder that exists is " + p.rel(up)
	}
	return words
}
