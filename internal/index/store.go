package index

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"varve/internal/session"
)

// The file: this line, the data directory, the number of rows, the rows, and a
// checksum over all before it. Numbers are varints, strings have their length
// before them. A change of the rows is another number in the line.
const magic = "varve sessions 4\n"

// sessionID is the id that a path names.
func sessionID(path string) string {
	name := path[strings.LastIndexByte(path, filepath.Separator)+1:]
	return strings.TrimSuffix(name, ".jsonl")
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// load reads the index. One that is not there, damaged, of another version or
// of another data directory is empty: it is made anew.
func load(path, dataDir string) map[string]*row {
	b, err := os.ReadFile(path)
	if err != nil || len(b) < len(magic)+4 || string(b[:len(magic)]) != magic {
		return nil
	}
	body := b[:len(b)-4]
	if binary.LittleEndian.Uint32(b[len(body):]) != checksum(body) {
		return nil
	}
	d := decoder{s: string(body[len(magic):])} // the rows' strings are parts of it
	if d.str() != dataDir {
		return nil
	}
	n := d.count()
	rows, all := make(map[string]*row, n), make([]row, n)
	for i := range all {
		d.row(&all[i])
		rows[all[i].Path] = &all[i]
	}
	if d.bad || d.at != len(d.s) {
		return nil
	}
	return rows
}

// save writes the index, whole or not at all. Of two processes that write at
// once one wins: what the other knew is read again.
func save(path, dataDir string, rows map[string]*row) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("save index: %w", err)
	}
	n := 0
	for _, r := range rows {
		if r.size != unread {
			n++
		}
	}
	e := encoder{b: make([]byte, 0, 256+512*n)}
	e.b = append(e.b, magic...)
	e.str(dataDir)
	e.int(n)
	for _, r := range rows {
		if r.size != unread {
			e.row(r)
		}
	}
	e.b = binary.LittleEndian.AppendUint32(e.b, checksum(e.b))
	if err := renameio.WriteFile(path, e.b, 0o600, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(0o600)); err != nil {
		return fmt.Errorf("save index: %w", err)
	}
	return nil
}

type encoder struct{ b []byte }

func (e *encoder) num(n int64) { e.b = binary.AppendVarint(e.b, n) }
func (e *encoder) int(n int)   { e.num(int64(n)) }
func (e *encoder) str(s string) {
	e.int(len(s))
	e.b = append(e.b, s...)
}

func (e *encoder) time(t time.Time) {
	if t.IsZero() {
		e.num(math.MinInt64)
	} else {
		e.num(t.UnixNano())
	}
}

func (e *encoder) flags(all ...bool) {
	n := 0
	for i, f := range all {
		if f {
			n |= 1 << i
		}
	}
	e.int(n)
}

func (e *encoder) usage(u Usage) {
	for _, n := range []int64{u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning, int64(u.Unpriced)} {
		e.num(n)
	}
	e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(u.Cost))
}

func (e *encoder) row(r *row) {
	e.str(r.Path)
	e.num(r.size)
	e.num(r.mtime)
	e.flags(r.spoke, r.Named, r.Open, r.Whole, r.mark.end > 0)
	if r.mark.end > 0 {
		e.num(r.mark.end)
		e.int(r.mark.len)
		e.num(int64(r.mark.seq))
		e.b = append(e.b, r.mark.sum[:]...)
	}
	e.num(r.Size)
	e.str(r.Workspace)
	e.str(r.Title)
	e.str(r.First)
	e.str(r.Model)
	e.str(r.Damage)
	e.time(r.Created)
	e.time(r.Changed)
	e.int(r.Messages)
	e.usage(r.Usage)
	e.int(len(r.Branches))
	for _, b := range r.Branches {
		e.str(b.Name)
		e.str(b.Parent)
		e.num(int64(b.From))
		e.num(int64(b.Reach))
		e.str(b.Purpose)
		e.str(b.Title)
		e.str(b.First)
		e.time(b.Created)
		e.time(b.Changed)
		e.int(b.Messages)
		e.usage(b.Usage)
		e.flags(b.Open, b.Deleted)
		e.str(b.Reverted)
		e.int(len(b.Reverts))
		for _, v := range b.Reverts {
			e.str(v.Label)
			e.num(int64(v.At))
			e.str(v.Preview)
			e.int(v.had)
		}
		e.int(len(b.models))
		for _, c := range b.models {
			e.num(int64(c.at))
			e.str(c.model)
		}
		e.int(len(b.counts))
		last := counted{}
		for _, c := range b.counts { // as steps, which are small
			e.num(int64(c.at) - int64(last.at))
			e.int(c.n - last.n)
			last = c
		}
	}
}

// A decoder reads what an encoder wrote. After something else it is bad, and
// gives zeros.
type decoder struct {
	s   string
	at  int
	bad bool
}

func (d *decoder) fail() { d.at, d.bad = len(d.s), true }

func (d *decoder) num() int64 {
	var u uint64
	for shift := 0; d.at < len(d.s) && shift < 64; shift += 7 {
		c := d.s[d.at]
		d.at++
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1)
		}
	}
	d.fail()
	return 0
}

func (d *decoder) int() int { return int(d.num()) }

// count is a number of things, each of which takes a byte or more.
func (d *decoder) count() int {
	n := d.num()
	if n < 0 || n > int64(len(d.s)-d.at) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) take(n int) string {
	if n > len(d.s)-d.at {
		d.fail()
		return ""
	}
	d.at += n
	return d.s[d.at-n : d.at]
}

func (d *decoder) str() string { return d.take(d.count()) }

func (d *decoder) time() time.Time {
	n := d.num()
	if n == math.MinInt64 || d.bad {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func (d *decoder) flags(all ...*bool) {
	n := d.num()
	for i, f := range all {
		*f = n>>i&1 == 1
	}
}

func (d *decoder) usage(u *Usage) {
	u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning = d.num(), d.num(), d.num(), d.num(), d.num()
	u.Unpriced = d.int()
	if s := d.take(8); s != "" {
		u.Cost = math.Float64frombits(binary.LittleEndian.Uint64([]byte(s)))
	}
}

func (d *decoder) row(r *row) {
	r.Path = d.str()
	r.ID = sessionID(r.Path)
	r.size, r.mtime = d.num(), d.num()
	var marked bool
	d.flags(&r.spoke, &r.Named, &r.Open, &r.Whole, &marked)
	if marked {
		r.mark = mark{end: d.num(), len: d.int(), seq: uint64(d.num())}
		copy(r.mark.sum[:], d.take(len(r.mark.sum)))
		d.bad = d.bad || r.mark.len < 0 || int64(r.mark.len) >= r.mark.end
	}
	r.Size = d.num()
	r.Workspace, r.Title, r.First, r.Model, r.Damage = d.str(), d.str(), d.str(), d.str(), d.str()
	r.Created, r.Changed = d.time(), d.time()
	r.Messages = d.int()
	d.usage(&r.Usage)
	n := d.count()
	if n == 0 {
		return
	}
	r.Branches = make([]Branch, n)
	for i := range r.Branches {
		b := &r.Branches[i]
		b.Name, b.Parent, b.From, b.Reach, b.Purpose, b.Title, b.First = d.str(), d.str(), session.Seq(d.num()), session.Seq(d.num()), d.str(), d.str(), d.str()
		b.Created, b.Changed, b.Messages = d.time(), d.time(), d.int()
		d.usage(&b.Usage)
		d.flags(&b.Open, &b.Deleted)
		b.Reverted = d.str()
		for range d.count() {
			b.Reverts = append(b.Reverts, Revert{d.str(), session.Seq(d.num()), d.str(), d.int()})
		}
		if n := d.count(); n > 0 {
			b.models = make([]chosen, n)
			for j := range b.models {
				b.models[j] = chosen{session.Seq(d.num()), d.str()}
				b.Model = b.models[j].model
			}
		}
		if n := d.count(); n > 0 {
			b.counts = make([]counted, n)
			at, had := int64(0), 0
			for j := range b.counts {
				at, had = at+d.num(), had+d.int()
				b.counts[j] = counted{session.Seq(at), had}
			}
		}
	}
}
