package export

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"strings"

	"varve/internal/tui/markdown"
)

//go:embed page.css
var css string

// htmlOf writes a page. It has no script, and its policy lets it load nothing:
// the one style is named by its hash, pictures are data.
func htmlOf(p page) string {
	h := &writer{clock: "15:04"}
	if p.days {
		h.clock = "2006-01-02 15:04"
	}
	sum := sha256.Sum256([]byte(css))
	h.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	h.raw(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-` +
		base64.StdEncoding.EncodeToString(sum[:]) + `'; img-src data:; base-uri 'none'; form-action 'none'">` + "\n")
	h.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n")
	h.raw("<title>").text(p.title).raw("</title>\n<style>" + css + "</style>\n</head>\n<body>\n<header>\n<h1>").text(p.title).raw("</h1>\n<dl>\n")
	for _, f := range p.facts {
		h.raw("<dt>").text(f[0]).raw("</dt><dd>").text(f[1]).raw("</dd>\n")
	}
	h.raw("</dl>\n")
	if p.missing != "" {
		h.raw(`<p class="missing"><strong>Not all of it is here.</strong> `).text(p.missing).raw("</p>\n")
	}
	h.raw("</header>\n<main>\n")
	agent := false // its name stands above already
	for _, x := range p.blocks {
		switch speaks(x) {
		case "You":
			agent = false
		case "Agent":
			if !agent && !x.final {
				h.who("Agent", x)
			}
			agent = true
		}
		h.block(x)
	}
	h.raw("</main>\n<footer>Exported by Varve. Times are UTC.</footer>\n</body>\n</html>\n")
	return h.b.String()
}

// A writer writes HTML: raw is markup of ours, text is anybody's.
type writer struct {
	b     strings.Builder
	clock string // how times are written
}

func (h *writer) raw(s string) *writer { h.b.WriteString(s); return h }

func (h *writer) text(s string) *writer { h.b.WriteString(html.EscapeString(s)); return h }

func (h *writer) who(name string, x *block) {
	h.raw(`<div class="who"><span>`).text(name).raw("</span>")
	if x.kind == said && x.mark != "" {
		h.raw("<em>").text(x.mark).raw("</em>")
	}
	h.raw(`<time datetime="` + x.at.UTC().Format("2006-01-02T15:04:05Z") + `">` + x.at.UTC().Format(h.clock) + "</time></div>\n")
}

func (h *writer) block(x *block) {
	class := string(x.kind)
	if x.final {
		class += " final"
	}
	h.raw(`<section class="` + class + `">` + "\n")
	defer h.raw("</section>\n")
	switch {
	case x.kind == said:
		h.who("You", x)
	case x.final:
		h.who("Answer", x)
	}
	if x.lost != "" {
		h.raw(`<p class="lost">This can't be read: `).text(x.lost).raw("</p>\n")
		h.media(x.media)
		return
	}
	switch x.kind {
	case said:
		h.raw(`<div class="plain">`).text(strings.TrimRight(x.text, "\n")).raw("</div>\n")
	case answer:
		h.markdown(x.text)
		if x.mark != "" {
			h.raw(`<p class="to">(`).text(x.mark).raw(")</p>\n")
		}
	case thought:
		h.raw(`<details class="fold"><summary>Thinking</summary><div class="in musing">`).text(strings.TrimSpace(x.text)).raw("</div></details>\n")
	case summary:
		h.raw(`<details class="fold"><summary>The conversation so far was summarized (`).text(x.mark).raw(`)</summary><div class="in">`)
		h.markdown(x.text)
		h.raw("</div></details>\n")
	case todo:
		h.tasks(x.tasks)
	case changed:
		h.raw(`<p class="file">`).text(x.mark).raw("</p>\n")
		h.changes(x.changes, false)
	case notice:
		h.text(x.text).raw("\n")
	default:
		h.call(x)
	}
	h.media(x.media)
}

func (h *writer) call(x *block) {
	h.raw(`<div class="tool ` + x.state + `">`)
	inside := &writer{}
	if x.args != "" {
		inside.code("bash", x.args, "out")
	}
	if x.tasks == nil && (x.out != "" || x.left != "") && (len(x.changes) == 0 || x.state != "done") {
		if x.out != "" {
			inside.raw(`<pre class="out">`).text(strings.TrimRight(x.out, "\n")).raw("</pre>\n")
		}
		if x.left != "" {
			inside.raw(`<p class="to">`).text(x.left).raw("</p>\n")
		}
	}
	head := &writer{}
	mark := map[string]string{"done": "✓", "failed": "✗", "stopped": "■", "refused": "⊘"}[x.state]
	if mark == "" {
		mark = "○"
	}
	tail := x.tail
	if tail == "" && x.state == "open" {
		tail = "no result"
	}
	head.raw(`<span class="mark">` + mark + `</span><span class="name">`).text(x.name).raw(`</span><span class="gist">`).text(x.gist).raw("</span>")
	if tail != "" {
		head.raw(`<span class="tail">`).text(tail).raw("</span>")
	}
	if x.told() {
		head.counts(x.changes[0])
	}
	if inside.b.Len() == 0 {
		h.raw(`<div class="head">` + head.b.String() + "</div>\n")
	} else {
		h.raw("<details><summary>" + head.b.String() + "</summary><div class=\"in\">\n" + inside.b.String() + "</div></details>\n")
	}
	if x.tasks != nil {
		h.tasks(x.tasks)
	}
	if len(x.changes) > 0 {
		h.raw(`<div class="in">`)
		h.changes(x.changes, x.told())
		h.raw("</div>")
	}
	h.raw("</div>\n")
}

func (h *writer) tasks(list []task) {
	h.raw("<ul class=\"tasks\">\n")
	for _, t := range list {
		class, mark := "pending", "○"
		switch t.status {
		case "completed":
			class, mark = t.status, "✓"
		case "in_progress":
			class, mark = t.status, "◐"
		case "cancelled":
			class, mark = t.status, "–"
		}
		h.raw(`<li class="` + class + `"><span class="mark">` + mark + `</span><span>`).text(t.text).raw("</span></li>\n")
	}
	h.raw("</ul>\n")
}

func (h *writer) counts(c change) {
	if c.added+c.removed > 0 {
		h.raw(fmt.Sprintf(`<span class="count"><span class="plus">+%d</span> <span class="minus">−%d</span></span>`, c.added, c.removed))
	}
}

// changes lists files with their diffs. told says that the one file is named above.
func (h *writer) changes(all []change, told bool) {
	for _, c := range all {
		if !told {
			h.raw(`<p class="file"><span>` + c.verb() + `</span><span class="path">`).text(c.path).raw("</span>")
			h.counts(c)
			if c.note != "" {
				h.raw(`<span class="to">`).text(c.note).raw("</span>")
			}
			h.raw("</p>\n")
		}
		if c.diff != "" {
			h.code("diff", c.diff, "diff out")
		}
	}
}

func (h *writer) media(all []medium) {
	for _, m := range all {
		h.raw(`<div class="media">`)
		if m.data != nil {
			h.raw(`<img src="data:` + m.media + ";base64," + base64.StdEncoding.EncodeToString(m.data) + `" alt="`).text(m.words()).raw(`">`)
		}
		h.text(m.words()).raw("</div>\n")
	}
}

// code is code in its colours.
func (h *writer) code(info, code, class string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	h.raw("<pre" + class + "><code>")
	from := 0
	for _, s := range markdown.Colour(info, code) {
		part := code[from:s.End]
		from = s.End
		switch {
		case info == "diff": // a line is a block
			for l := range strings.Lines(part) {
				h.raw(`<span class="` + s.Class + `">`).text(strings.TrimSuffix(l, "\n")).raw("</span>")
			}
		case s.Class == "":
			h.text(part)
		default:
			h.raw(`<span class="` + s.Class + `">`).text(part).raw("</span>")
		}
	}
	h.raw("</code></pre>\n")
}
