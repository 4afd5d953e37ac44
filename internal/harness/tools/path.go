package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// realpath is where the kernel would end up: symlinks followed one by one, ".." taken after them, the last component
// included (PERM-4). What does not exist yet is kept as named. p must be absolute and must not have been cleaned:
// "link/.." is the parent of the link's target.
func realpath(p string) (string, error) {
	cur, links := "/", 0
	rest := strings.Split(p, "/")
	for len(rest) > 0 {
		c := rest[0]
		rest = rest[1:]
		switch c {
		case "", ".":
			continue
		case "..":
			cur = filepath.Dir(cur)
			continue
		}
		next := filepath.Join(cur, c)
		fi, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			cur = next
			continue
		case err != nil:
			return "", err
		case fi.Mode()&fs.ModeSymlink == 0:
			cur = next
			continue
		}
		if links++; links > 40 {
			return "", &fs.PathError{Op: "resolve", Path: p, Err: syscall.ELOOP}
		}
		to, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(to, "/") {
			cur = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return cur, nil
}

// resolve judges a name as the model wrote it: relative to the workspace, "~/" to HOME.
func (b *Box) resolve(name string) (Path, error) {
	switch {
	case name == "":
		return Path{}, errors.New("an empty path names nothing")
	case strings.IndexByte(name, 0) >= 0:
		return Path{}, errors.New("a path can't hold a NUL byte")
	}
	full := name
	if home := b.env("HOME"); home != "" && (name == "~" || strings.HasPrefix(name, "~/")) {
		full = home + name[1:]
	} else if !strings.HasPrefix(name, "/") {
		full = b.workspace + "/" + name
	}
	real, err := realpath(full)
	if err != nil {
		return Path{}, fmt.Errorf("path %s can't be resolved: %w", name, cause(err))
	}
	return Path{Name: name, Real: real, Inside: within(b.workspace, real), Protected: b.protected(real)}, nil
}

func (b *Box) env(key string) string {
	for _, kv := range slices.Backward(b.Env) {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			return v
		}
	}
	return ""
}

func within(dir, p string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// guard is a protected folder, by its real path and by what it is: another spelling (a file system that ignores
// case, a second mount) is the same folder.
type guard struct {
	real string
	is   fs.FileInfo // nil while it does not exist
}

func newGuard(p string) (guard, error) {
	abs, err := filepath.Abs(p)
	if err != nil {
		return guard{}, err
	}
	real, err := realpath(abs)
	if err != nil {
		return guard{}, err
	}
	fi, err := os.Lstat(real)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return guard{}, err
	}
	return guard{real, fi}, nil
}

func (b *Box) protected(real string) bool {
	for _, g := range b.guarded {
		if within(g.real, real) {
			return true
		}
	}
	for p := real; len(b.guarded) > 0; p = filepath.Dir(p) {
		if fi, err := os.Lstat(p); err == nil {
			for _, g := range b.guarded {
				if g.is != nil && os.SameFile(fi, g.is) {
					return true
				}
			}
		}
		if p == "/" {
			break
		}
	}
	return false
}

// rel is how a real path is shown: relative to the workspace when inside it.
func (b *Box) rel(real string) string {
	if real == b.workspace {
		return "."
	}
	if b.workspace != "/" && within(b.workspace, real) {
		return real[len(b.workspace)+1:]
	}
	return real
}

// take resolves a path argument into the plan; an absent one is the workspace.
func (p *prep) take(name string) (Path, error) {
	if name == "" {
		name = "."
	}
	at, err := p.resolve(name)
	if err != nil {
		return at, err
	}
	p.plan.Paths = append(p.plan.Paths, at)
	p.plan.Subject = p.rel(at.Real)
	return at, nil
}

// writable resolves the path of a writing tool and refuses what no approval can allow.
func (p *prep) writable(name string) (Path, error) {
	p.plan.Effects = []Effect{Reads, Writes}
	if name == "" {
		return Path{}, errors.New("file_path is empty")
	}
	at, err := p.take(name)
	if err == nil && at.Protected {
		err = fmt.Errorf("%s belongs to Varve itself (settings, keys, sessions) and is never written by a tool", name)
	}
	return at, err
}

// cause drops the operation and path of an OS error: the sentence around it names the path as the model knows it.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	var se *os.SyscallError
	if errors.As(err, &se) {
		return se.Err
	}
	return err
}
