package harness

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve/internal/content"
	"varve/internal/harness/drive"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// A recorder is the disk of a log, told what to note and when to fail.
type recorder struct {
	jsonl.Disk

	mu    sync.Mutex
	notes []string
	fail  func(types []string) error // before a write; nil is a sound disk
	short int                        // how many bytes of a failing write still arrive
	sync  error
}

func (r *recorder) note(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, s)
}

func (r *recorder) did() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}

// set changes how the disk fails.
func (r *recorder) set(change func(*recorder)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

func (r *recorder) Write(f *os.File, p []byte) (int, error) {
	var types []string
	for line := range bytes.Lines(p) {
		if env, ok := session.Scan(bytes.TrimSuffix(line, []byte("\n"))); ok {
			types = append(types, string(env.Type))
		}
	}
	r.mu.Lock()
	fail, short := r.fail, r.short
	r.mu.Unlock()
	if fail != nil {
		if err := fail(types); err != nil {
			n, _ := r.Disk.Write(f, p[:min(short, len(p))])
			r.note("full")
			return n, err
		}
	}
	for _, s := range types {
		r.note("write " + s)
	}
	return r.Disk.Write(f, p)
}

func (r *recorder) Sync(f *os.File) error {
	r.mu.Lock()
	err := r.sync
	r.mu.Unlock()
	if err != nil {
		r.note("sync fails")
		return err
	}
	r.note("sync")
	return r.Disk.Sync(f)
}

// blobsOn is the disk of a content store, noted in the same list.
type blobsOn struct {
	content.Disk
	*recorder
}

func (b blobsOn) Write(f *os.File, p []byte) (int, error) { return b.Disk.Write(f, p) }
func (b blobsOn) Sync(f *os.File) error                   { return b.Disk.Sync(f) }
func (b blobsOn) SyncDir(dir string) error                { return b.Disk.SyncDir(dir) }
func (b blobsOn) Rename(from, to string) error {
	b.note("content")
	return b.Disk.Rename(from, to)
}

// on puts a world on a recording disk, which also notes what is done outside
// of the log: requests and calls.
func (w *world) on(r *recorder) {
	w.opts.layer, w.opts.store = r, blobsOn{recorder: r}
	w.opts.hands = func(run Runner) Runner {
		return func(ctx context.Context, s session.State, j drive.Job) drive.Result {
			if j.Kind == drive.Send || j.Kind == drive.Tool {
				r.note("effect " + string(j.Kind))
			}
			return run(ctx, s, j)
		}
	}
}

// Content first, then the line that names it, then the disk, then the effect
// that depends on the line; a turn's end is on the disk when it is seen.
// LOG-5, CAS-2
func TestOrderOfDurability(t *testing.T) {
	for _, policy := range []jsonl.Policy{jsonl.Turn, jsonl.Always, jsonl.Never} {
		t.Run(string(policy), func(t *testing.T) {
			r := &recorder{}
			w := newWorld(t,
				calls("bash", `{"command":"head -c 100000 /dev/zero | tr '\\0' x"}`),
				calls("ls", `{"path":"."}`),
				text(strings.Repeat("long ", 20000)),
			)
			w.opts.Policy = policy
			w.on(r)
			l := w.start()
			say(t, l, "go")
			until(t, l, "the turn's end", func(e session.Entry) bool {
				if e.Type == "turn.ended" {
					r.note("seen")
				}
				return e.Type == "turn.ended"
			})
			did := r.did()
			t.Log(strings.Join(did, "\n"))
			// last is the place of the last note before i that is s.
			last := func(i int, s string) int {
				for i--; i >= 0 && did[i] != s; i-- {
				}
				return i
			}
			effects := map[string]int{}
			for i, s := range did {
				effects[s]++
				switch {
				case s == "effect send":
					if policy != jsonl.Never && last(i, "sync") < last(i, "write request.sent") {
						t.Errorf("%d: sent before the request was on the disk", i)
					}
					if last(i, "write request.sent") < 0 || last(i, "write request.sent") < last(i, s) {
						t.Errorf("%d: sent before it was recorded", i)
					}
				case s == "effect tool" && effects[s] == 1: // bash; ls only reads
					if at := last(i, "write tool.started"); at < 0 || policy != jsonl.Never && last(i, "sync") < at {
						t.Errorf("%d: ran before its start was on the disk", i)
					}
				case s == "seen":
					if at := last(i, "write turn.ended"); at < 0 || policy != jsonl.Never && last(i, "sync") < at {
						t.Errorf("%d: the turn's end was seen before it was on the disk", i)
					}
				case s == "write tool.finished" && effects[s] == 1, s == "write reply.completed" && effects[s] == 3:
					if at := last(i, "content"); at < 0 || at < last(i, "write request.sent") {
						t.Errorf("%d: the line stands before its content", i)
					}
				case policy == jsonl.Always && strings.HasPrefix(s, "write ") && i+1 < len(did) && strings.HasPrefix(did[i+1], "effect"):
					t.Errorf("%d: %s was not synced", i, s)
				}
			}
			if n := effects["sync"]; policy == jsonl.Never && n > 0 || policy == jsonl.Turn && n > 7 || policy != jsonl.Never && n == 0 {
				t.Errorf("%d syncs", n)
			}
			if effects["effect send"] != 3 || effects["effect tool"] != 2 || effects["content"] < 2 {
				t.Errorf("%v", effects)
			}
		})
	}
}
