package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"varve/internal/setup"
)

// historyLines is how many lines the composer remembers.
const historyLines = 1000

func (d *desk) draftPath() string {
	sum := sha256.Sum256([]byte(d.folder))
	return filepath.Join(d.m.folders.State, "draft-"+hex.EncodeToString(sum[:8])+".txt")
}

// SaveDraft keeps what is written and not sent. There is one draft for each
// folder that the program is started in: the one of the window that was typed
// in last.
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
	d.drafted = true
	if !changed {
		return nil
	}
	return d.saveDraft(text)
}

func (d *desk) saveDraft(text string) error {
	if text == "" {
		if err := os.Remove(d.draftPath()); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := setup.Private(d.m.folders.State); err != nil {
		return err
	}
	return renameio.WriteFile(d.draftPath(), []byte(text), 0o600)
}

func (d *desk) historyPath() string { return filepath.Join(d.m.folders.State, "history.jsonl") }

func (d *desk) Remember(_ context.Context, line string) error {
	if err := setup.Private(d.m.folders.State); err != nil {
		return err
	}
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(d.historyPath(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	return errors.Join(err, f.Close())
}

func (d *desk) History(context.Context) ([]string, error) {
	f, err := os.Open(d.historyPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 4<<20)
	for sc.Scan() {
		var s string
		if json.Unmarshal(sc.Bytes(), &s) == nil {
			out = append(out, s)
		}
	}
	return out[max(len(out)-historyLines, 0):], sc.Err()
}
