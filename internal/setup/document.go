package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxBytes is the largest setup.json that is read. A real one is a few kilobytes.
const maxBytes = 8 << 20

// A FaultKind says why a file as a whole can't be used.
type FaultKind string

const (
	Unreadable FaultKind = "unreadable" // the system refused, or it is no regular file
	TooLarge   FaultKind = "too_large"
	Malformed  FaultKind = "malformed" // not JSON, or not an object on top, or a key twice
)

// A Fault is a file that can't be used: it is left as it is, defaults run, and nothing
// is saved over it (CFG-2).
type Fault struct {
	Path string
	Kind FaultKind
	Line int // from 1; 0 when no place in the file is meant
	Col  int // from 1, in characters
	What string
	Err  error // what the system said, if it did
}

func (f *Fault) Error() string {
	at := f.Path
	if f.Line > 0 {
		at += ":" + strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Col)
	}
	return fmt.Sprintf("%s: %s; the file is left as it is and the defaults are used", at, f.What)
}

func (f *Fault) Unwrap() error { return f.Err }

// A node is one value of the document, with the bytes it came from.
type node struct {
	kind       jsontext.Kind
	start, end int      // bytes of the value
	text       string   // of a string; the raw form of a number
	members    []member // of an object, in order
	elems      []*node  // of a list
}

// A member is one key of an object with its value. start is where the quoted key starts.
type member struct {
	key   string
	start int
	value *node
}

// get finds a member by its exact key: case and dots count.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// at follows a path through objects and, by index, lists.
func (n *node) at(p Path) *node {
	for _, seg := range p {
		if n == nil {
			return nil
		}
		if n.kind == '[' {
			i, err := strconv.Atoi(seg)
			if err != nil || i < 0 || i >= len(n.elems) {
				return nil
			}
			n = n.elems[i]
			continue
		}
		n = n.get(seg)
	}
	return n
}

// readFile reads a setup.json whole. A missing file is nil, nil.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		if l, lerr := os.Lstat(path); lerr == nil && l.Mode()&os.ModeSymlink != 0 {
			return nil, &Fault{Path: path, Kind: Unreadable, What: "is a link to a file that doesn't exist", Err: err}
		}
		return nil, nil
	}
	if err != nil {
		return nil, &Fault{Path: path, Kind: Unreadable, What: "can't be read: " + reason(err), Err: err}
	}
	if !info.Mode().IsRegular() {
		return nil, &Fault{Path: path, Kind: Unreadable, What: "is not a regular file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &Fault{Path: path, Kind: Unreadable, What: "can't be read: " + reason(err), Err: err}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, &Fault{Path: path, Kind: Unreadable, What: "can't be read: " + reason(err), Err: err}
	}
	if len(b) > maxBytes {
		line, col := position(b, maxBytes)
		return nil, &Fault{
			Path: path, Kind: TooLarge, Line: line, Col: col,
			What: fmt.Sprintf("is larger than %d MiB here; move what is not a setting out of it", maxBytes>>20),
		}
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}

// reason is the system's word without the path, which the Fault says already.
func reason(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// parse reads a document: strict JSON (RFC 8259), one object on top, no key twice.
func parse(path string, doc []byte) (*node, error) {
	fault := func(off int, what string) error {
		line, col := position(doc, off)
		return &Fault{Path: path, Kind: Malformed, Line: line, Col: col, What: what}
	}
	if bytes.HasPrefix(doc, []byte("\xef\xbb\xbf")) {
		return nil, fault(0, "starts with a byte order mark; save it as UTF-8 without one")
	}
	if len(bytes.Trim(doc, " \t\r\n")) == 0 {
		return nil, fault(0, "is empty; write {} or remove it")
	}
	r := reader{doc, jsontext.NewDecoder(bytes.NewReader(doc))}
	top, err := r.value()
	if err == nil {
		if _, more := r.d.ReadToken(); more == nil {
			return nil, fault(afterSpace(doc, top.end), "goes on after the closing brace; there is one object in a setup.json")
		} else if !errors.Is(more, io.EOF) {
			err = more
		}
	}
	if err != nil {
		off, what := explain(doc, err)
		return nil, fault(off, what)
	}
	if top.kind != '{' {
		return nil, fault(top.start, "the top must be an object, { … }")
	}
	return top, nil
}

// A reader walks the tokens and remembers where each began.
type reader struct {
	doc []byte
	d   *jsontext.Decoder
}

// next is where the next token starts: behind white space, one colon or one comma.
func (r reader) next() int {
	i := int(r.d.InputOffset())
	for i < len(r.doc) && bytes.IndexByte([]byte(" \t\r\n:,"), r.doc[i]) >= 0 {
		i++
	}
	return i
}

func (r reader) value() (*node, error) {
	n := &node{start: r.next()}
	tok, err := r.d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch n.kind = tok.Kind(); n.kind {
	case '{':
		for r.d.PeekKind() != '}' {
			m := member{start: r.next()}
			key, err := r.d.ReadToken()
			if err != nil {
				return nil, err
			}
			m.key = key.String()
			if m.value, err = r.value(); err != nil {
				return nil, err
			}
			n.members = append(n.members, m)
		}
		_, err = r.d.ReadToken()
	case '[':
		for r.d.PeekKind() != ']' {
			v, err := r.value()
			if err != nil {
				return nil, err
			}
			n.elems = append(n.elems, v)
		}
		_, err = r.d.ReadToken()
	default:
		n.text = tok.String()
	}
	n.end = int(r.d.InputOffset())
	return n, err
}

// explain finds the place of a syntax error and words for it.
func explain(doc []byte, err error) (off int, what string) {
	off = len(doc)
	var se *jsontext.SyntacticError
	if errors.As(err, &se) {
		off = min(int(se.ByteOffset), len(doc))
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return off, fmt.Sprintf("has the key %s twice; keep one", Path(tokens(se.JSONPointer)))
	}
	off = afterSpace(doc, off)
	if off >= len(doc) || errors.Is(err, io.ErrUnexpectedEOF) {
		return len(doc), "ends too early: a brace, bracket or quote is still open"
	}
	then := doc[afterSpace(doc, min(off+1, len(doc))):]
	switch c := doc[off]; {
	case c == 0:
		return off, "holds a NUL byte; it is not text any more"
	case c == '/' || c == '#':
		return off, "holds a comment; JSON has none, remove it"
	case c == ',' && len(then) > 0 && (then[0] == '}' || then[0] == ']'):
		return off, "has a comma behind the last entry; remove it"
	case c == '\'':
		return off, "has a single quote; JSON strings take double quotes"
	case se != nil:
		return off, "is not JSON here: " + se.Err.Error()
	}
	return off, "is not JSON here"
}

func tokens(p jsontext.Pointer) (segs []string) {
	for t := range p.Tokens() {
		segs = append(segs, t)
	}
	return segs
}

func afterSpace(doc []byte, off int) int {
	for off < len(doc) && bytes.IndexByte([]byte(" \t\r\n"), doc[off]) >= 0 {
		off++
	}
	return off
}

// position counts lines and characters from 1.
func position(doc []byte, off int) (line, col int) {
	before := doc[:min(off, len(doc))]
	line = 1 + bytes.Count(before, []byte("\n"))
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}
