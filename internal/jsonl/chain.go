package jsonl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A sum is what prev holds: the first 128 bits of SHA-256.
type sum [16]byte

func sumOf(b []byte) sum {
	h := sha256.Sum256(b)
	return sum(h[:16])
}

// hexOf is SHA-256 over b, as the 64 hex of Damage.
func hexOf(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

const (
	headSeq  = `{"seq":`
	headPrev = `,"prev":"`
	maxDigit = 18 // keeps seq, and seq plus a few, inside 64 bits
)

// appendHead appends the keys that this package owns.
func appendHead(b []byte, seq uint64, prev sum) []byte {
	b = append(b, headSeq...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, headPrev...)
	b = hex.AppendEncode(b, prev[:])
	return append(b, '"', ',')
}

// parseHead reads the keys that open a line. It looks at the line's two ends
// only: ok means that the line has the shape of one of ours and is closed.
func parseHead(raw []byte) (seq uint64, prev sum, ok bool) {
	if len(raw) < len(headSeq) || string(raw[:len(headSeq)]) != headSeq || raw[len(raw)-1] != '}' {
		return 0, prev, false
	}
	b := raw[len(headSeq):]
	i := 0
	for i < len(b) && i < maxDigit && b[i]-'0' <= 9 {
		seq = seq*10 + uint64(b[i]-'0')
		i++
	}
	if seq == 0 || b[0] == '0' {
		return 0, prev, false
	}
	b = b[i:]
	const hexEnd = len(headPrev) + 2*len(prev)
	if len(b) < hexEnd+3 || string(b[:len(headPrev)]) != headPrev || b[hexEnd] != '"' || b[hexEnd+1] != ',' {
		return 0, prev, false
	}
	b = b[len(headPrev):hexEnd]
	wrong := byte(0)
	for i := range prev {
		hi, lo := nibbles[b[2*i]], nibbles[b[2*i+1]]
		wrong |= hi | lo
		prev[i] = hi<<4 | lo&15
	}
	return seq, prev, wrong < 16
}

// nibbles is the value of a lower-case hex digit, and 16 for any other byte. A
// table, because digits and letters alternate at random: branches on them are slow.
var nibbles = [256]byte{
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 10, 11, 12, 13, 14, 15, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
}

// A Kind is a kind of damage.
type Kind string

// The kinds of damage.
const (
	Torn    Kind = "torn"    // begins like the event expected there, and breaks off
	Foreign Kind = "foreign" // anything else that is no event of this file
	Gap     Kind = "gap"     // a whole event whose seq leaves out others
	Chain   Kind = "chain"   // not the bytes over which the next line's prev was made
)

// Damage is a range of bytes that is not what an append left there. A line of
// kind Gap or Chain was visited all the same.
type Damage struct {
	Kind     Kind
	Line     int    // the physical line, from 1
	Seq      uint64 // the seq expected there
	From, To int64  // To is exclusive, and before the LF
	SHA256   string // of the bytes in [From, To), 64 hex
	Bad      int64  // the first byte known to be bad; From, where that is not known better
}

// How closely a line is looked at.
type depth uint8

const (
	shallow depth = iota // its head, its end and its seq
	hashed               // and its prev
	deep                 // and its JSON
)

// A chain says what the next physical line must carry.
type chain struct {
	lines int    // physical lines so far
	next  uint64 // the seq expected
	slack uint64 // damaged lines since the last event: each may have been an event once

	first  Line // the first event; Seq is 0 before there is one
	last   Line // the last
	before Line // the physical line before; its Seq says nothing
	sum    sum  // over before, where known
	known  bool
}

func newChain() chain { return chain{next: 1, known: true} }

// judge looks at the next physical line and moves on. It returns a line to be
// visited (ok), and the damage that it shows: at most one range of its own and,
// for a broken prev, the line before. sha256 of damage is made by the caller's
// reader for the line before, and here for this line.
func (c *chain) judge(raw []byte, off int64, how depth, gaps bool) (l Line, ok bool, found []Damage) {
	c.lines++
	l = Line{Off: off, Len: len(raw)}
	seq, prev, ok := parseHead(raw)
	bad := off
	if ok && how == deep {
		var at int64
		if at, ok = checkJSON(raw); !ok {
			bad += at
		}
	}
	own := func(k Kind) {
		found = append(found, Damage{
			Kind: k, Line: c.lines, Seq: c.next, From: off, To: off + int64(len(raw)), SHA256: hexOf(raw), Bad: bad,
		})
	}
	switch {
	case !ok:
		own(c.breakage(raw))
	case seq < c.next: // it was given before, or is another file's
		ok = false
		own(Foreign)
	case seq > c.next+c.slack && !(gaps && c.lines > 1):
		own(Gap)
	case c.known && prev != c.sum: // where before is damage already, this adds nothing
		if c.lines == 1 {
			own(Chain)
			break
		}
		b := c.before
		found = append(found, Damage{
			Kind: Chain, Line: c.lines - 1, Seq: c.next - 1, From: b.Off, To: b.Off + int64(b.Len), Bad: b.Off,
		})
	}
	if ok {
		l.Seq = seq
		c.event(l)
	} else {
		c.slack++
	}
	c.before = l
	if c.known = how >= hashed; c.known {
		c.sum = sumOf(raw)
	}
	return l, ok, found
}

// wrote moves on over a line that this File has just written.
func (c *chain) wrote(l Line, s sum) {
	c.lines++
	c.event(l)
	c.before, c.sum, c.known = l, s, true
}

func (c *chain) event(l Line) {
	if c.first.Seq == 0 {
		c.first = l
	}
	c.next, c.slack, c.last = l.Seq+1, 0, l
}

// breakage tells a line that a crash cut short from any other that is no event.
func (c *chain) breakage(raw []byte) Kind {
	head := append(strconv.AppendUint([]byte(headSeq), c.next, 10), headPrev...)
	if len(raw) > 0 && (bytes.HasPrefix(raw, head) || bytes.HasPrefix(head, raw)) {
		return Torn
	}
	return Foreign
}

// whole says whether raw is exactly the event that must come next. The chain's
// sum must be known.
func (c *chain) whole(raw []byte) bool {
	seq, prev, ok := parseHead(raw)
	if !ok || seq != c.next || prev != c.sum {
		return false
	}
	_, ok = checkJSON(raw)
	return ok
}

// checkJSON says whether raw is one JSON value (RFC 8259, valid UTF-8, no name
// twice), and if not, at which byte that shows.
func checkJSON(raw []byte) (at int64, ok bool) {
	if jsontext.Value(raw).IsValid() {
		return 0, true
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	for {
		_, err := d.ReadToken()
		if s := (*jsontext.SyntacticError)(nil); errors.As(err, &s) {
			return min(s.ByteOffset, int64(len(raw))), false
		}
		if err != nil || d.StackDepth() == 0 { // broken off, or whole and followed by more
			return min(d.InputOffset(), int64(len(raw))), false
		}
	}
}
