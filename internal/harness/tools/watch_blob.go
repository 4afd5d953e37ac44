package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// fetch brings what files held before a command from git's store into ours.
func (w *watch) fetch(ctx context.Context, all []*moved) {
	want := map[*gitat][]*moved{}
	for _, m := range all {
		if m.done && !m.same && m.held.oid != (oid{}) {
			want[m.held.repo] = append(want[m.held.repo], m)
		}
	}
	for r, list := range want {
		blobs, err := w.objects(ctx, r, list)
		filters := w.filters(r, all, blobs)
		each(list, func(m *moved) {
			b, ok := blobs[m.held.oid]
			switch {
			case !ok && err != nil:
				m.held = held{why: "git's objects can't be read: " + err.Error()}
			case !ok:
				m.held = held{why: "git does not hold it any more, or it is larger than " + size(maxChange)}
			case !m.held.proved && (int64(len(b)) != m.sig.size || isPointer(b) || filters(m.path)):
				m.held = held{why: "git holds it in another form than the file had"}
			default:
				m.held = w.keep(b)
			}
		})
	}
}

// objects reads blobs by `git cat-file` in a repository of our own, which is empty and has the other's objects: no
// setting, attribute, hook or alias of that one is read, and none of its remotes asked (SEC-4). What it answers is
// checked against the hashes.
func (w *watch) objects(ctx context.Context, r *gitat, list []*moved) (map[oid][]byte, error) {
	git, err := w.box.git()
	if err != nil {
		return nil, err
	}
	own, err := os.MkdirTemp(w.box.TempDir, "varve-git-")
	if err != nil {
		return nil, cause(err)
	}
	defer os.RemoveAll(own)
	for _, dir := range []string{"objects", "refs"} {
		if err := os.Mkdir(filepath.Join(own, dir), 0o700); err != nil {
			return nil, cause(err)
		}
	}
	if err := os.WriteFile(filepath.Join(own, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600); err != nil {
		return nil, cause(err)
	}
	var ask bytes.Buffer
	asked := map[oid]bool{}
	for _, m := range list {
		if !asked[m.held.oid] {
			fmt.Fprintf(&ask, "%x\n", m.held.oid[:])
		}
		asked[m.held.oid] = true
	}
	ctx, cancel := context.WithTimeout(ctx, lookAfter)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, "cat-file", "--batch")
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = own, &ask, time.Second
	cmd.Env = []string{
		"GIT_DIR=" + own, "GIT_OBJECT_DIRECTORY=" + filepath.Join(r.common, "objects"), "HOME=" + own, "XDG_CONFIG_HOME=" + own,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C", "PATH=" + w.box.env("PATH"),
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, cause(err)
	}
	blobs, err := readBatch(out)
	if err != nil { // it is not waited for when it was not read to its end
		cancel()
	}
	if werr := cmd.Wait(); err == nil && len(blobs) == 0 {
		err = werr
	}
	return blobs, err
}

// readBatch reads what `git cat-file --batch` prints, and leaves out what is missing, no blob, too large, or not what
// its name says.
func readBatch(out io.Reader) (map[oid][]byte, error) {
	blobs, left := map[oid][]byte{}, int64(maxChanges)
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return blobs, nil
		}
		if err != nil {
			return blobs, err
		}
		words := strings.Fields(line)
		if len(words) != 3 { // "… missing"
			continue
		}
		n, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil || n < 0 {
			return blobs, fmt.Errorf("git said %q", clip(line, 80))
		}
		if words[1] != "blob" || n > min(maxChange, left) {
			_, err = io.CopyN(io.Discard, in, n+1)
		} else {
			left -= n
			b := make([]byte, n+1)
			if _, err = io.ReadFull(in, b); err == nil {
				if id := blobID(b[:n]); hex.EncodeToString(id[:]) == words[0] {
					blobs[id] = b[:n:n]
				}
			}
		}
		if err != nil {
			return blobs, err
		}
	}
}

var errNoGit = errors.New("git is not installed")

// git finds the program, never inside the workspace.
func (b *Box) git() (string, error) {
	for dir := range strings.SplitSeq(b.env("PATH"), ":") {
		if !filepath.IsAbs(dir) {
			continue
		}
		path, err := realpath(filepath.Join(dir, "git"))
		if err != nil || within(b.workspace, path) {
			continue
		}
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return filepath.Join(dir, "git"), nil
		}
	}
	return "", errNoGit
}

// filters says of files whether a filter or an encoding may stand between them and what git holds, in a way that keeps
// the size: one that an attributes file from their folder up has named before the command. Those of git-lfs don't count,
// its pointers are known by their first words.
func (w *watch) filters(r *gitat, all []*moved, blobs map[oid][]byte) func(path string) bool {
	before := map[string][]byte{}
	for _, m := range all {
		if filepath.Base(m.path) != ".gitattributes" {
			continue
		}
		if before[m.path] = blobs[m.held.oid]; m.held.sha != "" {
			before[m.path], _ = w.box.Blobs.Get(m.held.sha)
		}
	}
	var mu sync.Mutex
	known := map[string][]gitignore.Pattern{}
	patterns := func(path string) []gitignore.Pattern {
		mu.Lock()
		defer mu.Unlock()
		list, ok := known[path]
		if !ok {
			b, ok := before[path]
			if !ok {
				b, _, _ = load(context.Background(), path)
			}
			list = filtered(b)
			known[path] = list
		}
		return list
	}
	return func(path string) bool {
		hit := func(file, dir string) bool {
			comps := strings.Split(strings.TrimPrefix(path, dir+"/"), "/")
			return slices.ContainsFunc(patterns(file), func(p gitignore.Pattern) bool { return p.Match(comps, false) != gitignore.NoMatch })
		}
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			if hit(filepath.Join(dir, ".gitattributes"), dir) {
				return true
			}
			if dir == r.root || dir == "/" {
				break
			}
		}
		return hit(filepath.Join(r.common, "info", "attributes"), r.root) || hit(w.box.gitConfig("attributes"), r.root) || hit("/etc/gitattributes", r.root)
	}
}

func isPointer(b []byte) bool { return bytes.HasPrefix(b, []byte("version https://git-lfs")) }

// filtered is the patterns that attributes give a filter or an encoding; a macro or a quoted pattern stands for all.
func filtered(attributes []byte) (out []gitignore.Pattern) {
	for line := range strings.Lines(string(attributes)) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0][0] == '#' {
			continue
		}
		for _, word := range words[1:] {
			name, value, set := strings.Cut(word, "=")
			if !set || name != "working-tree-encoding" && (name != "filter" || value == "lfs") {
				continue
			}
			pattern := words[0]
			if strings.HasPrefix(pattern, "[attr]") || pattern[0] == '"' || pattern[0] == '!' {
				pattern = "*"
			}
			out = append(out, gitignore.ParsePattern(pattern, nil))
		}
	}
	return out
}
