package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
)

// lockWait is how long Save waits for another process that is saving.
const lockWait = 5 * time.Second

// A Draft is a document being edited. It remembers which values it touched and what they
// were, so that saving it keeps everything else that has changed on disk since (SET-4).
type Draft struct {
	path  string
	base  []byte // as read
	doc   []byte // with the edits
	edits []edit
}

// An edit is one value set (or removed: value nil), and what was there before, nil where
// nothing was.
type edit struct {
	at         Path
	was, value jsontext.Value
}

// A Conflict is a value that someone else changed since the draft was read. Nothing was
// saved; a new Draft starts from what is there now.
type Conflict struct {
	Path Path
	Was  jsontext.Value // when the draft was read; nil: absent. May hold a secret.
	Now  jsontext.Value
}

func (c *Conflict) Error() string {
	return fmt.Sprintf("%s was changed in setup.json meanwhile; nothing is saved, look at it and try again", c.Path)
}

// A Refusal is an edit that would write nonsense. Nothing was saved.
type Refusal struct{ Problems []Problem }

func (r *Refusal) Error() string {
	p := r.Problems[0]
	text := p.Path.String() + ": " + p.What
	if more := len(r.Problems) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text + "; nothing is saved"
}

// OpenDraft reads a document for editing. A missing file is an empty one; a file that
// can't be parsed is a *Fault, and there is no draft of it.
func OpenDraft(path string) (*Draft, error) {
	doc, err := readFile(path)
	if err != nil {
		return nil, err
	}
	if doc == nil {
		doc = []byte("{}\n")
	}
	if _, err := parse(path, doc); err != nil {
		return nil, err
	}
	return &Draft{path: path, base: doc, doc: doc}, nil
}

// Edit changes the document at path: OpenDraft, edit, Save.
func Edit(path string, edit func(*Draft) error) error {
	d, err := OpenDraft(path)
	if err != nil {
		return err
	}
	if err := edit(d); err != nil {
		return err
	}
	return d.Save()
}

// Get is the value at a path as the draft has it; nil where there is none.
func (d *Draft) Get(at Path) jsontext.Value { return valueAt(d.doc, at) }

func valueAt(doc []byte, at Path) jsontext.Value {
	root, err := parse("", doc)
	if err != nil {
		return nil
	}
	n := root.at(at)
	if n == nil {
		return nil
	}
	return bytes.Clone(doc[n.start:n.end])
}

// Bytes is the document as it would be saved if nobody else changed it.
func (d *Draft) Bytes() []byte { return bytes.Clone(d.doc) }

// Set puts a value (a jsontext.Value as it is, else marshalled) at a path.
func (d *Draft) Set(at Path, value any) error {
	raw, ok := value.(jsontext.Value)
	if !ok {
		b, err := json.Marshal(value, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		raw = b
	}
	if !raw.IsValid() {
		return fmt.Errorf("%s: the value is not JSON", at)
	}
	return d.apply(at, raw)
}

// Delete removes the value at a path; none is no error.
func (d *Draft) Delete(at Path) error { return d.apply(at, nil) }

// SetModels puts a chain at a path. An entry that was in the list keeps the members that
// are not ours, wherever it moves.
func (d *Draft) SetModels(at Path, chain []ModelRef) error {
	var have []jsontext.Value
	if root, err := parse("", d.doc); err == nil {
		if n := root.at(at); n != nil {
			for _, e := range n.elems {
				have = append(have, bytes.Clone(d.doc[e.start:e.end]))
			}
		}
	}
	list := []jsontext.Value{}
	for _, ref := range chain {
		entry := jsontext.Value(nil)
		for i, raw := range have {
			if raw != nil && refOf(raw) == ref {
				entry, have[i] = raw, nil
				break
			}
		}
		if entry == nil {
			entry, _ = json.Marshal(ref)
		}
		list = append(list, entry)
	}
	return d.Set(at, list)
}

// refOf is an entry of a chain as it was read: blank where it can't be.
func refOf(raw jsontext.Value) ModelRef {
	var entry struct {
		Provider any `json:"provider"`
		Model    any `json:"model"`
	}
	if json.Unmarshal(raw, &entry) != nil {
		return ModelRef{}
	}
	word := func(v any) string {
		if s, ok := v.(string); ok && strings.TrimSpace(s) != "" {
			return s
		}
		return ""
	}
	return ModelRef{word(entry.Provider), word(entry.Model)}
}

func (d *Draft) apply(at Path, value jsontext.Value) error {
	for _, seg := range at {
		if !utf8.ValidString(seg) {
			return fmt.Errorf("%q is not UTF-8 and can't be a key", seg)
		}
	}
	next, err := splice(d.doc, at, value)
	if err != nil {
		return err
	}
	d.doc = next
	d.edits = append(d.edits, edit{at.At(), valueAt(d.base, at), value})
	return nil
}

// Save writes the draft's edits into what is on disk now. The file is replaced at once,
// mode 0600, behind setup.json.lock; the one before is kept as setup.json.bak; a link is
// followed. Errors: *Fault (the file can't be parsed any more), *Conflict, *Refusal, or
// the system's. After an error the draft is as it was; after a save it starts from what
// was written.
func (d *Draft) Save() error {
	if len(d.edits) == 0 {
		return nil
	}
	path, err := resolve(d.path)
	if err != nil {
		return err
	}
	if err := Private(filepath.Dir(path)); err != nil {
		return fmt.Errorf("save setup.json: %w", err)
	}
	unlock, err := lock(path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	for range 3 { // an editor takes no lock: look again just before the file is replaced
		disk, err := readFile(path)
		if err != nil {
			return err
		}
		next, err := d.merge(disk)
		if err != nil {
			return err
		}
		if bytes.Equal(next, disk) {
			d.base, d.doc, d.edits = next, next, nil
			return nil
		}
		if again, err := readFile(path); err != nil || !bytes.Equal(again, disk) {
			continue
		}
		if disk != nil {
			if err := write(path+".bak", disk); err != nil {
				return fmt.Errorf("keep the previous setup.json: %w", err)
			}
		}
		if err := write(path, next); err != nil {
			return fmt.Errorf("save setup.json: %w", err)
		}
		d.base, d.doc, d.edits = next, next, nil
		return nil
	}
	return fmt.Errorf("save setup.json: %w", errors.New("it keeps changing; try again"))
}

// merge puts the edits into a document; nil is a file that is not there.
func (d *Draft) merge(disk []byte) ([]byte, error) {
	now := disk
	if now == nil {
		now = []byte("{}\n")
	}
	if _, err := parse(d.path, now); err != nil {
		return nil, err
	}
	last := map[string]jsontext.Value{}
	for _, e := range d.edits {
		last[e.at.String()] = e.value
	}
	next := now
	for _, e := range d.edits {
		there := valueAt(now, e.at)
		if !same(there, e.was) && !same(there, last[e.at.String()]) {
			return nil, &Conflict{Path: e.at, Was: e.was, Now: there}
		}
		if same(e.value, valueAt(next, e.at)) {
			continue
		}
		var err error
		if next, err = splice(next, e.at, e.value); err != nil {
			return nil, err
		}
	}
	return next, d.check(now, next)
}

// check refuses a document in which something that was edited is nonsense. What was wrong
// before is not this edit's to mend: elsewhere, and in a list of which it changes something else.
func (d *Draft) check(before, doc []byte) error {
	root, err := parse(d.path, doc)
	if err != nil {
		return err
	}
	was, err := parse(d.path, before)
	if err != nil {
		return err
	}
	old := map[string]int{} // problems within lists that are edited, by what is wrong
	for _, p := range load(Options{Path: d.path}, was, before, nil).Problems {
		for _, e := range d.edits {
			if p.Origin.From == FromUser && e.value.Kind() == '[' && len(p.Path) > len(e.at) && p.Path.touches(e.at) {
				old[e.at.String()+p.What]++
				break
			}
		}
	}
	var r Refusal
	for _, p := range load(Options{Path: d.path}, root, doc, nil).Problems {
		for _, e := range d.edits {
			if p.Origin.From != FromUser || !p.Path.touches(e.at) {
				continue
			}
			if key := e.at.String() + p.What; old[key] > 0 && len(p.Path) > len(e.at) {
				old[key]--
			} else {
				r.Problems = append(r.Problems, p)
			}
			break
		}
	}
	if len(r.Problems) > 0 {
		return &r
	}
	return nil
}

// same compares values but for white space.
func same(a, b jsontext.Value) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	a, b = a.Clone(), b.Clone()
	return a.Compact() == nil && b.Compact() == nil && bytes.Equal(a, b)
}

// resolve follows a link, so that the file behind it is replaced and not the link.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		if l, lerr := os.Lstat(path); lerr == nil && l.Mode()&os.ModeSymlink != 0 {
			return "", fmt.Errorf("save setup.json: %s is a link to a file that doesn't exist; make or remove it", path)
		}
		return path, nil
	}
	if err != nil {
		return "", fmt.Errorf("save setup.json: %w", err)
	}
	return real, nil
}

func lock(path string) (unlock func(), err error) {
	l := flock.New(path, flock.SetPermissions(0o600))
	ctx, stop := context.WithTimeout(context.Background(), lockWait)
	defer stop()
	ok, err := l.TryLockContext(ctx, 5*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("save setup.json: another process has held %s for %s; end it, then try again", path, lockWait)
	}
	if err != nil || !ok {
		return nil, fmt.Errorf("lock setup.json: %w", err)
	}
	return func() { _ = l.Close() }, nil
}

// write replaces a file at once, mode 0600 whatever it was.
func write(path string, b []byte) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
