package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Two extensions of GitHub's Markdown (GFM §4.10 and §6.5). goldmark has them in its package extension, which takes a
// millisecond to initialize, a fifth of what the whole program may take (PERF-13).

// strikethrough parses ~~text~~ and ~text~.
type strikethrough struct{}

func (strikethrough) Trigger() []byte         { return []byte{'~'} }
func (strikethrough) IsDelimiter(b byte) bool { return b == '~' }
func (strikethrough) OnMatch(int) ast.Node    { return extast.NewStrikethrough() }
func (strikethrough) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char && opener.OriginalLength == closer.OriginalLength
}

func (s strikethrough) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	node := parser.ScanDelimiter(line, before, 1, s)
	if node == nil || node.OriginalLength > 2 || before == '~' {
		return nil
	}
	node.Segment = segment.WithStop(segment.Start + node.OriginalLength)
	block.Advance(node.OriginalLength)
	pc.PushDelimiter(node)
	return node
}

// tables turns the end of a paragraph into a table if a delimiter row follows its header row. Rows before stay a
// paragraph, as in goldmark.
type tables struct{}

func (tables) Transform(node *ast.Paragraph, reader text.Reader, _ parser.Context) {
	src, lines := reader.Source(), node.Lines()
	for i := 1; i < lines.Len(); i++ {
		delimiter := lines.At(i)
		align := alignments(delimiter.Value(src))
		if align == nil {
			continue
		}
		header := cells(lines.At(i-1), src)
		if len(header) != len(align) {
			return
		}
		table := extast.NewTable()
		table.Alignments = align
		table.SetPos(node.Pos())
		for j := i - 1; j < lines.Len(); j++ {
			if j == i {
				continue
			}
			row := extast.NewTableRow(align)
			row.SetPos(lines.At(j).Start)
			for k, seg := range cells(lines.At(j), src) {
				if k < len(align) {
					cell := extast.NewTableCell()
					cell.SetPos(seg.Start)
					cell.Lines().Append(seg)
					row.AppendChild(row, cell)
				}
			}
			table.AppendChild(table, row)
		}
		parent := node.Parent()
		parent.InsertAfter(parent, node, table)
		if i == 1 {
			table.SetBlankPreviousLines(node.HasBlankPreviousLines())
			parent.RemoveChild(parent, node)
			return
		}
		lines.SetSliced(0, i-1)
		last := lines.At(i - 2)
		lines.Set(i-2, last.TrimRightSpace(src))
		return
	}
}

// alignments reads a delimiter row such as "|---|:-:|"; nil if line is none.
func alignments(line []byte) []extast.Alignment {
	if w, _ := util.IndentWidth(line, 0); w > 3 || bytes.IndexByte(line, '-') < 0 || !bytes.ContainsAny(line, "|:") {
		return nil
	}
	row := bytes.TrimSpace(line)
	row = bytes.TrimSuffix(bytes.TrimPrefix(row, []byte("|")), []byte("|"))
	var out []extast.Alignment
	for col := range bytes.SplitSeq(row, []byte("|")) {
		col = bytes.TrimSpace(col)
		dashes := bytes.TrimSuffix(bytes.TrimPrefix(col, []byte(":")), []byte(":"))
		if len(dashes) == 0 || len(bytes.Trim(dashes, "-")) > 0 {
			return nil
		}
		left, right := col[0] == ':', col[len(col)-1] == ':'
		switch {
		case left && right:
			out = append(out, extast.AlignCenter)
		case right:
			out = append(out, extast.AlignRight)
		default:
			out = append(out, extast.AlignLeft)
		}
	}
	return out
}

// cells cuts a row at its pipes, but for escaped ones.
func cells(row text.Segment, src []byte) []text.Segment {
	row = row.TrimLeftSpace(src)
	row = row.TrimRightSpace(src)
	pos, end := row.Start, row.Stop
	if pos < end && src[pos] == '|' {
		pos++
	}
	if end > pos && src[end-1] == '|' && src[max(end-2, 0)] != '\\' {
		end--
	}
	var out []text.Segment
	for from := pos; pos <= end; pos++ {
		if pos < end && (src[pos] != '|' || pos > from && src[pos-1] == '\\') {
			continue
		}
		cell := text.NewSegment(from, pos)
		cell = cell.TrimLeftSpace(src)
		out = append(out, cell.TrimRightSpace(src))
		from = pos + 1
	}
	return out
}
