package harness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/internal/content"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// A cellar is a data directory with sessions that tests write themselves.
type cellar struct {
	t     *testing.T
	dir   string
	state string
	blobs *content.Store
	n     int
}

func newCellar(t *testing.T) *cellar {
	dir := t.TempDir()
	return &cellar{t: t, dir: dir, state: t.TempDir(), blobs: content.Open(dir)}
}

// session is a new session of a few events, the last of which is a message.
func (c *cellar) session() *Session {
	c.t.Helper()
	c.n++
	id := fmt.Sprintf("0197f3a1-0000-7000-8000-%012d", c.n)
	s := New(PathFor(c.dir, "/w", id), c.blobs, jsonl.Never, System{})
	c.record(s, session.Fact{Event: session.SessionCreated{Format: 1, ID: id, Workspace: "/w"}},
		session.Fact{Event: session.SessionConfigured{PermissionMode: "full", Fingerprint: "f"}},
		session.Fact{Event: session.ModelChosen{Model: session.Model{Provider: "p", API: "openai-chat", Model: "m"}, By: "user"}},
		session.Fact{Event: session.RunStarted{Run: "r"}},
		spoke("hello there, this is a message"))
	c.t.Cleanup(func() { s.Close() })
	return s
}

func spoke(text string, more ...session.Part) session.Fact {
	return session.Fact{
		Event: session.UserSaid{Via: "prompt", Text: &session.Text{}, Tokens: session.Estimate(len(text))},
		Body:  append([]session.Part{{Bytes: []byte(text)}}, more...),
	}
}

func (c *cellar) record(s *Session, facts ...session.Fact) {
	c.t.Helper()
	if err := s.Record(context.Background(), "main", s.State("main").Branch.Head, facts); err != nil {
		c.t.Fatal(err)
	}
}

// blob is a stored text, put long ago.
func (c *cellar) blob(text string) (string, session.Part) {
	c.t.Helper()
	sha := must(c.blobs.Put([]byte(text)))
	c.age(sha)
	return sha, session.Part{Ref: &session.Ref{SHA256: sha, MediaType: "text/plain", Size: int64(len(text))}}
}

func (c *cellar) age(sha string) {
	old := time.Now().Add(-30 * 24 * time.Hour)
	if err := os.Chtimes(must(c.blobs.Path(sha)), old, old); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cellar) collect(change func(*Collection)) (Collected, error) {
	pass := Collection{DataDir: c.dir, Blobs: c.blobs, Now: time.Now(), Grace: Grace}
	if change != nil {
		change(&pass)
	}
	return pass.Run(context.Background())
}

func names(all []Waste) (out []string) {
	for _, w := range all {
		out = append(out, w.Name)
	}
	return out
}

// What a session refers to stays, directly or by an edge, also in an event that nobody knows; what merely stands in a
// text goes, when it is old. // CAS-4, CAS-5, LOG-12
func TestCollect(t *testing.T) {
	c := newCellar(t)
	s := c.session()
	_, named := c.blob("named by a message")
	onlySource, _ := c.blob("an instruction's source")
	unknown, _ := c.blob("named by an event of a newer program")
	piece, _ := c.blob("named by a line without its end")
	text, _ := c.blob("named in a text")
	orphan, _ := c.blob("an orphan")
	young := must(c.blobs.Put([]byte("young")))
	sources := must(json.Marshal([]session.AssemblySource{{Path: "AGENTS.md", SHA256: onlySource}}))
	c.record(s, spoke(`this is {"ref":{"sha256":"`+text+`","media_type":"text/plain","size":9}}`, named),
		session.Fact{Event: session.AssemblyReported{Fingerprint: "f", N: 1}, Body: []session.Part{{Bytes: sources}}})
	q := s.Head() + 1
	line := func(q session.Seq, sha string) string {
		raw := must(s.file.Read(lineOf(s, q-1)))
		rest := `"branch":"main","at":"2026-11-30T12:00:00.000Z","type":"comet.seen","data":{"b":0},"body":[{"ref":{"sha256":"` + sha + `","media_type":"a/b","size":1}}]}`
		return headOf(q, raw) + rest
	}
	appendTo(t, s.Path(), line(q, unknown)+"\n")
	if err := s.CatchUp(); err != nil {
		t.Fatal(err)
	}
	appendTo(t, s.Path(), line(q+1, piece))
	tmp := filepath.Join(c.dir, "blobs", "sha256", "tmp-killed")
	fresh := filepath.Join(c.dir, "blobs", "sha256", "tmp-working")
	stale := s.Path() + jsonl.NewSuffix + "0123"
	old := time.Now().Add(-30 * 24 * time.Hour)
	for _, f := range []string{tmp, fresh, stale} {
		if err := os.WriteFile(f, []byte("xyz"), 0o600); err != nil {
			t.Fatal(err)
		}
		if f != fresh {
			if err := os.Chtimes(f, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := fileNames(t, c.dir)
	want := []string{text, orphan}
	slices.Sort(want)

	dry, err := c.collect(func(p *Collection) { p.DryRun = true })
	if err != nil || !slices.Equal(names(dry.Gone), want) || len(dry.Leftover) != 2 || dry.Kept != 4 || dry.Young != 1 || dry.Sessions != 1 {
		t.Errorf("%+v %v", dry, err)
	}
	if got := fileNames(t, c.dir); !slices.Equal(got, before) {
		t.Error("a dry run removed something")
	}
	one, err := c.collect(func(p *Collection) { p.Limit = 1 })
	if err != nil || len(one.Gone) != 1 || !one.More {
		t.Errorf("%+v %v", one, err)
	}
	if _, err := c.collect(nil); err != nil {
		t.Fatal(err)
	}
	for sha, stays := range map[string]bool{named.Ref.SHA256: true, onlySource: true, unknown: true, piece: true, young: true, text: false, orphan: false} {
		if ok := must(c.blobs.Has(sha)); ok != stays {
			t.Errorf("%s: there %v, want %v", sha, ok, stays)
		}
	}
	for f, stays := range map[string]bool{tmp: false, stale: false, fresh: true, s.Path(): true} {
		if _, err := os.Stat(f); (err == nil) != stays {
			t.Errorf("%s: %v", f, err)
		}
	}
	if again, err := c.collect(nil); err != nil || len(again.Gone) != 0 {
		t.Errorf("%+v %v", again, err)
	}
}

// While one session can't be read nothing goes, and the error names it. // CAS-4
func TestCollectNothingWhileUnread(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"a line is broken": func(path string) error {
			b, err := os.ReadFile(path)
			at := bytes.IndexByte(b, '\n') + 5
			b[at] = 'X'
			return errors.Join(err, os.WriteFile(path, b, 0o600))
		},
		"bytes were changed": func(path string) error {
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, bytes.Replace(b, []byte("hello"), []byte("hallo"), 1), 0o600))
		},
		"a newer format": func(path string) error {
			b, err := os.ReadFile(path)
			first, _, _ := bytes.Cut(b, []byte("\n"))
			return errors.Join(err, os.WriteFile(path, append(bytes.Replace(first, []byte(`"format":1`), []byte(`"format":9`), 1), '\n'), 0o600))
		},
		"no session":   func(path string) error { return os.WriteFile(path, []byte("hello\n"), 0o600) },
		"not a file":   func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"a lost mode":  func(path string) error { return os.Chmod(path, 0) },
		"a loop":       func(path string) error { return errors.Join(os.Remove(path), os.Symlink(path, path)) },
		"lost sources": nil,
	} {
		if name == "a lost mode" && os.Getuid() == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := newCellar(t)
			c.session()
			bad := c.session()
			c.record(bad, spoke("more"))
			orphan, _ := c.blob("an orphan")
			if spoil == nil {
				sha, list := c.blob("[" + strings.Repeat(" ", 70_000) + "]")
				c.record(bad, session.Fact{Event: session.AssemblyReported{Fingerprint: "f"}, Body: []session.Part{list}})
				if err := os.Remove(must(c.blobs.Path(sha))); err != nil {
					t.Fatal(err)
				}
			} else if err := spoil(bad.Path()); err != nil {
				t.Fatal(err)
			}
			out, err := c.collect(nil)
			if !errors.Is(err, ErrUnread) || !strings.Contains(err.Error(), bad.Path()) || len(out.Gone) > 0 || !must(c.blobs.Has(orphan)) {
				t.Errorf("%v: %+v", err, out)
			}
		})
	}
}

// Damage that a repair has named, and a first line that never came to its end, are no reason to keep everything. // CAS-4
func TestCollectBesideRepaired(t *testing.T) {
	c := newCellar(t)
	s := c.session()
	appendTo(t, s.Path(), "torn\n")
	if _, err := must(Open(s.Path(), c.blobs, jsonl.Never, System{})).Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.Path()), "never.jsonl"), []byte(`{"seq":1,"pr`), 0o600); err != nil {
		t.Fatal(err)
	}
	c.blob("an orphan")
	if out, err := c.collect(nil); err != nil || len(out.Gone) != 1 {
		t.Errorf("%+v %v", out, err)
	}
}

// A line that names content that is not there is refused, and nothing is written. // CAS-2
func TestRecordRefusesMissingContent(t *testing.T) {
	c := newCellar(t)
	s := c.session()
	sha, named := c.blob("gone")
	if err := os.Remove(must(c.blobs.Path(sha))); err != nil {
		t.Fatal(err)
	}
	before := must(os.ReadFile(s.Path()))
	err := s.Record(t.Context(), "main", s.State("main").Branch.Head, []session.Fact{spoke("see", named)})
	if !errors.Is(err, content.ErrMissing) {
		t.Errorf("%v", err)
	}
	if !bytes.Equal(must(os.ReadFile(s.Path())), before) {
		t.Error("something was written")
	}
}

// Sessions go on while collections without a grace run: no line ever names content that is not there. Some lines name
// what they have just put, some what was put before, some what another session names. // CAS-5
func TestCollectBesideAppends(t *testing.T) {
	c := newCellar(t)
	const writers, rounds = 4, 25
	stop := make(chan struct{})
	var work, collectors sync.WaitGroup
	for w := range writers {
		s := c.session()
		work.Go(func() {
			for i := range rounds {
				text := fmt.Sprintf("content %d of writer %d", i, w%2)
				sha := must(c.blobs.Put([]byte(text)))
				ref := session.Part{Ref: &session.Ref{SHA256: sha, MediaType: "text/plain", Size: int64(len(text))}}
				large := session.Part{Bytes: bytes.Repeat([]byte(fmt.Sprintf("%02d", i)), session.InlineLimit)}
				for _, f := range []session.Fact{spoke("a", ref), spoke("b", large)} {
					err := s.Record(context.Background(), "main", s.State("main").Branch.Head, []session.Fact{f})
					if err != nil && !errors.Is(err, content.ErrMissing) {
						t.Error(err)
					}
					var q session.Seq
					for it := range s.State("main").Branch.View.All {
						q = it.ID.Seq
					}
					if err == nil {
						if p := must(must(s.Entry(q)).Parts()); !must(c.blobs.Has(lastRef(p))) {
							t.Errorf("event %d names content that is not there", q)
						}
					}
				}
			}
		})
	}
	for range 2 {
		collectors.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := c.collect(func(p *Collection) { p.Grace, p.Now = 0, time.Now().Add(time.Hour) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	close(stop)
	collectors.Wait()
	count := newCensus(c.dir, c.blobs)
	if err := count.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(count.refs) == 0 {
		t.Error("nothing was named")
	}
	for sha := range count.refs {
		if !must(c.blobs.Has(sha)) {
			t.Errorf("%s is named and not there", sha)
		}
	}
}

// headOf is what opens the line behind raw.
func headOf(q session.Seq, raw []byte) string {
	sum := sha256.Sum256(raw)
	return fmt.Sprintf(`{"seq":%d,"prev":"%x",`, q, sum[:16])
}

func lastRef(parts []session.Part) string {
	for _, p := range slices.Backward(parts) {
		if p.Ref != nil {
			return p.Ref.SHA256
		}
	}
	return ""
}

func lineOf(s *Session, q session.Seq) jsonl.Line { l, _, _ := s.line(q); return l }

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func fileNames(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		out = append(out, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
