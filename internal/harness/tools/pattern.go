package tools

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// matcher finds lines. A pattern is rewritten so that it can't reach over a line's end; then a whole block can be
// searched at once, and where every match must hold one of a few literals, those are looked for first.
type matcher struct {
	re   *regexp.Regexp // nil: a literal alone decides
	must []literal      // one of them is in every matching line; empty: nothing is known
}

// literal is plain text. A folded one is lower-case ASCII, of letters that have no other case outside ASCII.
type literal struct {
	text []byte
	fold bool
}

func newMatcher(pattern string, literal, ignoreCase bool) (*matcher, error) {
	if literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	flags := syntax.PerlX | syntax.UnicodeGroups // as Perl, but ^ and $ are a line's, and [^a] is no newline
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		var se *syntax.Error
		if errors.As(err, &se) {
			return nil, fmt.Errorf("pattern is not a valid regular expression: %s: %q (RE2 syntax; set literal for plain text)", se.Code, clip(se.Expr, 100))
		}
		return nil, err
	}
	if err := inLine(tree); err != nil {
		return nil, err
	}
	m := &matcher{}
	var whole bool
	if m.must, whole = needles(tree); whole {
		return m, nil
	}
	if m.re, err = regexp.Compile("(?m)" + tree.String()); err != nil {
		return nil, fmt.Errorf("pattern is too large or not valid: %w", err)
	}
	return m, nil
}

// inLine takes the newline out of everything in a pattern that could match one.
func inLine(re *syntax.Regexp) error {
	switch re.Op {
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '\n') {
			return errors.New("pattern holds a newline, but grep matches within a line; search for one of the lines")
		}
	case syntax.OpCharClass:
		var rs []rune
		for i := 0; i < len(re.Rune); i += 2 {
			lo, hi := re.Rune[i], re.Rune[i+1]
			if lo > '\n' || hi < '\n' {
				rs = append(rs, lo, hi)
				continue
			}
			if lo < '\n' {
				rs = append(rs, lo, '\n'-1)
			}
			if hi > '\n' {
				rs = append(rs, '\n'+1, hi)
			}
		}
		if re.Rune = rs; len(rs) == 0 {
			re.Op = syntax.OpNoMatch
		}
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op = syntax.OpEndLine
	}
	for _, sub := range re.Sub {
		if err := inLine(sub); err != nil {
			return err
		}
	}
	return nil
}

const maxNeedles = 8

// needles are literals of which every match must hold one; whole says that the pattern is nothing else.
func needles(re *syntax.Regexp) (set []literal, whole bool) {
	switch re.Op {
	case syntax.OpLiteral:
		fold := re.Flags&syntax.FoldCase != 0
		if fold && !foldable(re.Rune) {
			return nil, false
		}
		l := literal{[]byte(string(re.Rune)), fold}
		if fold {
			l.text = bytes.ToLower(l.text)
		}
		return []literal{l}, true
	case syntax.OpCapture:
		return needles(re.Sub[0])
	case syntax.OpPlus:
		set, _ = needles(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			set, _ = needles(re.Sub[0])
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			one, _ := needles(sub)
			if one == nil || len(set)+len(one) > maxNeedles {
				return nil, false
			}
			set = append(set, one...)
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if one, _ := needles(sub); worth(one) > worth(set) {
				set = one
			}
		}
	}
	return set, false
}

// worth is how rare a set is likely to be: the length of its shortest literal.
func worth(set []literal) int {
	w := 0
	for i, l := range set {
		if i == 0 || len(l.text) < w {
			w = len(l.text)
		}
	}
	return w
}

// foldable says that no letter has another case outside ASCII (as k and s have).
func foldable(lit []rune) bool {
	for _, r := range lit {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if f >= utf8.RuneSelf {
				return false
			}
		}
		if r >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// finder goes through one block of whole lines.
type finder struct {
	*matcher
	block  []byte
	places [maxNeedles]int // of each literal, the next place from where was looked; len(block) for none, -1 not looked yet
}

func (m *matcher) in(block []byte) *finder {
	f := &finder{matcher: m, block: block}
	for i := range f.places {
		f.places[i] = -1
	}
	return f
}

// next is the first matching line at or after from, which is a line's beginning and never goes back.
func (f *finder) next(from int) (start, end int, ok bool) {
	for b := f.block; from < len(b); from = end + 1 {
		at := len(b)
		if f.must != nil {
			for i, l := range f.must {
				if f.places[i] < from {
					f.places[i] = len(b)
					if j := l.index(b[from:]); j >= 0 {
						f.places[i] = from + j
					}
				}
				at = min(at, f.places[i])
			}
			if at == len(b) {
				break
			}
		} else if loc := f.re.FindIndex(b[from:]); loc == nil {
			break
		} else if at = from + loc[0]; at == len(b) && b[at-1] == '\n' {
			break // an empty match after the last newline is no line
		}
		start = bytes.LastIndexByte(b[:at], '\n') + 1
		end = lineEnd(b, at)
		if f.must == nil || f.re == nil || f.re.Match(b[start:end]) {
			return start, end, true
		}
	}
	return 0, 0, false
}

func (l literal) index(b []byte) int {
	if !l.fold {
		return bytes.Index(b, l.text)
	}
	low, up := l.text[0], byte(unicode.ToUpper(rune(l.text[0])))
	nextLow, nextUp := bytes.IndexByte(b, low), -1
	if up != low {
		nextUp = bytes.IndexByte(b, up)
	}
	for {
		at := nextLow
		if at < 0 || nextUp >= 0 && nextUp < at {
			at = nextUp
		}
		if at < 0 || at+len(l.text) > len(b) {
			return -1
		}
		if bytes.EqualFold(b[at:at+len(l.text)], l.text) {
			return at
		}
		if at == nextLow {
			nextLow = after(b, at, low)
		} else {
			nextUp = after(b, at, up)
		}
	}
}

func after(b []byte, at int, c byte) int {
	if i := bytes.IndexByte(b[at+1:], c); i >= 0 {
		return at + 1 + i
	}
	return -1
}
