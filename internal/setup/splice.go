package setup

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// The document is changed by splicing the bytes of one value, found by the parser that
// read it: every byte that is not of that value stays (CFG-2). A path library is not used
// for this: keys here are model names and headers, full of what such paths give a meaning.

// splice sets (or, with a nil value, removes) the value at a path. Objects on the way are
// made where they are missing; a list takes an index, its length appends.
func splice(doc []byte, at Path, value jsontext.Value) ([]byte, error) {
	root, err := parse("", doc)
	if err != nil {
		return nil, err
	}
	n := root
	for i, seg := range at {
		last := i == len(at)-1
		child := n.at(Path{seg})
		switch {
		case child == nil && value == nil:
			return doc, nil
		case child == nil && n.kind == 'n': // null on the way holds nothing
			return replace(doc, n, build(at[i:], value)), nil
		case child == nil && n.kind != '{' && n.kind != '[':
			return nil, fmt.Errorf("%s: can't be set inside %s", at, kindName(n.kind))
		case child == nil:
			if n.kind == '[' && seg != strconv.Itoa(len(n.elems)) {
				return nil, fmt.Errorf("%s: the list has no entry %s", at, seg)
			}
			return insert(doc, n, seg, build(at[i+1:], value)), nil
		case last && value == nil:
			return remove(doc, n, seg), nil
		case last:
			return replace(doc, child, value), nil
		}
		n = child
	}
	return nil, fmt.Errorf("a path is needed")
}

// build wraps a value into the objects that are missing on the way to it.
func build(at Path, value jsontext.Value) jsontext.Value {
	for _, seg := range slices.Backward(at) {
		value = slices.Concat([]byte("{"), quote(seg), []byte(": "), value, []byte("}"))
	}
	return value
}

func quote(s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic("setup: internal error: " + err.Error()) // keys are checked to be UTF-8
	}
	return b
}

func replace(doc []byte, n *node, value jsontext.Value) []byte {
	line := doc[bytes.LastIndexByte(doc[:n.start], '\n')+1 : n.start]
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	return slices.Concat(doc[:n.start], pretty(value, string(indent), bytes.Contains(doc, []byte("\n"))), doc[n.end:])
}

// insert adds an entry behind the last one of an object or list, in the container's style.
func insert(doc []byte, n *node, key string, value jsontext.Value) []byte {
	var first, last int // bytes of the first entry's start and the last one's end
	switch {
	case len(n.members) > 0:
		first, last = n.members[0].start, n.members[len(n.members)-1].value.end
	case len(n.elems) > 0:
		first, last = n.elems[0].start, n.elems[len(n.elems)-1].end
	}
	lead := doc[bytes.LastIndexByte(doc[:max(first, n.start)], '\n')+1 : max(first, n.start)]
	indent := string(lead[:len(lead)-len(bytes.TrimLeft(lead, " \t"))])
	entry := func(indent string, lines bool) []byte {
		v := pretty(value, indent, lines)
		if n.kind == '[' {
			return v
		}
		return slices.Concat(quote(key), []byte(": "), v)
	}
	if last == 0 { // empty: its inside is white space
		lines := bytes.Contains(doc, []byte("\n")) || len(doc) < 4
		if !lines {
			return slices.Concat(doc[:n.start+1], entry("", false), doc[n.end-1:])
		}
		return slices.Concat(doc[:n.start+1], []byte("\n"+indent+"  "), entry(indent+"  ", true), []byte("\n"+indent), doc[n.end-1:])
	}
	if bytes.Contains(doc[n.start:first], []byte("\n")) {
		return slices.Concat(doc[:last], []byte(",\n"+indent), entry(indent, true), doc[last:])
	}
	return slices.Concat(doc[:last], []byte(", "), entry("", false), doc[last:])
}

// remove takes an entry out with one comma and the white space that belonged to it.
func remove(doc []byte, n *node, key string) []byte {
	var starts, ends []int
	gone := -1
	for i, m := range n.members {
		starts, ends = append(starts, m.start), append(ends, m.value.end)
		if m.key == key {
			gone = i
		}
	}
	for i, e := range n.elems {
		starts, ends = append(starts, e.start), append(ends, e.end)
		if strconv.Itoa(i) == key {
			gone = i
		}
	}
	switch {
	case gone < 0:
		return doc
	case len(starts) == 1:
		return slices.Concat(doc[:n.start+1], doc[n.end-1:])
	case gone == 0:
		return slices.Concat(doc[:starts[0]], doc[starts[1]:])
	}
	return slices.Concat(doc[:ends[gone-1]], doc[ends[gone]:])
}

// pretty breaks objects, and lists of objects, over lines where the document does.
func pretty(value jsontext.Value, indent string, lines bool) []byte {
	v := value.Clone()
	if !lines || len(v) == 0 || (v[0] != '{' && (v[0] != '[' || !bytes.Contains(v, []byte("{")))) {
		return bytes.TrimSpace(v)
	}
	if err := v.Indent(jsontext.WithIndentPrefix(indent), jsontext.WithIndent("  "), jsontext.PreserveRawStrings(true)); err != nil {
		return bytes.TrimSpace(value)
	}
	return bytes.TrimSpace(v)
}
