package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// lockedWait is how long a file that another window has is waited for.
const lockedWait = 2 * time.Second

// locked does what reads a file of the state folder and writes it anew, while no
// other window does. The lock stands beside the file, which is replaced. Where the
// file system has no locks it is done all the same.
func locked(path string, do func() error) error {
	l := flock.New(path+".lock", flock.SetPermissions(0o600))
	ctx, stop := context.WithTimeout(context.Background(), lockedWait)
	defer stop()
	if _, err := l.TryLockContext(ctx, 2*time.Millisecond); errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("another program has held the lock of %s for %s", filepath.Base(path), lockedWait)
	}
	defer l.Close()
	return do()
}
