package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"varve/internal/harness/drive"
)

// ErrHeld says that another process works on the branch.
var ErrHeld = drive.ErrHeld

// A hold is the run lock of a branch (LOG-14): an OS lock that the kernel
// frees when its owner dies. Its file says nothing and may be deleted while
// nobody holds it.
type hold struct{ lock *flock.Flock }

func lockPath(stateDir, session, branch string) string {
	return filepath.Join(stateDir, "locks", session+"."+branch+".lock")
}

func take(ctx context.Context, stateDir, session, branch string) (*hold, error) {
	path := lockPath(stateDir, session, branch)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("run lock: %w", err)
	}
	l := flock.New(path, flock.SetPermissions(0o600))
	// Who asks whether it is held has it for a moment (see Held), and who has
	// just closed its run is about to let it go.
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	ok, err := l.TryLockContext(ctx, 5*time.Millisecond)
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("run lock: %w", err)
	}
	if !ok {
		return nil, ErrHeld
	}
	return &hold{l}, nil
}

func (h *hold) release() {
	if h != nil {
		_ = h.lock.Close()
	}
}

// Held reports whether somebody works on a branch. It asks without taking the
// lock away from anybody: a shared lock for a moment.
func Held(stateDir, session, branch string) bool {
	path := lockPath(stateDir, session, branch)
	if _, err := os.Stat(path); err != nil {
		return false
	}
	l := flock.New(path, flock.SetPermissions(0o600))
	defer l.Close()
	ok, err := l.TryRLock()
	return err == nil && !ok
}

// workspaceKey is a folder's name for its sessions: readable, and its own.
func workspaceKey(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	base := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, filepath.Base(workspace))
	if len(base) > 40 {
		base = base[:40]
	}
	return base + "-" + hex.EncodeToString(sum[:4])
}
