package session

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// FactLimit is the most that a line's data may hold, in bytes (LOG-12).
const FactLimit = 4 << 10

// timeLayout is RFC 3339 in UTC with milliseconds, always 24 bytes.
const timeLayout = "2006-01-02T15:04:05.000Z"

// ErrLine is the kind of every line that is no event.
var ErrLine = errors.New("not an event")

// EncodeRest returns the line that records f at a time, from its third key
// on: `"branch":…}`. Seq and prev, which are made under the lock, come before
// it on disk. Lists that outgrow the facts stand behind the body (LOG-12), and
// [Decode] puts them back. Parts of more than InlineLimit bytes are refused:
// they are stored first, and named.
func EncodeRest(f Fact, at time.Time) ([]byte, error) {
	name := f.Event.event()
	k, ok := kindOf(name)
	if !ok {
		return nil, fmt.Errorf("encode %T: not an event that this program writes", f.Event)
	}
	data, err := json.Marshal(f.Event, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	if len(data) > FactLimit && !spills(name) {
		var lists []Part
		if data, lists, err = shift(data, len(f.Body)); err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		f.Body = append(f.Body[:len(f.Body):len(f.Body)], lists...)
	}
	if len(data) > FactLimit {
		return nil, fmt.Errorf("encode %s: %d bytes of facts, at most %d: texts and long lists go into the body", name, len(data), FactLimit)
	}
	n := len(data) + 128
	for _, p := range f.Body {
		n += len(p.Bytes) + len(p.Bytes)/8 + 16
	}
	b := make([]byte, 0, n)
	b = append(b, `"branch":`...)
	b = AppendQuoted(b, []byte(f.Branch))
	b = append(b, `,"at":"`...)
	b = at.UTC().AppendFormat(b, timeLayout)
	b = append(b, `","type":"`...)
	b = append(b, name...)
	b = append(b, '"')
	if k.must {
		b = append(b, `,"must":true`...)
	}
	b = append(b, `,"data":`...)
	b = append(b, data...)
	if len(f.Body) > 0 {
		b = append(b, `,"body":[`...)
		for i, p := range f.Body {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendPart(b, p); err != nil {
				return nil, fmt.Errorf("encode %s: body %d: %w", name, i, err)
			}
		}
		b = append(b, ']')
	}
	return append(b, '}'), nil
}

func appendPart(b []byte, p Part) ([]byte, error) {
	switch {
	case p.Ref != nil:
		ref, err := json.Marshal(p.Ref)
		if err != nil {
			return nil, err
		}
		b = append(b, `{"ref":`...)
		b = append(b, ref...)
		return append(b, '}'), nil
	case len(p.Bytes) > InlineLimit:
		return nil, fmt.Errorf("%d bytes inline, at most %d", len(p.Bytes), InlineLimit)
	case utf8.Valid(p.Bytes):
		return AppendQuoted(b, p.Bytes), nil
	}
	b = append(b, `{"b64":"`...)
	b = base64.StdEncoding.AppendEncode(b, p.Bytes)
	return append(b, `"}`...), nil
}

// An Envelope is a line as a scan sees it: nothing of it is decoded. The byte
// slices alias the line.
type Envelope struct {
	Seq    Seq
	Branch []byte // as it stands between its quotes
	At     []byte
	Type   []byte
	Must   bool
	Data   []byte // the object
	Body   []byte // the list, or nil
}

// Scan reads the envelope of a line in the canonical form, and no other.
// Data is found by matching braces and the body by its ends, so a malformed
// payload may pass here and fail in [Decode], or where the body is read.
func Scan(line []byte) (Envelope, bool) {
	var e Envelope
	rest, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	if !ok {
		return e, false
	}
	i := 0
	for ; i < len(rest) && rest[i] >= '0' && rest[i] <= '9'; i++ {
		e.Seq = e.Seq*10 + Seq(rest[i]-'0')
	}
	// "prev" is 32 hex digits: jsonl has checked them.
	const prev = `,"prev":"`
	if i == 0 || i > 19 || rest[0] == '0' || !bytes.HasPrefix(rest[i:], []byte(prev)) || len(rest) < i+len(prev)+33 {
		return e, false
	}
	rest = rest[i+len(prev)+32:]
	if e.Branch, rest, ok = field(rest, `","branch":"`); !ok {
		return e, false
	}
	if e.At, rest, ok = field(rest, `","at":"`); !ok {
		return e, false
	}
	if e.Type, rest, ok = field(rest, `","type":"`); !ok || len(e.Type) == 0 {
		return e, false
	}
	rest = rest[1:]
	if r, found := bytes.CutPrefix(rest, []byte(`,"must":true`)); found {
		e.Must, rest = true, r
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"data":`)); !ok {
		return e, false
	}
	n := objectLen(rest)
	if n == 0 {
		return e, false
	}
	e.Data, rest = rest[:n], rest[n:]
	if r, found := bytes.CutPrefix(rest, []byte(`,"body":`)); found && bytes.HasPrefix(r, []byte("[")) && bytes.HasSuffix(r, []byte("]}")) {
		e.Body = r[:len(r)-1]
		return e, true
	}
	return e, len(rest) == 1 && rest[0] == '}'
}

// field returns what stands between label and the next plain quote.
func field(b []byte, label string) (value, rest []byte, ok bool) {
	b, ok = bytes.CutPrefix(b, []byte(label))
	if !ok {
		return nil, nil, false
	}
	i := bytes.IndexByte(b, '"')
	if i < 0 || bytes.IndexByte(b[:i], '\\') >= 0 {
		return nil, nil, false
	}
	return b[:i], b[i:], true
}

// objectLen is the length of the JSON object that b begins with, or 0.
func objectLen(b []byte) int {
	if len(b) == 0 || b[0] != '{' {
		return 0
	}
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		c := b[i]
		if quoted {
			switch c {
			case '\\':
				i++
			case '"':
				quoted = false
			}
			continue
		}
		switch c {
		case '"':
			quoted = true
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// Decode reads one line. The facts are decoded, the texts are not: they are
// read by [Entry.Part], and alias the line. A name that this program does not
// know gives [Unknown]; a line that is no event is an ErrLine.
func Decode(line []byte) (Entry, error) {
	env, ok := Scan(line)
	if !ok {
		var err error
		if env, err = scanLoose(line); err != nil {
			return Entry{}, err
		}
	}
	return env.Decode()
}

// Decode decodes the facts of e.
func (e Envelope) Decode() (Entry, error) {
	out := Entry{Seq: e.Seq, Branch: string(e.Branch), Must: e.Must, body: e.Body}
	at, err := parseTime(e.At)
	if err != nil {
		return out, fmt.Errorf("event %d: time %q: %w", e.Seq, e.At, ErrLine)
	}
	out.At = at
	out.Type = intern(e.Type)
	k, ok := kindOf(out.Type)
	if !ok {
		out.Event = Unknown{bytes.Clone(e.Data)}
		return out, nil
	}
	data := e.Data
	if !spills(out.Type) {
		data, err = unshift(data, e.Body)
	}
	if err == nil {
		out.Event, err = k.read(data)
	}
	if err != nil {
		return out, fmt.Errorf("event %d (%s): %w: %w", e.Seq, out.Type, ErrLine, err)
	}
	if out.Event, err = unspill(out.Event, e.Body); err != nil {
		return out, fmt.Errorf("event %d (%s): %w: %w", e.Seq, out.Type, ErrLine, err)
	}
	return out, nil
}

// scanLoose reads a line whose keys or spacing are not ours, such as one of
// a newer program.
func scanLoose(line []byte) (Envelope, error) {
	var w struct {
		Seq    Seq            `json:"seq"`
		Branch string         `json:"branch"`
		At     string         `json:"at"`
		Type   string         `json:"type"`
		Must   bool           `json:"must"`
		Data   jsontext.Value `json:"data"`
		Body   jsontext.Value `json:"body"`
	}
	if err := json.Unmarshal(line, &w); err != nil {
		return Envelope{}, fmt.Errorf("%w: %w", ErrLine, err)
	}
	if w.Seq == 0 || w.Type == "" || w.Data.Kind() != '{' || w.Body != nil && w.Body.Kind() != '[' {
		return Envelope{}, fmt.Errorf("%w: seq, type or data is missing", ErrLine)
	}
	return Envelope{w.Seq, []byte(w.Branch), []byte(w.At), []byte(w.Type), w.Must, w.Data, w.Body}, nil
}

// parseTime reads timeLayout without a general parser, which would be a third
// of the cost of a scan.
func parseTime(b []byte) (time.Time, error) {
	if len(b) == len(timeLayout) && b[4] == '-' && b[7] == '-' && b[10] == 'T' && b[13] == ':' && b[16] == ':' && b[19] == '.' && b[23] == 'Z' {
		var n [7]int
		for f, at := range [7][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}, {20, 23}} {
			for _, c := range b[at[0]:at[1]] {
				if c < '0' || c > '9' {
					return time.Time{}, ErrLine
				}
				n[f] = n[f]*10 + int(c-'0')
			}
		}
		t := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], n[6]*1e6, time.UTC)
		if n[3] > 23 || n[4] > 59 || n[5] > 59 || t.Month() != time.Month(n[1]) {
			return time.Time{}, ErrLine // such as 31 November
		}
		return t, nil
	}
	t, err := time.Parse(time.RFC3339Nano, string(b))
	return t.UTC(), err
}

// intern avoids a copy for the names that make up most of a log.
func intern(b []byte) string {
	switch string(b) {
	case "reply.completed":
		return "reply.completed"
	case "request.sent":
		return "request.sent"
	case "tool.finished":
		return "tool.finished"
	case "tool.started":
		return "tool.started"
	case "call.judged":
		return "call.judged"
	case "user.said":
		return "user.said"
	}
	return string(b)
}
