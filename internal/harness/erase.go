package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// An erasure writes the lines of a session anew without what a purge takes out.
// It changes nothing itself: content is read through load, and parts that are too
// large for their line are returned as bytes.
type erasure struct {
	own  map[session.Seq]bool // events whose whole text goes
	gone map[string]bool      // content that goes, by its hash
	x    *session.Eraser
	load func(sha string) ([]byte, error)

	seen map[string][]byte // what content is without it, by hash; nil: it holds nothing
}

// A rewritten line.
type rewritten struct {
	data    []byte               // its facts, nil where they stay
	swap    map[int]session.Part // body entries that are others
	refs    []string             // content that it named, and names no more
	content bool                 // some of it was stored content
}

var placeholder = session.Part{Bytes: []byte(drive.WordsRedacted)}

// line says what becomes of a line; nil where it stays.
func (z *erasure) line(env session.Envelope, e session.Entry, raw []byte) (*rewritten, error) {
	if z.own[env.Seq] {
		return z.whole(env, e)
	}
	if !z.x.In(raw) && !bytes.Contains(raw, []byte(`"ref"`)) && !bytes.Contains(raw, []byte(`"b64"`)) && !bytes.Contains(raw, []byte("…")) {
		return nil, nil
	}
	var err error
	r := &rewritten{swap: map[int]session.Part{}}
	if err := env.Each(func(i int, p session.Part, err error) error {
		if err != nil {
			return nil // of a newer program: what it holds is found by the check of the whole line
		}
		b, held, err := z.part(p)
		if held {
			r.put(i, p, b)
		}
		return err
	}); err != nil {
		return nil, err
	}
	switch e.Event.(type) {
	case session.ToastPosted, session.PermissionChanged, session.ApprovalAnswered, session.CallJudged:
		if data, held := z.x.Text(env.Data); held {
			r.data = data
		}
	case session.FilesChanged:
		err = z.list(env, r, e.Event.(session.FilesChanged).Changes.B, "missing_why", "before", "after")
	case session.RestorePlanned:
		err = z.list(env, r, e.Event.(session.RestorePlanned).Entries.B, "", "want")
	}
	if err != nil || r.data == nil && len(r.swap) == 0 {
		return nil, err
	}
	return r, nil
}

func (r *rewritten) put(i int, was session.Part, b []byte) {
	now := session.Part{Bytes: b, MediaType: was.MediaType, Encoding: was.Encoding}
	if was.Ref != nil {
		now.MediaType, now.Encoding, r.content = was.Ref.MediaType, was.Ref.Encoding, true
		r.refs = append(r.refs, was.Ref.SHA256)
	}
	r.swap[i] = now
}

// part is what a body entry is without what goes, and whether it held any.
func (z *erasure) part(p session.Part) ([]byte, bool, error) {
	if p.Ref == nil {
		b, held := z.x.Text(p.Bytes)
		return b, held, nil
	}
	sha := p.Ref.SHA256
	if z.gone[sha] {
		return placeholder.Bytes, true, nil
	}
	if z.x.Idle() {
		return nil, false, nil
	}
	b, known := z.seen[sha]
	if !known {
		was, err := z.load(sha)
		if err != nil {
			return nil, false, nil // lost or changed: it damages its item only (CAS-3)
		}
		if now, held := z.x.Text(was); held {
			b = now
		}
		z.seen[sha] = b
	}
	return b, b != nil, nil
}

// whole takes all of an event's own text, and what it names besides.
func (z *erasure) whole(env session.Envelope, e session.Entry) (*rewritten, error) {
	r := &rewritten{swap: map[int]session.Part{}}
	size, err := json.Marshal(session.Estimate(len(placeholder.Bytes)))
	if err != nil {
		return nil, err
	}
	set := map[string][]byte{"media": nil, "full": nil, "spilled": nil}
	if _, preview := e.Event.(session.BranchReverted); !preview {
		set["tokens"] = size
	}
	if r.data, err = session.SetFacts(env.Data, set); err != nil {
		return nil, err
	}
	return r, env.Each(func(i int, p session.Part, err error) error {
		if err == nil {
			r.put(i, p, placeholder.Bytes)
		}
		r.swap[i] = placeholder
		return nil
	})
}

// list takes contents of files out as a whole: a file is never restored to a
// part of what it was. keys name their body entries in the elements of the list
// at an entry; why, if not "", is where an element says that one is missing.
func (z *erasure) list(env session.Envelope, r *rewritten, at int, why string, keys ...string) error {
	whole, listed := r.swap[at]
	drop := map[int]bool{}
	for i := range r.swap {
		if i != at {
			drop[i], r.swap[i] = true, placeholder
		}
	}
	if len(drop) == 0 && !listed {
		return nil
	}
	was, err := session.PartOf(env.Body, at)
	if err != nil {
		return err
	}
	old := was.Bytes
	if was.Ref != nil {
		if old, err = z.load(was.Ref.SHA256); err != nil {
			return err
		}
	}
	now := old
	if listed {
		now = whole.Bytes
	}
	var elements, before []map[string]json.RawMessage
	if json.Unmarshal(old, &before) != nil || json.Unmarshal(now, &elements) != nil || len(before) != len(elements) {
		return nil // it was no list before: its text is all there is to it
	}
	for i, el := range elements {
		other := string(el["path"]) != string(before[i]["path"])
		for _, k := range keys {
			var n int
			if json.Unmarshal(el[k], &n) != nil || !other && !drop[n] {
				continue
			}
			delete(el, k)
			if r.swap[n] = placeholder; why != "" {
				el[why] = json.RawMessage(`"it was purged"`)
			}
			if p, err := session.PartOf(env.Body, n); err == nil && p.Ref != nil && !slices.Contains(r.refs, p.Ref.SHA256) {
				r.refs = append(r.refs, p.Ref.SHA256)
			}
		}
	}
	b, err := json.Marshal(elements)
	if err != nil {
		return err
	}
	r.put(at, was, b)
	return nil
}

// rest is the line, with what store makes of parts that are too large for it.
func (r *rewritten) rest(env session.Envelope, store func(session.Part) (session.Part, error)) ([]byte, error) {
	for i, p := range r.swap {
		if len(p.Bytes) > session.InlineLimit {
			var err error
			if r.swap[i], err = store(p); err != nil {
				return nil, err
			}
		}
	}
	rest, err := env.Rest(r.data, r.swap)
	if err == nil {
		_, err = session.Decode(append([]byte(`{"seq":1,"prev":"00000000000000000000000000000000",`), rest...))
	}
	if err != nil { // it stood across what makes the line an event
		return nil, fmt.Errorf("%w: event %d can't be written without it: %w", ErrNoRoom, env.Seq, err)
	}
	return rest, nil
}
