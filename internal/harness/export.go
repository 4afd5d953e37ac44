package harness

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"varve/internal/content"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// An Export says what an export of a branch holds, and what it lacks.
type Export struct {
	Branch   string
	Events   int
	Blobs    int
	Damage   []jsonl.Damage // places of the file that can't be read, or are not what was written there
	Repaired int            // places that repairs have named: what stood there is not there
	Lost     []Lost         // content that can't be had
	Left     int            // user messages that reverts left, which go along
	Redacted int            // items that were redacted: their originals go along
}

// Lost is content that can't be read.
type Lost struct {
	At     session.Seq // the first event that refers to it
	SHA256 string
	Err    error
}

// Whole reports whether an export holds all that the branch ever had.
func (e Export) Whole() bool { return len(e.Damage) == 0 && e.Repaired == 0 && len(e.Lost) == 0 }

// pieceSize is how much of a content a line of an export carries, in bytes.
const pieceSize = 1 << 20

// Export writes one branch as a session file that needs nothing else (BRN-9).
// Every byte of the session is checked first, as verify does; what can't be read
// is left out and reported, and the file says so itself.
func (s *Session) Export(w io.Writer, branch, program string) (Export, error) {
	rep, err := jsonl.Verify(s.path, checkLine)
	if err != nil {
		return Export{}, err
	}
	picked, out, err := s.pick(branch, len(rep.Damage) == 0)
	if err != nil {
		return out, err
	}
	out.Damage = rep.Damage
	id, err := uuid.NewV7()
	if err != nil {
		return out, fmt.Errorf("session id: %w", err)
	}
	sum, now := sha256.New(), s.clock.Now()
	lines, seq := jsonl.NewWriter(io.MultiWriter(w, sum)), uint64(0)
	add := func(q uint64, f session.Fact) error {
		rest, err := session.EncodeRest(f, now)
		if err == nil {
			err = lines.Add(q, rest)
		}
		seq = q
		return err
	}
	st := s.State(branch).Session
	made := session.SessionCreated{
		Format: session.Format, ID: id.String(), Workspace: st.Workspace, Program: program,
		From: &session.Origin{Session: st.ID, Seq: s.Head(), Why: "export", Gaps: true},
	}
	if err := add(1, session.Fact{Branch: session.MainBranch, Event: made}); err != nil {
		return out, err
	}
	var refs []ref
	seen := map[string]bool{}
	for _, p := range picked {
		raw, rest, err := s.raw(p)
		if err == nil {
			err = lines.Add(p.Seq, rest)
		}
		if err == nil {
			err = Refs(raw, func(r session.Ref) {
				if !seen[r.SHA256] {
					refs, seen[r.SHA256] = append(refs, ref{session.Seq(p.Seq), r}), true
				}
			})
		}
		if err != nil {
			return out, fmt.Errorf("event %d: %w", p.Seq, err)
		}
		seq = p.Seq
	}
	lacks := func(r ref) (Lost, bool) {
		b, err := s.Bytes(session.Part{Ref: &r.Ref})
		if err == nil && int64(len(b)) != r.Size {
			err = fmt.Errorf("%w: its size is %d, not %d", content.ErrCorrupt, len(b), r.Size)
		}
		return Lost{r.at, r.SHA256, err}, err != nil
	}
	for _, r := range refs {
		if l, lost := lacks(r); lost {
			out.Lost = append(out.Lost, l)
		}
	}
	if !out.Whole() {
		told := session.ToastPosted{Level: "warning", Code: "export_incomplete", Args: map[string]string{
			"places": fmt.Sprint(len(out.Damage) + out.Repaired), "contents": fmt.Sprint(len(out.Lost)),
		}}
		if err := add(seq+1, session.Fact{Branch: branch, Event: told}); err != nil {
			return out, err
		}
		out.Events++
	}
	for _, r := range refs {
		facts := s.carry(r, out.Lost)
		if len(facts) > 0 && facts[0].Event.(session.ContentCarried).MissingWhy == "" {
			out.Blobs++
		}
		for _, f := range facts {
			if err := add(seq+1, f); err != nil {
				return out, err
			}
		}
	}
	return out, add(seq+1, session.Fact{Branch: session.MainBranch, Event: session.SessionExported{
		Branch: branch, Events: out.Events, SHA256: hex.EncodeToString(sum.Sum(nil)),
	}})
}

// A ref is a reference, and the first event that has it.
type ref struct {
	at session.Seq
	session.Ref
}

// A pick is a line that an export takes over, and what it says there.
type pick struct {
	jsonl.Line
	anew *session.BranchCreated // nil: what it said
}

// pick lists the lines that make a branch up, and sees that they fold to the
// same branch; of a damaged session they may not.
func (s *Session) pick(branch string, whole bool) ([]pick, Export, error) {
	out := Export{Branch: branch, Events: 1}
	s.mu.RLock()
	lineage, err := s.fold.Lineage(branch)
	spans, was := s.fold.History(branch), s.fold.State(branch).Branch
	lines, f := s.lines, s.file
	s.mu.RUnlock()
	if err != nil {
		return nil, out, fmt.Errorf("branch %s: %w", branch, err)
	}
	if f == nil {
		return nil, out, fmt.Errorf("%s: %w", s.path, ErrEmpty)
	}
	alone := session.NewFold()
	var picked []pick
	for _, l := range lines {
		raw, err := f.Read(l)
		if err != nil {
			return nil, out, err
		}
		e, err := session.Decode(raw)
		if err != nil {
			return nil, out, err
		}
		if _, ok := e.Event.(session.LogRepaired); ok {
			out.Repaired++
		}
		if l.Seq > 1 {
			if !lineage.Holds(e) || !jsontext.Value(raw).IsValid() { // what is no JSON is among the damage
				continue
			}
			p := pick{Line: l}
			if ev, ok := lineage.Anew(e); ok {
				e.Event, p.anew = ev, &ev
			}
			picked = append(picked, p)
			out.Events++
		}
		if err := alone.Apply(e); err != nil {
			return nil, out, err
		}
		switch ev := e.Event.(type) {
		case session.UserSaid:
			if !slices.ContainsFunc(spans, func(s session.Span) bool { return s.Branch == e.Branch && s.From <= e.Seq && e.Seq <= s.To }) && e.Branch == branch {
				out.Left++
			}
		case session.ItemReplaced:
			if ev.Why == "redact" {
				out.Redacted++
			}
		}
	}
	if is := alone.State(branch).Branch; whole && !reflect.DeepEqual(shape(is), shape(was)) {
		return nil, out, errors.New("this branch can't be exported: what it took over does not add up to it alone. Please report this; `agent session export --format md` writes what can be read")
	}
	return picked, out, nil
}

// shape is what has to be the same of a branch wherever it is folded.
func shape(b session.Branch) any {
	items := []session.Item{}
	for it := range b.View.All {
		items = append(items, it)
	}
	return []any{items, b.Plan.At, b.Plan.Items, b.Queue, b.Model, b.Tools, b.Turn, b.ReadOnly}
}

// raw is a picked line, and what stands in it behind its number and chain.
func (s *Session) raw(p pick) (raw, rest []byte, err error) {
	if raw, err = s.opened().Read(p.Line); err != nil {
		return nil, nil, err
	}
	if p.anew == nil {
		rest, err = jsonl.Rest(raw)
		return raw, rest, err
	}
	e, err := session.Decode(raw)
	if err != nil {
		return nil, nil, err
	}
	parts, err := e.Parts()
	if err == nil {
		rest, err = session.EncodeRest(session.Fact{Branch: e.Branch, Event: *p.anew, Body: parts}, e.At)
	}
	return raw, rest, err
}

// carry is a content as the lines of an export.
func (s *Session) carry(r ref, lost []Lost) []session.Fact {
	ev := session.ContentCarried{SHA256: r.SHA256, Size: r.Size}
	b, err := s.Bytes(session.Part{Ref: &r.Ref})
	if i := slices.IndexFunc(lost, func(l Lost) bool { return l.SHA256 == r.SHA256 }); i >= 0 {
		err = lost[i].Err
	}
	if err != nil {
		ev.MissingWhy = "it can't be read"
		for _, kind := range []error{content.ErrMissing, content.ErrCorrupt, content.ErrHash} {
			if errors.Is(err, kind) {
				ev.MissingWhy = kind.Error()
			}
		}
		return []session.Fact{{Branch: session.MainBranch, Event: ev}}
	}
	var out []session.Fact
	for len(out) == 0 || ev.At < r.Size {
		piece := b[ev.At:min(ev.At+pieceSize, r.Size)]
		f := session.Fact{Branch: session.MainBranch, Event: ev}
		for ev.At += int64(len(piece)); len(f.Body) == 0 || len(piece) > 0; {
			n := min(len(piece), session.InlineLimit)
			for i := range min(3, n) { // a text stays one
				if n < len(piece) && utf8.RuneStart(piece[n-i]) {
					n -= i
					break
				}
			}
			f.Body = append(f.Body, session.Part{Bytes: piece[:n]})
			piece = piece[n:]
		}
		out = append(out, f)
	}
	return out
}

// carried is content that the file itself holds, as an export does.
func (s *Session) carried(sha string) ([]byte, error) {
	s.mu.RLock()
	at := s.inside[sha]
	s.mu.RUnlock()
	var all bytes.Buffer
	for _, q := range at {
		e, err := s.Entry(q)
		if err != nil {
			return nil, err
		}
		parts, err := e.Parts()
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			all.Write(p.Bytes)
		}
	}
	if sum := sha256.Sum256(all.Bytes()); len(at) == 0 || hex.EncodeToString(sum[:]) != sha {
		return nil, fmt.Errorf("get %s: %w", sha, content.ErrMissing)
	}
	return all.Bytes(), nil
}
