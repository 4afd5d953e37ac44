package harness

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"varve/internal/content"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// Why a file is not imported. Nothing of it is kept then.
var (
	ErrNoExport  = errors.New("it is no export of a session")
	ErrBadExport = errors.New("it is not what was exported")
)

// An Imported is a session that came from an export.
type Imported struct {
	ID, Path string
	Branch   string
	Events   int
	Blobs    int
	Missing  int  // contents that the export says it lacks
	Before   bool // it was imported before: nothing was written
}

// An Importer takes exports in.
type Importer struct {
	DataDir, Workspace string
	Program            string
	Clock              Clock
	Again              bool // also what was imported before
}

// Import makes a session of an export, in the workspace (BRN-9). All of the file
// is checked first, as verify does and more: that each reference resolves in it,
// each content is right, and its end is there. A file of another shape is an
// ErrNoExport, a damaged one an ErrBadExport with the number of the line.
func (im Importer) Import(path string) (Imported, error) {
	first := intake{}
	if err := first.read(path); err != nil {
		return Imported{}, err
	}
	out := Imported{Branch: first.end.Branch, Events: first.events, Missing: first.missing}
	id, err := uuid.NewV7()
	if err != nil {
		return out, fmt.Errorf("session id: %w", err)
	}
	out.ID, out.Path = id.String(), PathFor(im.DataDir, im.Workspace, id.String())
	if there, ok := imported(filepath.Dir(out.Path), first.made.ID); ok && !im.Again {
		out.ID, out.Path, out.Before = sessionName(there), there, true
		return out, nil
	}
	blobs := content.Open(im.DataDir)
	err = jsonl.Place(out.Path, func(w io.Writer) error {
		buf := bufio.NewWriterSize(w, 1<<16)
		lines := jsonl.NewWriter(buf)
		rest, err := session.EncodeRest(session.Fact{Branch: session.MainBranch, Event: session.SessionCreated{
			Format: session.Format, ID: out.ID, Workspace: session.PathKey(im.Workspace), Program: im.Program,
			From: &session.Origin{Session: first.made.ID, Seq: first.last, Why: "import", Gaps: true},
		}}, im.Clock.Now())
		if err == nil {
			err = lines.Add(1, rest)
		}
		if err != nil {
			return err
		}
		second := intake{event: lines.Add, content: func(sha string, b []byte) error {
			out.Blobs++
			got, err := blobs.Put(b)
			if err == nil && got != sha {
				err = ErrBadExport
			}
			return err
		}}
		if err := second.read(path); err != nil {
			return err
		}
		if second.end != first.end {
			return fmt.Errorf("%w: it was changed meanwhile", ErrBadExport)
		}
		return buf.Flush()
	})
	return out, err
}

// imported finds a session of a folder that came from an export.
func imported(dir, export string) (string, bool) {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.jsonl"))
	if err != nil {
		return "", false
	}
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			continue
		}
		line, err := bufio.NewReaderSize(io.LimitReader(f, 64<<10), 64<<10).ReadSlice('\n')
		f.Close()
		if err != nil {
			continue
		}
		e, err := session.Decode(bytes.TrimSuffix(line, []byte("\n")))
		if ev, ok := e.Event.(session.SessionCreated); err == nil && ok && ev.From != nil && ev.From.Why == "import" && ev.From.Session == export {
			return p, true
		}
	}
	return "", false
}

// escapeGlob is a path as a pattern that means itself.
func escapeGlob(path string) string {
	var b []byte
	for i := range len(path) {
		if bytes.IndexByte([]byte(`*?[\`), path[i]) >= 0 {
			b = append(b, '\\')
		}
		b = append(b, path[i])
	}
	return string(b)
}

// An intake reads an export from end to end and judges it.
type intake struct {
	event   func(seq uint64, rest []byte) error  // each event but the first, or nil
	content func(sha string, bytes []byte) error // each content, or nil

	made    session.SessionCreated
	first   session.Entry
	last    session.Seq // of the events
	seq     uint64      // of the line before
	events  int
	missing int
	end     session.SessionExported
	ended   bool

	sum  hash.Hash // over the lines so far
	fold *session.Fold
	want map[string]ref // what lines refer to and the file has not carried yet, by hash
	now  carrying
}

// carrying is a content of which some pieces have come.
type carrying struct {
	session.ContentCarried
	sum   hash.Hash
	bytes []byte
}

// read reads a file. The first thing that is wrong is an error.
func (in *intake) read(path string) error {
	in.sum, in.fold, in.want = sha256.New(), session.NewFold(), map[string]ref{}
	n, bad := 0, 0
	rep, err := jsonl.Verify(path, func(f *jsonl.File, l jsonl.Line, raw []byte) error {
		n++
		if err := in.line(f, l, raw); err != nil {
			bad = n
			return err
		}
		in.sum.Write(raw)
		in.sum.Write([]byte{'\n'})
		return nil
	})
	if len(rep.Damage) > 0 && in.made.ID != "" { // what it led to comes later
		d := rep.Damage[0]
		return fmt.Errorf("line %d (byte %d): %w: %s", d.Line, d.Bad, ErrBadExport, damageWords(d))
	}
	switch {
	case errors.Is(err, ErrNoExport), errors.Is(err, ErrFormat):
		return err
	case err != nil && bad > 0:
		return fmt.Errorf("line %d: %w", bad, err)
	case err != nil:
		return err
	case in.made.ID == "":
		return ErrNoExport
	case !in.ended || rep.Piece > 0:
		return fmt.Errorf("line %d: %w: its end is missing, or more stands behind it", rep.Lines+1, ErrBadExport)
	}
	return nil
}

func damageWords(d jsonl.Damage) string {
	switch d.Kind {
	case jsonl.Chain:
		return "it was changed"
	case jsonl.Gap:
		return "events are missing before it"
	}
	return "it is no event"
}

// line judges the next line.
func (in *intake) line(f *jsonl.File, l jsonl.Line, raw []byte) error {
	e, err := CheckLine(f, raw)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadExport, err)
	}
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrBadExport, fmt.Sprintf(format, args...))
	}
	switch ev := e.Event.(type) {
	case session.SessionCreated:
		switch {
		case ev.Format > session.Format:
			return fmt.Errorf("%w: it has format %d, this one reads up to %d: update the program", ErrFormat, ev.Format, session.Format)
		case l.Seq != 1 || ev.ID == "" || ev.From == nil || ev.From.Why != "export" || !ev.From.Gaps:
			return ErrNoExport
		}
		in.made, in.first = ev, e
	case session.LogRepaired:
		return wrong("an export has no repairs")
	case session.ContentCarried:
		if l.Seq != in.seq+1 {
			return wrong("lines are missing before it")
		}
		in.seq = l.Seq
		return in.piece(e, ev)
	case session.SessionExported:
		rest, err := session.EncodeRest(session.Fact{Branch: session.MainBranch, Event: session.SessionExported{
			Branch: ev.Branch, Events: in.events, SHA256: hex.EncodeToString(in.sum.Sum(nil)),
		}}, in.first.At)
		if err != nil {
			return err
		}
		if is, err := jsonl.Rest(raw); err != nil || !bytes.Equal(is, rest) || in.ended || l.Seq != in.seq+1 {
			return wrong("this end is not its own")
		}
		in.end, in.ended = ev, true
		return in.whole()
	}
	switch {
	case in.made.ID == "":
		return ErrNoExport
	case in.ended || in.now.sum != nil || in.missing > 0:
		return wrong("an event stands behind the content")
	}
	if err := in.fold.Apply(e); err != nil {
		return wrong("%v", err)
	}
	in.events++
	in.last, in.seq = e.Seq, l.Seq
	if err := Refs(raw, func(r session.Ref) {
		if _, ok := in.want[r.SHA256]; !ok {
			in.want[r.SHA256] = ref{e.Seq, r}
		}
	}); err != nil {
		return wrong("%v", err)
	}
	if in.event == nil || l.Seq == 1 {
		return nil
	}
	rest, err := jsonl.Rest(raw)
	if err != nil {
		return err
	}
	return in.event(l.Seq, rest)
}

// piece takes a piece of content.
func (in *intake) piece(e session.Entry, ev session.ContentCarried) error {
	parts, err := e.Parts()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadExport, err)
	}
	if ev.At == 0 {
		if r, ok := in.want[ev.SHA256]; !ok || r.Size != ev.Size || in.now.sum != nil && in.now.At < in.now.Size {
			return fmt.Errorf("%w: no event refers to this content, or the one before it is not whole", ErrBadExport)
		}
		delete(in.want, ev.SHA256)
		in.now = carrying{ev, sha256.New(), nil}
	}
	if ev.MissingWhy != "" {
		if in.missing++; len(parts) > 0 {
			return fmt.Errorf("%w: content that is missing, and is there", ErrBadExport)
		}
		in.now.At = in.now.Size
		return nil
	}
	if in.now.sum == nil || ev.SHA256 != in.now.SHA256 || ev.Size != in.now.Size || ev.At != in.now.At {
		return fmt.Errorf("%w: a piece of content is missing before it", ErrBadExport)
	}
	for _, p := range parts {
		in.now.sum.Write(p.Bytes)
		in.now.At += int64(len(p.Bytes))
		if in.content != nil {
			in.now.bytes = append(in.now.bytes, p.Bytes...)
		}
	}
	if in.now.At < in.now.Size {
		return nil
	}
	if got := hex.EncodeToString(in.now.sum.Sum(nil)); got != in.now.SHA256 || in.now.At != in.now.Size {
		return fmt.Errorf("%w: the hash of this content is %s", ErrBadExport, got)
	}
	if in.content == nil {
		return nil
	}
	return in.content(in.now.SHA256, in.now.bytes)
}

// whole looks at what the end claims: that all is there that lines refer to.
func (in *intake) whole() error {
	if in.now.sum != nil && in.now.At < in.now.Size {
		return fmt.Errorf("%w: a content is not whole", ErrBadExport)
	}
	if len(in.want) > 0 {
		at := in.last
		for _, r := range in.want {
			at = min(at, r.at)
		}
		return fmt.Errorf("%w: event %d refers to content that is not in the file", ErrBadExport, at)
	}
	for _, name := range in.fold.Branches() {
		why := in.fold.State(name).Branch.ReadOnly
		if why != "branch.deleted" && session.MovesHead(why) { // what a newer program wrote is another matter
			return fmt.Errorf("%w: %s of %s names what is not in the file", ErrBadExport, why, name)
		}
	}
	if _, err := in.fold.Lineage(in.end.Branch); err != nil {
		return fmt.Errorf("%w: branch %s: %w", ErrBadExport, cmp.Or(in.end.Branch, "(none)"), err)
	}
	return nil
}
