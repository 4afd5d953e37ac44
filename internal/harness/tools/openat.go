package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxEdit is the largest file that is hashed, diffed and edited, in bytes.
const maxEdit = 16 << 20

// openDir opens a real path component by component and follows no symlink, so that a folder swapped for a link after
// the path was judged is an error and not a way out (SEC-3).
func openDir(real string, mkdir bool) (int, error) {
	fd, err := unix.Open("/", searchDir|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: "/", Err: err}
	}
	at := "/"
	for c := range strings.SplitSeq(strings.Trim(real, "/"), "/") {
		if c == "" {
			continue
		}
		at = filepath.Join(at, c)
		next, err := openIn(fd, c, searchDir|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if mkdir && err == unix.ENOENT {
			if err = unix.Mkdirat(fd, c, 0o777); err == nil || err == unix.EEXIST {
				next, err = openIn(fd, c, searchDir|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			}
		}
		unix.Close(fd)
		if err != nil {
			return -1, &fs.PathError{Op: "open", Path: at, Err: err}
		}
		fd = next
	}
	return fd, nil
}

func openIn(dir int, name string, flags int, perm uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, perm)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// openFile opens a real path for reading, if it is a regular file: never a FIFO or a device, which could block or
// never end. The error names what is there instead.
func openFile(real string) (*os.File, fs.FileInfo, error) {
	fi, err := os.Lstat(real)
	if err == nil {
		err = regular(fi)
	}
	if err != nil {
		return nil, nil, err
	}
	dir, err := openDir(filepath.Dir(real), false)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(dir)
	fd, err := openIn(dir, filepath.Base(real), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: real, Err: err}
	}
	f := os.NewFile(uintptr(fd), real)
	if fi, err = f.Stat(); err == nil {
		err = regular(fi)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// errNotFile is what regular answers; its words end a sentence that begins with the path.
type errNotFile string

func (e errNotFile) Error() string { return string(e) }

func regular(fi fs.FileInfo) error {
	switch m := fi.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		return errNotFile("is a folder; use ls")
	case m&fs.ModeNamedPipe != 0:
		return errNotFile("is a named pipe, not a file")
	case m&fs.ModeSocket != 0:
		return errNotFile("is a socket, not a file")
	case m&fs.ModeDevice != 0:
		return errNotFile("is a device, not a file")
	default:
		return errNotFile("is not a regular file")
	}
}

// stopReads makes reads of f fail when ctx ends, where the kernel can do that; regular files never wait long anyway.
func stopReads(ctx context.Context, f *os.File) (release func() bool) {
	return context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
}

// load reads a whole file for an edit or a diff, at most maxEdit bytes.
func load(ctx context.Context, real string) ([]byte, fs.FileInfo, error) {
	f, fi, err := openFile(real)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	defer stopReads(ctx, f)()
	data := make([]byte, 0, min(fi.Size(), maxEdit)+512)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if len(data) > maxEdit {
			return nil, nil, errNotFile(fmt.Sprintf("is larger than %s, the most that is edited; use bash", size(maxEdit)))
		}
		if errors.Is(err, io.EOF) {
			return data, fi, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}
