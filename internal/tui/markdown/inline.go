package markdown

import (
	"bytes"
	"sort"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"varve/internal/tui/plain"
)

// A flow is text with styles, before it is cut into lines; a newline in it is a hard break.
type flow struct {
	text []byte
	runs []run
}

// A run ends at a byte of the text and begins where the one before ends.
type run struct {
	end   int
	style string
}

func (f *flow) add(s, style string) {
	if s == "" {
		return
	}
	f.text = append(f.text, s...)
	if k := len(f.runs) - 1; k >= 0 && f.runs[k].style == style {
		f.runs[k].end = len(f.text)
		return
	}
	f.runs = append(f.runs, run{len(f.text), style})
}

// paint appends the part of text from..to in its styles to dst, and leaves no style on.
func paint(dst []byte, text string, runs []run, from, to int) []byte {
	i := sort.Search(len(runs), func(i int) bool { return runs[i].end > from })
	for from < to {
		end, style := to, ""
		if i < len(runs) {
			end, style = min(to, runs[i].end), runs[i].style
			i++
		}
		dst = append(dst, style...)
		dst = append(dst, text[from:end]...)
		if style != "" {
			dst = append(dst, "\x1b[m"...)
		}
		from = end
	}
	return dst
}

// inline adds the inline content of n.
func (r *renderer) inline(f *flow, n ast.Node, style string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			v := c.Segment.Value(r.src)
			if c.IsRaw() {
				f.add(oneLine(string(v)), style)
			} else {
				f.add(oneLine(unescape(v)), style)
			}
			switch {
			case c.HardLineBreak():
				f.add("\n", style)
			case c.SoftLineBreak():
				f.add(" ", style)
			}
		case *ast.String:
			f.add(oneLine(string(c.Value)), style)
		case *ast.CodeSpan:
			r.codeSpan(f, c, style)
		case *ast.Emphasis:
			if c.Level >= 2 {
				r.marked(f, c, style, r.theme.Strong, "**")
			} else {
				r.marked(f, c, style, r.theme.Emph, "*")
			}
		case *extast.Strikethrough:
			r.marked(f, c, style, r.theme.Strike, "~~")
		case *ast.Link:
			r.link(f, c, string(c.Destination), style)
		case *ast.Image:
			f.add("image: ", style+r.theme.Dim)
			r.link(f, c, string(c.Destination), style)
		case *ast.AutoLink:
			f.add(oneLine(string(c.Label(r.src))), style+r.theme.Link)
		case *ast.RawHTML:
			var b strings.Builder
			for i := range c.Segments.Len() {
				seg := c.Segments.At(i)
				b.Write(seg.Value(r.src))
			}
			switch tag := strings.ToLower(b.String()); tag {
			case "<br>", "<br/>", "<br />":
				f.add("\n", style)
			default:
				f.add(oneLine(b.String()), style+r.theme.Dim)
			}
		default:
			r.inline(f, c, style)
		}
	}
}

// marked adds content in a style, or between its Markdown marks where the theme has none.
func (r *renderer) marked(f *flow, n ast.Node, style, own, mark string) {
	if own != "" {
		r.inline(f, n, style+own)
		return
	}
	f.add(mark, style)
	r.inline(f, n, style)
	f.add(mark, style)
}

func (r *renderer) codeSpan(f *flow, n ast.Node, style string) {
	mark := ""
	if r.theme.Code == "" {
		mark = "`"
	}
	f.add(mark, style)
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			v := string(t.Segment.Value(r.src))
			if r.inTable {
				v = strings.ReplaceAll(v, `\|`, "|")
			}
			f.add(oneLine(v), style+r.theme.Code)
		}
	}
	f.add(mark, style)
}

// link adds a link's text and, unless the text says the same, where it leads (SEC-5).
func (r *renderer) link(f *flow, n ast.Node, target, style string) {
	from := len(f.text)
	r.inline(f, n, style+r.theme.Link)
	target = oneLine(target)
	bare := func(s string) string {
		for _, scheme := range [...]string{"https://", "http://", "mailto:"} {
			s = strings.TrimPrefix(s, scheme)
		}
		return strings.TrimSuffix(s, "/")
	}
	shown := string(f.text[from:])
	switch {
	case target == "", shown == target, bare(target) == shown, bare(target) == bare(shown) && strings.HasPrefix(shown, "http"):
	case shown == "":
		f.add(target, style+r.theme.Link)
	default:
		f.add(" (", style)
		f.add(target, style+r.theme.URL)
		f.add(")", style)
	}
}

// oneLine makes inline content safe and keeps it on its line. What entities stand for was not cleaned before (SEC-5).
func oneLine(s string) string {
	s = plain.CleanTabs(s, 1)
	if strings.IndexByte(s, '\n') >= 0 {
		s = strings.ReplaceAll(s, "\n", " ")
	}
	return s
}

// unescape resolves backslash escapes and entities, in one pass.
func unescape(v []byte) string {
	if bytes.IndexByte(v, '\\') < 0 && bytes.IndexByte(v, '&') < 0 {
		return string(v)
	}
	out := make([]byte, 0, len(v))
	for i := 0; i < len(v); i++ {
		switch {
		case v[i] == '\\' && i+1 < len(v) && util.IsPunct(v[i+1]):
			i++
			out = append(out, v[i])
		case v[i] == '&':
			end := bytes.IndexByte(v[i:min(len(v), i+40)], ';')
			if end < 0 {
				out = append(out, '&')
				continue
			}
			entity := v[i : i+end+1]
			out = append(out, util.ResolveEntityNames(util.ResolveNumericReferences(entity))...)
			i += end
		default:
			out = append(out, v[i])
		}
	}
	return string(out)
}
