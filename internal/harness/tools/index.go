package tools

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"strings"
)

// tracked is a file that git's index names, with what git noted of it when the two were the same.
type tracked struct {
	path         string // below the work tree, with slashes
	oid          oid
	mode         uint32 // a type and 0644 or 0755, as git has it
	size, ino    uint32 // the low 32 bits
	mtime, ctime [2]uint32
	noted        bool // size, ino and times say something
}

type oid [sha1.Size]byte

// Types of an index entry's mode.
const (
	gitType = 0o170000
	gitLink = 0o120000
	gitRepo = 0o160000 // a submodule
)

var errIndex = errors.New("git's index can't be read")

// parseIndex reads git's index: versions 2 to 4, SHA-1, whole. What it may not leave unread (a split index, folders
// left out of a sparse one) is an error, as is anything malformed. Our own, because a decoder that runs on hostile
// bytes before each command has to be quick ([decision 004](../../../docs/decisions/004-what-commands-change.md)).
func parseIndex(b []byte) ([]tracked, error) {
	const header, entry = 12, 62
	if len(b) < header+sha1.Size || string(b[:4]) != "DIRC" {
		return nil, errIndex
	}
	end := len(b) - sha1.Size
	if sum := oid(b[end:]); sum != (oid{}) && sum != sha1.Sum(b[:end]) { // zeros: index.skipHash
		return nil, errIndex
	}
	be := binary.BigEndian
	version, n, at := be.Uint32(b[4:]), int(be.Uint32(b[8:])), header
	if version < 2 || version > 4 || n > end/(entry+1) && version < 4 || n > end {
		return nil, errIndex
	}
	out, name := make([]tracked, 0, n), []byte(nil)
	for range n {
		if end-at < entry {
			return nil, errIndex
		}
		e, flags := b[at:], be.Uint16(b[at+60:])
		pair := func(i int) [2]uint32 { return [2]uint32{be.Uint32(e[i:]), be.Uint32(e[i+4:])} }
		f := tracked{ctime: pair(0), mtime: pair(8), ino: be.Uint32(e[20:]), mode: be.Uint32(e[24:]), size: be.Uint32(e[36:]), oid: oid(e[40:])}
		head, extended := entry, uint16(0)
		if flags&0x4000 != 0 {
			if head += 2; version == 2 || end-at < head {
				return nil, errIndex
			}
			extended = be.Uint16(e[entry:])
		}
		rest := b[at+head : end]
		if version == 4 {
			strip, used := offset(rest)
			if used == 0 || strip > len(name) {
				return nil, errIndex
			}
			name, rest, head = name[:len(name)-strip], rest[used:], head+used
		} else {
			name = name[:0]
		}
		length := bytes.IndexByte(rest, 0)
		if length < 0 {
			return nil, errIndex
		}
		name = append(name, rest[:length]...)
		f.path = string(name)
		if version == 4 {
			at += head + length + 1
		} else {
			at += (head + length + 8) &^ 7
		}
		// Its stage, "assume unchanged", "skip worktree" and "intent to add" each mean that git did not look.
		f.noted = flags&0xb000 == 0 && extended&0x6000 == 0 && f.mtime != [2]uint32{}
		if last := len(out) - 1; last >= 0 && out[last].path >= f.path {
			if out[last].path > f.path || flags&0x3000 == 0 {
				return nil, errIndex
			}
			continue // another stage of one in conflict
		}
		if !sane(f.path) {
			return nil, errIndex
		}
		out = append(out, f)
	}
	for at < end { // extensions: those with a capital may be passed by
		if at > end-8 || b[at] < 'A' || b[at] > 'Z' || int(be.Uint32(b[at+4:])) > end-at-8 {
			return nil, errIndex
		}
		at += 8 + int(be.Uint32(b[at+4:]))
	}
	return out, nil
}

// offset reads a number in git's offset encoding; used is 0 where there is none.
func offset(b []byte) (n, used int) {
	for i, c := range b[:min(len(b), 4)] {
		if n = n<<7 | int(c&0x7f); c < 0x80 {
			return n, i + 1
		}
		n++
	}
	return 0, 0
}

// sane reports whether a path leads below its work tree, and not into ".git".
func sane(path string) bool {
	for c := range strings.SplitSeq(path, "/") {
		if c == "" || c == "." || c == ".." || strings.EqualFold(c, ".git") {
			return false
		}
	}
	return true
}
