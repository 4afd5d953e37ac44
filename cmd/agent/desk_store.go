package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"varve/internal/setup"
)

// historyLines is how many lines the composer remembers; those of other folders
// leave room for as many of this one.
const (
	historyLines  = 1000
	historyOthers = 300

	// A file with more lines than historyMost is cut to the newest historyKept, and
	// one with more than historyBytes to half of them: it is read whole at each start.
	historyMost  = 10_000
	historyKept  = 5_000
	historyBytes = 8 << 20
)

// A historyLine is what was written, and in which folder. Lines of earlier
// versions are the text alone, as a string.
type historyLine struct {
	Folder string `json:"folder,omitempty"`
	Line   string `json:"line"`
}

func (l *historyLine) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &l.Line)
	}
	type plain historyLine
	return json.Unmarshal(b, (*plain)(l))
}

// A draftFile holds what is written and not sent in one window. A folder that the
// program is started in has as many as there were windows in it at once. A lock
// beside it, which the kernel frees when its owner dies, says that it is taken.
type draftFile struct {
	path string
	lock *flock.Flock // nil: it could not be locked
}

// maxDrafts is how many windows of a folder have a draft of their own. More share
// the last one.
const maxDrafts = 16

func draftPath(state, folder string, n int) string {
	sum := sha256.Sum256([]byte(folder))
	name := "draft-" + hex.EncodeToString(sum[:8])
	if n > 1 {
		name += "-" + strconv.Itoa(n)
	}
	return filepath.Join(state, name+".txt")
}

// takeDraft takes the first draft of a folder that no window has and that says
// something, else the first that no window has, and returns what it says.
func takeDraft(state, folder string) (draftFile, string) {
	free := draftFile{path: draftPath(state, folder, maxDrafts)}
	if err := setup.Private(state); err != nil {
		return free, ""
	}
	for n := 1; n <= maxDrafts; n++ {
		f := draftFile{path: draftPath(state, folder, n)}
		b, err := os.ReadFile(f.path)
		if (err != nil || len(b) == 0) && free.lock != nil {
			continue
		}
		lock := flock.New(f.path+".lock", flock.SetPermissions(0o600))
		if ok, err := lock.TryLock(); err != nil { // no locks here: one draft for all windows
			free.close()
			return f, string(b)
		} else if !ok {
			continue // another window's
		}
		f.lock = lock
		if b, err = os.ReadFile(f.path); err == nil && len(b) > 0 { // it may have been saved meanwhile
			free.close()
			return f, string(b)
		}
		free = f
	}
	return free, ""
}

// close gives the draft to whoever comes next.
func (f draftFile) close() {
	if f.lock != nil {
		_ = f.lock.Close()
	}
}

// SaveDraft keeps what is written and not sent, in this window's file.
func (d *desk) SaveDraft(_ context.Context, text string) error {
	d.drafts.Lock()
	defer d.drafts.Unlock()
	if d.drafted {
		return nil
	}
	return d.saveDraft(text)
}

// lastDraft is the draft when the program ends, where it is to be changed. A
// save that was on its way and comes after it changes nothing.
func (d *desk) lastDraft(text string, changed bool) error {
	d.drafts.Lock()
	defer d.drafts.Unlock()
	if d.drafted {
		return nil
	}
	d.drafted = true
	defer d.draft.close()
	if !changed {
		return nil
	}
	return d.saveDraft(text)
}

func (d *desk) saveDraft(text string) error {
	if text == "" {
		if err := os.Remove(d.draft.path); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := setup.Private(d.m.folders.State); err != nil {
		return err
	}
	return renameio.WriteFile(d.draft.path, []byte(text), 0o600, renameio.WithTempDir(d.m.folders.State))
}

func (d *desk) historyPath() string { return filepath.Join(d.m.folders.State, "history.jsonl") }

func (d *desk) Remember(ctx context.Context, line string) error {
	if err := setup.Private(d.m.folders.State); err != nil {
		return err
	}
	b, err := json.Marshal(historyLine{d.folder, line})
	if err != nil {
		return err
	}
	return locked(ctx, d.historyPath(), func() error {
		f, err := os.OpenFile(d.historyPath(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(append(b, '\n'))
		return errors.Join(err, f.Close())
	})
}

// trimHistory leaves the newest lines of a file that has grown long. Whoever adds
// a line meanwhile waits, so that none is lost.
func (d *desk) trimHistory(ctx context.Context) error {
	return locked(ctx, d.historyPath(), func() error {
		b, err := os.ReadFile(d.historyPath())
		if err != nil || bytes.Count(b, []byte{'\n'}) <= historyMost && len(b) <= historyBytes {
			return err // another window was first
		}
		return renameio.WriteFile(d.historyPath(), newest(b), 0o600, renameio.WithTempDir(d.m.folders.State))
	})
}

// newest are the lines that stay: the last one, however long, and those before it
// that there is room for.
func newest(b []byte) []byte {
	from := len(b)
	for n := 0; from > 0 && n < historyKept; n++ {
		at := bytes.LastIndexByte(b[:from-1], '\n') + 1
		if n > 0 && len(b)-at > historyBytes/2 {
			break
		}
		from = at
	}
	return b[from:]
}

// lockWait is how long another window may hold a file of the state folder.
var lockWait = 2 * time.Second

// locked does something to a file of the state folder while no other window of
// the program does. The lock is a file beside it, which stays.
func locked(ctx context.Context, path string, do func() error) error {
	l := flock.New(path+".lock", flock.SetPermissions(0o600))
	wait, stop := context.WithTimeout(ctx, lockWait)
	defer stop()
	ok, err := l.TryLockContext(wait, 5*time.Millisecond)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("another window has held %s for %s", l.Path(), lockWait)
	case err != nil || !ok:
		return do() // no locks here: as good as it can be
	}
	defer l.Close()
	return do()
}

// History returns the lines of other folders before those of this one, so that
// a walk or a search from the newest on finds this folder's first (TUI-4).
func (d *desk) History(ctx context.Context) ([]string, error) {
	b, err := os.ReadFile(d.historyPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var here, others []string
	lines := 0
	for line := range bytes.Lines(b) {
		lines++
		var l historyLine
		switch {
		case json.Unmarshal(line, &l) != nil || l.Line == "":
		case l.Folder == d.folder:
			here = append(here, l.Line)
		default:
			others = append(others, l.Line)
		}
	}
	room := max(historyLines-len(here), historyOthers)
	others = others[max(len(others)-room, 0):]
	here = here[max(len(here)-(historyLines-len(others)), 0):]
	if lines > historyMost || len(b) > historyBytes {
		_ = d.trimHistory(ctx) // the next start tries again
	}
	return append(others, here...), nil
}
