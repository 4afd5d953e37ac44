// Package assemble finds instructions on disk, and reports what it took.
//
// Nothing that it reads runs, and nothing is cut: a source that is too large
// or can't be read is left out whole, with the reason (ASM-2). Before a
// workspace is trusted nothing under its .agents/ is read; AGENTS.md is, as
// data (SEC-4).
package assemble

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"varve/internal/session"
)

//go:embed prompt.md
var prompt string

// Limits of what is taken, in characters (ASM-2).
const (
	SourceLimit = 64 << 10
	TotalLimit  = 256 << 10
)

// Outcomes of a source.
const (
	Published = "published"
	Omitted   = "omitted"
	Blank     = "blank"
)

// Where says where to look.
type Where struct {
	Workspace string // the working directory, absolute
	ConfigDir string // the user's own
	Platform  string // "linux/amd64"
	Trusted   bool   // the project's .agents/ may be read
}

// A Report is what was found. Texts has the text of each published source, by
// key; keys order them.
type Report struct {
	Fingerprint string
	Sources     []session.AssemblySource
	Texts       map[string][]byte
}

// Look reads every source. It fails only when ctx is done: what can't be read
// is in the report.
func Look(ctx context.Context, w Where) (Report, error) {
	r := &Report{Texts: map[string][]byte{}}
	r.publish("00-agent", "", []byte(fmt.Sprintf(strings.TrimSpace(prompt), w.Workspace, w.Platform)))
	if w.ConfigDir != "" {
		r.guide("10-user", w.ConfigDir, w.ConfigDir)
		r.prompts("20-user-prompts", filepath.Join(w.ConfigDir, "prompts"), w.ConfigDir)
	}
	root := projectRoot(w.Workspace)
	for i, dir := range between(root, w.Workspace) {
		if ctx.Err() != nil {
			return Report{}, ctx.Err()
		}
		r.guide(fmt.Sprintf("30-project/%02d", i), dir, root)
	}
	if w.Trusted {
		r.prompts("40-project-prompts", filepath.Join(root, ".agents", "prompts"), root)
	}
	return r.finish(), nil
}

// projectRoot is the nearest folder upwards that holds .git, or the workspace
// itself.
func projectRoot(dir string) string {
	for d := dir; ; {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		up := filepath.Dir(d)
		if up == d {
			return dir
		}
		d = up
	}
}

// between lists the folders from root down to dir.
func between(root, dir string) []string {
	var out []string
	for d := dir; ; d = filepath.Dir(d) {
		out = append(out, d)
		if d == root || d == filepath.Dir(d) {
			break
		}
	}
	slices.Reverse(out)
	return out
}

// guide takes a folder's AGENTS.md; CLAUDE.md and GEMINI.md where there is
// none (ASM-1).
func (r *Report) guide(key, dir, within string) {
	for _, name := range []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md"} {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		r.file(key+"/"+name, path, within)
		if name == "AGENTS.md" {
			return
		}
	}
}

// prompts takes the .md and .txt files that stand directly in a folder, by
// name.
func (r *Report) prompts(key, dir, within string) {
	entries, err := os.ReadDir(dir) // sorted by name
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		r.omit(key, dir, 0, "unreadable: "+reason(err))
		return
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".md" || ext == ".txt") {
			r.file(key+"/"+e.Name(), filepath.Join(dir, e.Name()), within)
		}
	}
}

func (r *Report) file(key, path, within string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		r.omit(key, path, 0, "unreadable: "+reason(err))
		return
	}
	if base, err := filepath.EvalSymlinks(within); err != nil || !inside(base, real) {
		r.omit(key, path, 0, "it leads out of "+within)
		return
	}
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() {
		r.omit(key, path, 0, "not a regular file")
		return
	}
	f, err := os.Open(real)
	if err != nil {
		r.omit(key, path, info.Size(), "unreadable: "+reason(err))
		return
	}
	defer f.Close()
	// Four bytes are the longest character.
	b, err := io.ReadAll(io.LimitReader(f, 4*SourceLimit+4))
	switch {
	case err != nil:
		r.omit(key, path, info.Size(), "unreadable: "+reason(err))
	case !utf8.Valid(b) && int64(len(b)) == info.Size():
		r.omit(key, path, info.Size(), "not valid UTF-8")
	case utf8.RuneCount(b) > SourceLimit || int64(len(b)) < info.Size():
		r.omit(key, path, info.Size(), fmt.Sprintf("longer than %d characters", SourceLimit))
	default:
		text := strings.TrimPrefix(string(b), "\uFEFF")
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
		if strings.TrimSpace(text) == "" {
			r.Sources = append(r.Sources, session.AssemblySource{Path: path, Key: key, Size: info.Size(), Outcome: Blank})
			return
		}
		r.publish(key, path, []byte(text))
	}
}

func inside(base, path string) bool {
	rel, err := filepath.Rel(base, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

func (r *Report) publish(key, path string, text []byte) {
	sum := sha256.Sum256(text)
	r.Sources = append(r.Sources, session.AssemblySource{
		Path: path, Key: key, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(text)), Outcome: Published,
	})
	r.Texts[key] = text
}

func (r *Report) omit(key, path string, size int64, why string) {
	r.Sources = append(r.Sources, session.AssemblySource{Path: path, Key: key, Size: size, Outcome: Omitted, Why: why})
}

// finish leaves out, whole, what goes over the limit for all, and hashes what
// is there.
func (r *Report) finish() Report {
	slices.SortStableFunc(r.Sources, func(a, b session.AssemblySource) int { return strings.Compare(a.Key, b.Key) })
	total := 0
	h := sha256.New()
	for i := range r.Sources {
		s := &r.Sources[i]
		if text, ok := r.Texts[s.Key]; ok {
			n := utf8.RuneCount(text)
			if total+n > TotalLimit {
				delete(r.Texts, s.Key)
				s.Outcome, s.Why = Omitted, fmt.Sprintf("all instructions together are longer than %d characters", TotalLimit)
			} else {
				total += n
			}
		}
		fmt.Fprintf(h, "%s\x00%s\x00%s\x00%s\x00%s\n", s.Key, s.Path, s.SHA256, s.Outcome, s.Why)
	}
	r.Fingerprint = hex.EncodeToString(h.Sum(nil)[:16])
	return *r
}

// reason is what the system said, without the path: that stands beside it.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
