package harness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/jsonl"
	"varve/internal/providers"
	"varve/internal/session"
)

// soaked answers for as long as it is asked, and keeps of what it was asked
// the hashes alone.
type soaked struct {
	script
	mu   sync.Mutex
	n    int
	sent map[string]bool
	next answer
}

func (p *soaked) Send(ctx context.Context, _ providers.Endpoint, body []byte, sink providers.Sink) providers.Reply {
	sum := sha256.Sum256(body)
	p.mu.Lock()
	p.n++
	p.sent[hex.EncodeToString(sum[:])] = true
	f, n := p.next, p.n
	if bytes.Contains(body, []byte("Write a handoff")) {
		f = big(handoff(fmt.Sprint("soak ", n)), 20)
		if n%5 == 0 {
			f = failing(providers.Length)
		}
	} else {
		p.next = nil
	}
	p.mu.Unlock()
	if f == nil {
		f = big(fmt.Sprintf("Answer %d.", n), 60)
	}
	return f(ctx, string(body), sink)
}

func (p *soaked) will(f answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = f
}

// A soak is one session over many turns, runs and branches.
type soak struct {
	*world
	p    *soaked
	l    *Local
	rnd  *rand.Rand
	last session.Seq

	checkpoints int
}

// wait follows the log from where it was left until an entry satisfies ok.
func (k *soak) wait(what string, ok func(session.Entry) bool) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), 20*time.Second)
	defer cancel()
	var version uint64
	for {
		u, err := k.l.Follow(ctx, k.last, version)
		if err != nil {
			k.t.Fatalf("waiting for %s: %v", what, err)
		}
		version = u.Version
		for _, e := range u.Entries {
			k.last = e.Seq
			if ok(e) {
				return
			}
		}
	}
}

func (k *soak) ended() {
	k.t.Helper()
	k.wait("the turn's end", func(e session.Entry) bool { return e.Type == "turn.ended" })
}

func (k *soak) resume(branch string) {
	k.t.Helper()
	path := k.l.Session.Path()
	if err := k.l.Close(); err != nil {
		k.t.Fatal(err)
	}
	k.opts.Branch = branch
	l, err := Resume(k.t.Context(), k.opts, path)
	if err != nil {
		k.t.Fatal(err)
	}
	k.l, k.last = l, l.Session.Head()
}

// turn has the model do one of the things that models do.
func (k *soak) turn(n int) {
	k.t.Helper()
	switch {
	case n%17 == 0: // interrupted
		k.p.will(hang("half an ans"))
		say(k.t, k.l, fmt.Sprint("wait ", n))
		k.wait("the request", func(e session.Entry) bool {
			sent, ok := e.Event.(session.RequestSent)
			return ok && sent.Compaction == 0
		})
		submit(k.t, k.l, drive.Cancel{By: "user"})
		k.ended()
		return
	case n%11 == 0:
		k.p.will(calls("bash", `{"command":"echo `+fmt.Sprint(n)+`"}`, "ls", `{}`))
	case n%7 == 0:
		k.p.will(calls("todo", fmt.Sprintf(`{"items":[{"content":"step %d","status":"pending"}]}`, n)))
	case n%5 == 0:
		k.p.will(calls("write", fmt.Sprintf(`{"path":"f%d.txt","content":"%s"}`, n, strings.Repeat("x", n%900))))
	}
	say(k.t, k.l, fmt.Sprint("turn ", n))
	k.ended()
}

func (k *soak) operate(op drive.Operation) Outcome {
	k.t.Helper()
	out, err := k.l.Operate(k.t.Context(), op)
	if err != nil {
		k.t.Fatalf("%+v: %v", op, err)
	}
	return out
}

// wander does one branch operation, and goes on where that leads.
func (k *soak) wander() {
	k.t.Helper()
	branch := k.l.Branch
	users := userItems(k.l.Session, branch)
	switch k.rnd.IntN(4) {
	case 0:
		k.resume(k.operate(drive.Fork{From: session.Reference{Branch: branch, Select: "head"}}).Branch)
	case 1:
		if len(users) > 0 {
			k.operate(drive.Revert{Branch: branch, Message: users[max(len(users)-1-k.rnd.IntN(12), 0)], Preview: []byte("…")})
		}
	case 2:
		for _, l := range k.l.Session.Limbs() {
			if n := len(l.Labels); l.Name == branch && n > 0 {
				k.operate(drive.RollBack{Branch: branch, Label: l.Labels[k.rnd.IntN(n)].Name})
			}
		}
	case 3:
		left := k.l.Session.Left()
		other := left[k.rnd.IntN(len(left))]
		if other != branch && len(left) > 5 {
			k.operate(drive.Delete{Branch: other})
		} else {
			k.resume(other)
		}
	}
}

// held are the bytes that are in use, and the descriptors that are open.
func (k *soak) held() (heap uint64, files int) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	dir := "/dev/fd"
	if runtime.GOOS == "linux" {
		dir = "/proc/self/fd"
	}
	open, err := os.ReadDir(dir)
	if err != nil {
		k.t.Fatal(err)
	}
	return m.HeapAlloc, len(open)
}

// reproduced checks that each request can be printed byte for byte: one by
// one from the log alone, and all of them, each from the one it begins with.
func (k *soak) reproduced(s *Session) (n int) {
	k.t.Helper()
	type whole struct {
		at   session.Seq
		body []byte
	}
	var recent []whole // a branch begins with one of them
	for after := session.Seq(0); ; {
		entries := must(s.Entries(after, 1000))
		if len(entries) == 0 {
			return n
		}
		for _, e := range entries {
			after = e.Seq
			if e.Type == "checkpoint.committed" {
				k.checkpoints++
			}
			sent, ok := e.Event.(session.RequestSent)
			if !ok {
				continue
			}
			n++
			b, err := providers.Rebuild(e.Seq, func(q session.Seq) (session.RequestSent, [][]byte, error) {
				for _, w := range recent {
					if w.at == q {
						return session.RequestSent{Recipe: []session.Step{{L: new(int)}}}, [][]byte{w.body}, nil
					}
				}
				return s.sentAt(q)
			}, s.Load)
			if err != nil {
				k.t.Fatal(err)
			}
			if n%97 == 0 {
				if alone, err := s.Request(e.Seq); err != nil || !bytes.Equal(alone, b) {
					k.t.Fatalf("request %d: %v", e.Seq, err)
				}
			}
			if sum := sha256.Sum256(b); !k.p.sent[hex.EncodeToString(sum[:])] || hex.EncodeToString(sum[:]) != sent.SHA256 {
				k.t.Fatalf("request %d is not the one that was sent", e.Seq)
			}
			recent = append(recent, whole{e.Seq, b})
			if len(recent) > 100 {
				recent = slices.Delete(recent, 0, 50)
			}
		}
	}
}

// 2,000 turns in one file, with compactions, interrupts, restarts, forks,
// reverts, rollbacks and deletions: what is held grows by the table of events alone,
// nothing is left behind, the file verifies, and each request that was sent
// can be printed byte for byte. // REL-6, PFX-3
func TestSoak(t *testing.T) {
	turns := 400
	switch {
	case raceEnabled:
		turns = 100
	case os.Getenv("SOAK") != "": // make soak
		turns = 2000
	}
	p := &soaked{sent: map[string]bool{}}
	w := newWorld(t)
	w.opts.Resolve = func(context.Context, session.Model) (Target, error) {
		return Target{
			Adapter: p, Endpoint: providers.Endpoint{Provider: "script", BaseURL: "script:"}, Window: session.Capacity{N: 6_000, Source: "setting"},
		}, nil
	}
	w.opts.Settings.Compaction.Mode = mode("standalone")
	w.opts.Clock = hurry(100)
	w.opts.Policy = jsonl.Never // thousands of syncs show nothing more
	k := &soak{world: w, p: p, rnd: rand.New(rand.NewPCG(1, 2))}
	var err error
	if k.l, err = Start(t.Context(), w.opts); err != nil {
		t.Fatal(err)
	}
	defer func() { k.l.Close() }()
	type held struct {
		turn, files, routines int
		heap                  uint64
		events                session.Seq
	}
	var marks []held
	for n := 1; n <= turns; n++ {
		k.turn(n)
		switch {
		case n%(turns/4) == 0:
			k.resume(k.l.Branch) // nothing is on its way
			heap, files := k.held()
			marks = append(marks, held{n, files, runtime.NumGoroutine(), heap, k.l.Session.Head()})
		case n%40 == 0:
			k.resume(k.l.Branch)
		case n%9 == 0:
			k.wander()
		}
	}
	for i, m := range marks {
		t.Logf("after %d turns: %d events, %d KB, %d descriptors, %d goroutines", m.turn, m.events, m.heap>>10, m.files, m.routines)
		if i == 0 {
			continue
		}
		was := marks[i-1]
		if m.files > was.files+2 || m.routines > was.routines+2 {
			t.Errorf("between turn %d and %d: descriptors %d to %d, goroutines %d to %d", was.turn, m.turn, was.files, m.files, was.routines, m.routines)
		}
		const each, apart = 2000, 4 << 20 // of an event; of what comes and goes
		if grown, may := int64(m.heap)-int64(was.heap), int64(m.events-was.events)*each+apart; grown > may {
			t.Errorf("between turn %d and %d it grew by %d KB, %d are %d events", was.turn, m.turn, grown>>10, may>>10, m.events-was.events)
		}
	}
	path := k.l.Session.Path()
	if err := k.l.Close(); err != nil {
		t.Fatal(err)
	}
	if rep, err := jsonl.Verify(path, checkLine); err != nil || rep.Bad() != -1 || rep.Piece != 0 {
		t.Fatalf("%+v %v", rep, err)
	}
	s, err := Open(path, w.opts.blobs(), jsonl.Never, System{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := k.reproduced(s); n < turns {
		t.Errorf("%d requests in %d turns", n, turns)
	}
	if left, err := filepath.Glob("/proc/self/task/*/children"); err == nil { // Linux alone tells
		for _, f := range left {
			if b, err := os.ReadFile(f); err == nil && len(b) > 0 {
				t.Errorf("a process is left: %s", b)
			}
		}
	}
	if k.checkpoints < turns/100 {
		t.Errorf("%d checkpoints in %d turns", k.checkpoints, turns)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(files) != 1 {
		t.Errorf("%q %v", files, err)
	}
}
