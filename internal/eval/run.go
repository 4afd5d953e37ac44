package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"varve/internal/content"
	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
	"varve/internal/jsonl"
	"varve/internal/providers"
	"varve/internal/providers/openaichat"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// turns are those that follow the trace: the open one, and two more.
const turns = 3

// patience is how long a path may take before it counts as stuck.
const patience = 2 * time.Minute

// Run plays every path, in a folder of its own below dir.
func Run(ctx context.Context, dir string) (Report, error) {
	out := Report{Trace: Trace{Revision: revision(), Bytes: len(long), Turns: 24, Markers: markers, Stale: stale}, Limits: Limits}
	for i, p := range paths {
		row, err := p.run(ctx, filepath.Join(dir, fmt.Sprint(i)))
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("it was not through after %v, and waits for something that does not come", patience)
		}
		if err != nil {
			return out, fmt.Errorf("%s: %w", p.name, err)
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// A stand is a machine on which a path is played.
type stand struct {
	path
	dir  string
	url  string
	base []byte // what the file held before
}

func (p path) run(ctx context.Context, dir string) (Row, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	server, err := scripted.Open(scripted.Options{Vendor: "openai", Prefix: scripted.PrefixIgnore})
	if err != nil {
		return Row{}, err
	}
	defer server.Close()
	m := &model{path: p, wave: make(chan struct{}), all: make(chan struct{})}
	for i := range turns {
		m.turns = append(m.turns, fmt.Sprintf("read step%d.txt", i+1))
		if p.masks {
			m.turns = append(m.turns, "mask")
		}
		m.turns = append(m.turns, fmt.Sprintf("Step %d is done.", i+1))
	}
	server.Handle(m.handle)
	st := stand{path: p, dir: dir, url: server.URL() + "/v1"}
	if err := st.furnish(ctx, long); err != nil {
		return Row{}, err
	}
	l, err := st.open(ctx, m)
	if err != nil {
		return Row{}, err
	}
	if p.cut {
		if l, err = st.kill(ctx, m, l); err != nil {
			return Row{}, err
		}
	}
	err = work(ctx, l)
	row, rerr := st.row(l, m)
	if err := errors.Join(err, rerr, l.Close()); err != nil {
		return Row{}, err
	}
	for _, v := range server.Violations() {
		row.Faults = append(row.Faults, fmt.Sprintf("the provider refused request %d: %s", v.Request, v.Text))
	}
	if n := len(server.Requests()); n != row.Requests {
		row.Faults = append(row.Faults, fmt.Sprintf("the provider saw %d requests, the log has %d", n, row.Requests))
	}
	return row, nil
}

func (st *stand) file() string {
	return harness.PathFor(filepath.Join(st.dir, "data"), filepath.Join(st.dir, "w"), traceID)
}

// furnish puts a session and a workspace into the stand's folder.
func (st *stand) furnish(ctx context.Context, b []byte) error {
	for _, d := range []string{"w", "tmp", "state", "data"} {
		if err := os.MkdirAll(filepath.Join(st.dir, d), 0o700); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(st.file()), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(st.file(), b, 0o600); err != nil {
		return err
	}
	for i := range turns {
		name := fmt.Sprintf("step%d.txt", i+1)
		text := strings.Repeat(fmt.Sprintf("step %d of the importer: read, check, post.\n", i+1), 40)
		if err := os.WriteFile(filepath.Join(st.dir, "w", name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if st.legacy && st.base == nil {
		if err := st.leave(ctx); err != nil {
			return err
		}
	}
	var err error
	st.base, err = os.ReadFile(st.file())
	return err
}

// leave writes what an older program left: a buffer that was filled without
// looking whether the model had finished (MR-10).
func (st *stand) leave(ctx context.Context) error {
	s, err := harness.Open(st.file(), content.Open(filepath.Join(st.dir, "data")), jsonl.Never, harness.System{})
	if err != nil {
		return err
	}
	defer s.Close()
	text := "## Objective\n" + poison + ": half of a sum"
	return s.Record(ctx, session.MainBranch, s.State(session.MainBranch).Branch.Head, []session.Fact{
		{Event: session.SplitSaved{Consumed: 12, Total: 24, Text: session.Text{B: 0}}, Body: []session.Part{{Bytes: []byte(text)}}},
	})
}

// A hurried clock goes faster than the machine's: nobody waits for retries.
type hurried struct{ began time.Time }

const hurry = 100

func (c hurried) Now() time.Time                         { return c.began.Add(time.Since(c.began) * hurry) }
func (c hurried) After(d time.Duration) <-chan time.Time { return time.After(d / hurry) }

// open is the session in this process, as another one would open it.
func (st *stand) open(ctx context.Context, m *model) (*harness.Local, error) {
	set := session.SessionConfigured{PermissionMode: "full", Compaction: session.Compaction{Mode: &st.mode}}
	if st.small {
		set.Summarizers = []session.Model{smallModel}
	}
	work := filepath.Join(st.dir, "w")
	l, err := harness.Resume(ctx, harness.Options{
		DataDir: filepath.Join(st.dir, "data"), StateDir: filepath.Join(st.dir, "state"), Workspace: work,
		Program: "varve eval", Interface: "run", Model: agentModel, Settings: set, Policy: jsonl.Never, Clock: hurried{time.Now()},
		Summarizers: func() []session.Model { return set.Summarizers },
		Resolve: func(_ context.Context, m session.Model) (harness.Target, error) {
			window := agentWindow
			if m == smallModel {
				window = smallWindow
			}
			return harness.Target{
				Adapter: openaichat.Adapter{}, Window: session.Capacity{N: window, Source: "setting"},
				Endpoint: providers.Endpoint{Provider: m.Provider, BaseURL: st.url, Key: "eval", Window: window, StallTimeout: patience},
			}, nil
		},
		Judge: func(session.State, tools.Plan) harness.Judgement { return harness.Judgement{Verdict: "allow"} },
		Look: func(context.Context) (harness.Assembly, error) {
			return harness.Assembly{
				Fingerprint: "trace", Texts: map[string][]byte{"00-agent": []byte(instruction)},
				Sources: []session.AssemblySource{{Key: "00-agent", Outcome: "published"}},
			}, nil
		},
		Tools: tools.Config{TempDir: filepath.Join(st.dir, "tmp")},
	}, st.file())
	if err == nil {
		m.mu.Lock()
		m.killed = m.sess != nil
		m.sess = l.Session
		m.mu.Unlock()
	}
	return l, err
}

// kill waits until two maps are accepted and four are asked for, and goes on
// with what is in the file at that moment, from a copy: what a kill leaves.
func (st *stand) kill(ctx context.Context, m *model, l *harness.Local) (*harness.Local, error) {
	err := l.Submit(ctx, drive.Resume{})
	accepted := 0
	if err == nil {
		err = follow(ctx, l, func(e session.Entry) bool {
			if _, ok := e.Event.(session.StagingMapped); ok {
				accepted++
			}
			return accepted == 2
		})
	}
	if err == nil {
		select {
		case <-m.all:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	var left []byte
	if err == nil {
		left, err = os.ReadFile(st.file())
	}
	if err := errors.Join(err, l.Close()); err != nil {
		return nil, err
	}
	base := st.base
	st.dir = filepath.Join(st.dir, "again")
	if err := st.furnish(ctx, left); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(left, base) {
		return nil, errors.New("the killed process has changed what was there before it")
	}
	return st.open(ctx, m)
}

// work goes on with the open turn, and asks for two more.
func work(ctx context.Context, l *harness.Local) error {
	for i := range turns {
		var cmd drive.Command = drive.Resume{}
		if i > 0 {
			cmd = drive.Say{Text: fmt.Appendf(nil, "Go on with step %d.", i+1)}
		}
		began := l.Session.Head()
		if err := l.Submit(ctx, cmd); err != nil {
			return err
		}
		if err := follow(ctx, l, func(e session.Entry) bool {
			_, ended := e.Event.(session.TurnEnded)
			return ended && e.Seq > began
		}); err != nil {
			return err
		}
	}
	return nil
}

// follow reads the log until an entry is the one.
func follow(ctx context.Context, l *harness.Local, ok func(session.Entry) bool) error {
	var version uint64
	for after := session.Seq(0); ; {
		u, err := l.Follow(ctx, after, version)
		if err != nil {
			return err
		}
		version = u.Version
		for _, e := range u.Entries {
			after = e.Seq
			if ok(e) {
				return nil
			}
		}
	}
}

// row counts what came of the path, by its log and by the last prompt.
func (st *stand) row(l *harness.Local, m *model) (Row, error) {
	entries, err := l.Session.Entries(0, 1<<20)
	if err != nil {
		return Row{}, err
	}
	s := read(entries, session.Seq(bytes.Count(long, []byte("\n"))))
	r := Row{Path: st.name, Input: s.usage.Input, Output: s.usage.Output, Raw: st.raw, Kept: []string{}, Faults: []string{}, Bars: s.bars}
	for _, b := range s.bars {
		if b.Purpose == "trace" {
			continue
		}
		r.Requests++
		r.Peak = max(r.Peak, b.Tokens)
		if b.Purpose != "agent" {
			r.Summarizers++
		}
	}
	for _, e := range entries {
		sent, ok := e.Event.(session.RequestSent)
		if !ok {
			continue
		}
		body, err := l.Session.Request(e.Seq)
		if err != nil {
			return r, fmt.Errorf("request %d can't be made again: %w", e.Seq, err)
		}
		if bytes.Contains(body, []byte(poison)) {
			r.Faults = append(r.Faults, "text of the old buffer was sent")
		}
		if e.Seq != s.last {
			continue
		}
		r.Last = session.Estimate(int(sent.Size)).N
		r.Stale = bytes.Contains(body, []byte(stale))
		for _, w := range markers {
			if bytes.Contains(body, []byte(w)) {
				r.Kept = append(r.Kept, w)
			}
		}
	}
	now, err := os.ReadFile(st.file())
	if err != nil {
		return r, err
	}
	r.Preserved = bytes.HasPrefix(now, long) && bytes.HasPrefix(now, st.base)
	m.mu.Lock()
	defer m.mu.Unlock()
	r.Faults = append(append(r.Faults, m.faults...), st.holds(r, s)...)
	return r, nil
}
