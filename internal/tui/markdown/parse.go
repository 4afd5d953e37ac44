package markdown

import (
	"bytes"
	"sync"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// grammar is CommonMark with GFM's tables and strikethrough (a task's box is drawn as written). It has no link reference definitions: they act
// over any distance, so a finished block could change, and they hide a link's target; both are shown as written.
var grammar = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
			util.Prioritized(parser.NewHTMLBlockParser(), 900),
			util.Prioritized(parser.NewParagraphParser(), 1000)),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(newLinks(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewRawHTMLParser(), 400),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(strikethrough{}, 500)),
		parser.WithParagraphTransformers(util.Prioritized(tables{}, 200)),
	)
})

// maxDepth bounds how deep quotes nest (lists inside them counted), maxTarget how long a link's target is in bytes. Beyond them they are
// text. goldmark takes quadratic time for thousands of ">" or "[a](" in a row: seconds for 60,000 bytes.
const (
	maxDepth  = 40
	maxTarget = 4 << 10
)

// shallow opens no quote deeper than maxDepth.
type shallow struct{ parser.BlockParser }

func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// links parses links with bounded targets.
type links struct {
	parser.InlineParser
	parser.CloseBlocker
}

func newLinks() links {
	p := parser.NewLinkParser()
	return links{p, p.(parser.CloseBlocker)}
}

func (l links) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, _ := block.PeekLine()
	if len(line) > maxTarget && line[0] == ']' && line[1] == '(' && bytes.IndexByte(line[:maxTarget], ')') < 0 {
		return nil
	}
	return l.InlineParser.Parse(parent, block, pc)
}

// A unit is what is finished and drawn as a whole: a top-level block, or an item of a top-level list. Since CommonMark
// is read line by line and only the last block is open, a unit never changes once a whole line has begun the next one.
type unit struct {
	start int // in the parsed bytes: the beginning of its first line
	nodes []ast.Node
	list  *ast.List // if it is an item
	index int       // of the item in its list
}

// units parses src and cuts it.
func units(src []byte) []unit {
	var out []unit
	root := grammar().Parse(text.NewReader(src))
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if list, ok := n.(*ast.List); ok {
			i := 0
			for item := n.FirstChild(); item != nil; item = item.NextSibling() {
				out = append(out, unit{lineStart(src, item.Pos()), []ast.Node{item}, list, i})
				i++
			}
			continue
		}
		start := lineStart(src, n.Pos())
		// A table takes its header out of the paragraph before it, and a later line may still undo that.
		if k := len(out) - 1; k >= 0 && start <= out[k].start && out[k].list == nil {
			out[k].nodes = append(out[k].nodes, n)
			continue
		}
		out = append(out, unit{start: start, nodes: []ast.Node{n}})
	}
	return out
}

func lineStart(src []byte, pos int) int {
	if pos <= 0 {
		return 0
	}
	return bytes.LastIndexByte(src[:min(pos, len(src))], '\n') + 1
}

// blankBefore reports whether the line before pos is blank.
func blankBefore(src []byte, pos int) bool {
	if pos == 0 {
		return false
	}
	from := bytes.LastIndexByte(src[:pos-1], '\n') + 1
	return len(bytes.Trim(src[from:pos], " \t\n")) == 0
}

// headed reports whether n stands apart from its neighbours inside a list item or quote even without blank lines.
func headed(n ast.Node) bool {
	switch n.(type) {
	case *ast.Heading, *extast.Table:
		return true
	}
	return false
}
