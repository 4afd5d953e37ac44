package export

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"varve/internal/tui/markdown"
)

// markdown writes Markdown as HTML. goldmark's own renderer leaves out what is
// raw HTML; here it stands as it was written, as text, and so do images: nothing
// is loaded. A link leads to a web page or a mail address, or is no link.
func (h *writer) markdown(s string) {
	src := []byte(strings.Trim(s, "\n"))
	h.raw(`<div class="md">` + "\n")
	m := mdWriter{h, src}
	m.children(markdown.Parse(src))
	h.raw("</div>\n")
}

type mdWriter struct {
	*writer
	src []byte
}

func (m mdWriter) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		m.node(c)
	}
}

// in writes what a node holds between two tags.
func (m mdWriter) in(tag string, n ast.Node) {
	m.raw("<" + tag + ">")
	m.children(n)
	tag, _, _ = strings.Cut(tag, " ")
	m.raw("</" + tag + ">")
}

func (m mdWriter) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		m.in("h"+strconv.Itoa(min(n.Level+1, 6)), n)
	case *ast.ThematicBreak:
		m.raw("<hr>")
	case *ast.Paragraph:
		m.in("p", n)
	case *ast.TextBlock:
		m.children(n)
	case *ast.Blockquote:
		m.in("blockquote", n)
	case *ast.List:
		switch {
		case n.IsOrdered() && n.Start != 1:
			m.in(`ol start="`+strconv.Itoa(n.Start)+`"`, n)
		case n.IsOrdered():
			m.in("ol", n)
		default:
			m.in("ul", n)
		}
	case *ast.ListItem:
		m.in("li", n)
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = string(n.Info.Segment.Value(m.src))
		}
		m.codeBlock(info, m.lines(n))
	case *ast.CodeBlock:
		m.codeBlock("", m.lines(n))
	case *ast.HTMLBlock:
		text := m.lines(n)
		if n.HasClosure() {
			text += string(n.ClosureLine.Value(m.src))
		}
		m.codeBlock("html", text)
	case *extast.Table:
		m.table(n)
	default:
		m.inline(n)
		return
	}
	m.raw("\n")
}

func (m mdWriter) codeBlock(info, text string) {
	text = strings.TrimSuffix(text, "\n")
	if lang, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(info)), " "); lang == "diff" || lang == "patch" {
		m.code("diff", text, "diff")
		return
	}
	m.code(info, text, "")
}

func (m mdWriter) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		b.Write(seg.Value(m.src))
	}
	return b.String()
}

func (m mdWriter) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		v := n.Segment.Value(m.src)
		if n.IsRaw() {
			m.text(string(v))
		} else {
			m.text(markdown.Text(v))
		}
		switch {
		case n.HardLineBreak():
			m.raw("<br>\n")
		case n.SoftLineBreak():
			m.raw("\n")
		}
	case *ast.String:
		m.text(clean(string(n.Value)))
	case *ast.CodeSpan:
		m.raw("<code>")
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				v := string(t.Segment.Value(m.src))
				if inTable(n) {
					v = strings.ReplaceAll(v, `\|`, "|")
				}
				m.text(strings.ReplaceAll(v, "\n", " "))
			}
		}
		m.raw("</code>")
	case *ast.Emphasis:
		tag := "em"
		if n.Level >= 2 {
			tag = "strong"
		}
		m.in(tag, n)
	case *extast.Strikethrough:
		m.in("del", n)
	case *ast.Link:
		m.link(n, markdown.Text(n.Destination))
	case *ast.Image:
		m.raw(`<span class="raw">image: </span>`)
		m.link(n, markdown.Text(n.Destination))
	case *ast.AutoLink:
		label := clean(string(n.Label(m.src)))
		to := clean(string(n.URL(m.src)))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(to), "mailto:") {
			to = "mailto:" + to
		}
		if open := m.anchor(to); open != "" {
			m.raw(open).text(label).raw("</a>")
		} else {
			m.text(label)
		}
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			seg := n.Segments.At(i)
			b.Write(seg.Value(m.src))
		}
		switch tag := strings.ToLower(b.String()); tag {
		case "<br>", "<br/>", "<br />":
			m.raw("<br>\n")
		default:
			m.raw(`<span class="raw">`).text(b.String()).raw("</span>")
		}
	default:
		m.children(n)
	}
}

func inTable(n ast.Node) bool {
	for ; n != nil; n = n.Parent() {
		if _, ok := n.(*extast.TableCell); ok {
			return true
		}
	}
	return false
}

// link writes a link's text, and where it leads if the text says otherwise
// (SEC-5).
func (m mdWriter) link(n ast.Node, to string) {
	inside := mdWriter{&writer{}, m.src}
	inside.children(n)
	open := m.anchor(to)
	if open == "" {
		m.raw(inside.b.String())
	} else {
		m.raw(open + inside.b.String() + "</a>")
	}
	shown := (&writer{}).text(to)
	if to != "" && bare(shown.b.String()) != bare(inside.b.String()) {
		m.raw(` <span class="to">(`).text(to).raw(")</span>")
	}
}

func bare(s string) string {
	for _, scheme := range [...]string{"https://", "http://", "mailto:"} {
		s = strings.TrimPrefix(s, scheme)
	}
	return strings.TrimSuffix(s, "/")
}

// anchor opens a link, or is "" where the target is none that may be opened.
func (m mdWriter) anchor(to string) string {
	low := strings.ToLower(to)
	if !strings.HasPrefix(low, "https://") && !strings.HasPrefix(low, "http://") && !strings.HasPrefix(low, "mailto:") {
		return ""
	}
	h := (&writer{}).raw(`<a rel="noopener noreferrer" href="`).text(to).raw(`">`)
	return h.b.String()
}

func (m mdWriter) table(n *extast.Table) {
	m.raw(`<div class="wide"><table>`)
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		m.raw("<tr>")
		i := 0
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			tag, class := "td", ""
			if row.PreviousSibling() == nil {
				tag = "th"
			}
			if i < len(n.Alignments) {
				switch n.Alignments[i] {
				case extast.AlignRight:
					class = ` class="right"`
				case extast.AlignCenter:
					class = ` class="center"`
				}
			}
			m.raw("<" + tag + class + ">")
			m.children(cell)
			m.raw("</" + tag + ">")
			i++
		}
		m.raw("</tr>\n")
	}
	m.raw("</table></div>")
}
