package session

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Seq numbers the events of one session, from 1.
type Seq uint64

// An Event is something that has happened, as facts alone. Names are past
// tense, and the set is closed: kinds.go lists every one, and
// docs/session-format.md shows one line of each.
type Event interface {
	event() string // the name on disk; Entry.Type has it for Unknown
}

// An Entry is one event at its place in the log.
type Entry struct {
	Seq    Seq
	Branch string
	At     time.Time
	Type   string // the name on disk, also where Event is Unknown
	Must   bool   // a reader that does not know Type may not write this branch
	Event  Event
	body   []byte // the raw JSON list, or nil
}

// A Fact is an event that is about to be recorded, with its texts.
type Fact struct {
	Branch string // "" means the branch of whoever records it
	Event  Event
	Body   []Part
}

// A Part is one entry of a body: bytes, or a reference to content that is
// already stored. Exactly one of the two is set; empty bytes are valid.
// MediaType and Encoding name the bytes where they are too large to stand in
// the line, and become a reference; "" is text/plain.
type Part struct {
	Bytes     []byte
	Ref       *Ref
	MediaType string
	Encoding  string
}

// A Ref identifies immutable bytes (CAS-1).
type Ref struct {
	SHA256    string `json:"sha256"`
	MediaType string `json:"media_type"`
	Encoding  string `json:"encoding,omitempty"` // a provider encoding, for native material
	Size      int64  `json:"size"`
}

// InlineLimit is the largest payload, in raw bytes, that stands in its line;
// larger ones, and media of any size, are references (CAS-2).
const InlineLimit = 64 << 10

// A Text names the body entry that holds it.
type Text struct {
	B         int    `json:"b"`
	MediaType string `json:"media_type,omitempty"` // text/plain where absent
	Encoding  string `json:"encoding,omitempty"`
}

// PathKey is how a path stands among a line's facts: itself, or, where it is
// longer than 1 KiB or no valid UTF-8, "sha256:" and its hash.
func PathKey(path string) string {
	if len(path) <= 1<<10 && utf8.ValidString(path) {
		return path
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(path)))
}

// Tokens is a size, and who measured it: "est" (our estimate) or "provider".
type Tokens struct {
	N  int    `json:"n"`
	By string `json:"by"`
}

// Estimate is the prior for a text of n bytes: 3.3 bytes a token.
func Estimate(n int) Tokens { return Tokens{N: (n*10 + 32) / 33, By: "est"} }

// A Model is a durable model selection (PRV-7). Address and key are found
// just before I/O and never recorded.
type Model struct {
	Provider string `json:"provider"`
	API      string `json:"api"`
	Model    string `json:"model"`
}

// String is "provider/model", as people write it.
func (m Model) String() string { return m.Provider + "/" + m.Model }

// An ItemID names a context item: the event that introduced it and, in a
// reply with several parts, which part. Part 1 is written "812", part 2
// "812.2".
type ItemID struct {
	Seq  Seq
	Part int
}

// Item returns the id of the only or first item of the event at q.
func (q Seq) Item() ItemID { return ItemID{q, 1} }

// IsZero reports whether the id names nothing.
func (id ItemID) IsZero() bool { return id.Seq == 0 }

// Before reports whether id was introduced before o.
func (id ItemID) Before(o ItemID) bool {
	return id.Seq < o.Seq || id.Seq == o.Seq && id.Part < o.Part
}

// Compare is negative where id was introduced before o, 0 where they are one.
func (id ItemID) Compare(o ItemID) int {
	return cmp.Or(cmp.Compare(id.Seq, o.Seq), cmp.Compare(id.Part, o.Part))
}

func (id ItemID) String() string {
	if id.Part <= 1 || id.IsZero() {
		return strconv.FormatUint(uint64(id.Seq), 10)
	}
	return strconv.FormatUint(uint64(id.Seq), 10) + "." + strconv.Itoa(id.Part)
}

// ParseItemID reads what [ItemID.String] wrote.
func ParseItemID(s string) (ItemID, error) {
	head, tail, dotted := strings.Cut(s, ".")
	q, err := strconv.ParseUint(head, 10, 64)
	part := 1
	if err == nil && dotted {
		part, err = strconv.Atoi(tail)
	}
	if err != nil || q == 0 || part < 1 {
		return ItemID{}, fmt.Errorf("item id %q: want a number such as 812 or 812.2", s)
	}
	return ItemID{Seq(q), part}, nil
}

// MarshalText writes the id as [ItemID.String] does, and "0" for none: ""
// would be left out like an absent one (PLAN-1, PLAN-7).
func (id ItemID) MarshalText() ([]byte, error) {
	return []byte(id.String()), nil
}

// UnmarshalText reads what [ItemID.MarshalText] wrote.
func (id *ItemID) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 || string(b) == "0" {
		*id = ItemID{}
		return nil
	}
	*id, err = ParseItemID(string(b))
	return err
}

// A Range is a run of items, both ends included.
type Range struct {
	From ItemID `json:"from"`
	To   ItemID `json:"to"`
}

// A Piece is a part of a text that is made for one request: a literal, or body
// entry B of the event At.
type Piece struct {
	Lit string
	At  Seq // 0 for a literal
	B   int
}
