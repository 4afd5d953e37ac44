// Package jsonl keeps an append-only file of JSON lines, whatever they say.
//
// It owns the two keys that open each line, seq and prev; the rest is the
// caller's, and is neither read nor changed here:
//
//	{"seq":812,"prev":"<32 hex>",  +  "branch":"main", … }  +  LF
//
// seq is contiguous from 1. prev is the first 128 bits of SHA-256 over the bytes
// of the physical line before, without its LF, and zeros on line 1. After a torn
// line prev covers the torn bytes, while seq goes on from the last event.
//
// Reading takes no lock and changes nothing (LOG-14). Writing happens in Append
// and Repair only, under an OS lock on the file for that one call (LOG-6), and
// only ever adds bytes at the end (LOG-3); Replace, for what must not be kept, puts
// another file in its place. A last line without LF is not there
// yet for a reader; an append judges it (LOG-7).
package jsonl

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Errors that a caller tells apart. Each comes wrapped in one sentence that says
// what happened and what to do.
var (
	// ErrLocked: another process or goroutine held the file for all of LockWait.
	ErrLocked = errors.New("locked by another writer")
	// ErrDamaged: the file has damage that no repair in it names; see File.Damage.
	ErrDamaged = errors.New("damaged")
	// ErrReadOnly: the file was opened ReadOnly, or may not be written now.
	ErrReadOnly = errors.New("read-only")
	// ErrFull: no space or quota is left. Bytes that did reach the file stay; the
	// next append closes them off.
	ErrFull = errors.New("disk full")
	// ErrGone: the path is gone or names another file now. Nothing was written.
	ErrGone = errors.New("removed or replaced")
	// ErrChanged: bytes that were read before are no longer there.
	ErrChanged = errors.New("changed by another program")
	// ErrMode: others may read the file, and that could not be put right.
	ErrMode = errors.New("readable by others")
	// ErrUnreadable is what a Visit returns for a line that is no event to it. The
	// line is then damage, and reading goes on.
	ErrUnreadable = errors.New("unreadable line")
	// ErrShape: the rest of a line does not open with a key or close the object,
	// or holds a raw newline. Nothing was written.
	ErrShape = errors.New("not the rest of a line")
)

// A Line says where a line is.
type Line struct {
	Seq uint64
	Off int64 // of its first byte
	Len int   // without LF
}

// End is the offset after the line's LF.
func (l Line) End() int64 { return l.Off + int64(l.Len) + 1 }

// Raw is a line with its bytes, without LF.
type Raw struct {
	Line
	Bytes []byte
}

// A Visit receives a whole readable line. raw is valid during the call only. A
// Visit may call Read, Tail, Forgive, AllowGaps and Damage, but not CatchUp,
// Append or Repair. An error other than ErrUnreadable ends the reading before
// this line, which is given again the next time.
type Visit func(l Line, raw []byte) error

// A Policy says when written lines are brought to the disk (the setting
// log.sync, LOG-5). The empty Policy is Turn.
type Policy string

// The policies.
const (
	Turn   Policy = "turn"   // Sync does, Append does not
	Always Policy = "always" // Append does too, before it returns
	Never  Policy = "never"  // nothing does
)

// Options of a File. The zero Options are usable.
type Options struct {
	Policy   Policy
	Layer    Layer         // what touches the disk; nil is Disk
	LockWait time.Duration // 0 is 10 s; below 0 is one try
	ReadOnly bool          // Append is refused, and loose modes stay

	// Visit receives the lines of other writers that an Append finds, before agree
	// is asked, and the repairs that Append and Repair write.
	Visit Visit

	// Repaired makes the rest of the line of the event that records a repair
	// (log.repaired with kind, from, to, sha256, line). Without it nothing can be
	// appended after a torn line.
	Repaired func(Damage) []byte

	deep bool // judge every byte: Verify
}

// A File is one open file. Its methods may be called from several goroutines.
type File struct {
	path string
	opts Options
	r    *os.File
	id   os.FileInfo // which file r is

	pen  chan struct{} // held by the one Append or Repair that wants the OS lock, and before turn
	turn chan struct{} // held by whoever reads on, writes or closes

	// Owned by the holder of turn.
	pos     int64 // all before it has been judged
	chain   chain
	scanned bool // the first full reading is done
	chunk   []byte
	out     []byte

	gaps atomic.Bool

	mu       sync.Mutex
	w        *os.File // opened by the first append
	damage   []Damage
	forgiven []span
	first    Line  // the first event read
	last     Line  // the last
	end      int64 // where reading or writing has got to
	synced   int64 // known to be on the disk
	mode     error
}

// Path is the path that the file was opened by.
func (f *File) Path() string { return f.path }

// Last is the last event read so far; its Seq is 0 where there is none.
func (f *File) Last() Line {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// Loose is nil, or an ErrMode that says why others may still read the file
// (case SES-11).
func (f *File) Loose() error { return f.mode }

// AllowGaps lets seq jump forward from here on. An export says in its first line
// that it has gaps (BRN-9); a Visit calls this when it reads so.
func (f *File) AllowGaps() { f.gaps.Store(true) }
