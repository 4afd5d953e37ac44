package jsonl

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The test binary is also a writer: VARVE_JSONL_WRITER=path:name:n appends n
// batches to the file and says so by its exit code. VARVE_JSONL_LIMITED=path is
// limited.
func TestMain(m *testing.M) {
	if job := os.Getenv("VARVE_JSONL_WRITER"); job != "" {
		os.Exit(appendMany(job))
	}
	if path := os.Getenv("VARVE_JSONL_LIMITED"); path != "" {
		if err := limited(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func appendMany(job string) int {
	p := strings.Split(job, ":")
	n, _ := strconv.Atoi(p[2])
	f, err := Open(p[0], Options{Policy: Never, Repaired: repaired, Visit: nil})
	if err == nil {
		err = f.CatchUp(nil)
	}
	for i := 0; i < n && err == nil; i++ {
		var batch [][]byte
		for j := range 1 + i%3 {
			batch = append(batch, rest(fmt.Sprintf("%s.%d.%d", p[1], i, j), strings.Repeat("x", i*40)))
		}
		_, err = f.Append(ctx, batch, nil)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, p[1], err)
		return 1
	}
	return 0
}

func wantMany(names []string, n int) (want []string) {
	for _, name := range names {
		for i := range n {
			for j := range 1 + i%3 {
				want = append(want, fmt.Sprintf("%s.%d.%d", name, i, j))
			}
		}
	}
	return want
}

func TestTenProcesses(t *testing.T) { // REL-3, LOG-6
	if testing.Short() {
		t.Skip("ten processes")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.jsonl")
	follower := create(t, path, Options{Policy: Never})
	const each = 40
	var names []string
	var all []*exec.Cmd
	for i := range 11 {
		c := exec.Command(self)
		name := fmt.Sprint("p", i)
		c.Env = append(os.Environ(), fmt.Sprintf("VARVE_JSONL_WRITER=%s:%s:%d", path, name, each))
		c.Stderr = os.Stderr
		if i == 10 { // one dies in the middle
			c.Env[len(c.Env)-1] = fmt.Sprintf("VARVE_JSONL_WRITER=%s:%s:%d", path, "dies", 1<<20)
		} else {
			names = append(names, name)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	for _, c := range all[:10] {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
		if err := follower.f.CatchUp(nil); err != nil { // live, beside the writers
			t.Error(err)
		}
	}
	all[10].Process.Kill()
	all[10].Wait()
	follower.append("end")
	seen := clean(t, path)
	if d := cmp.Diff(seen, follower.seen); d != "" {
		t.Errorf("the follower saw otherwise:\n%s", d)
	}
	unlost(t, seen, wantMany(names, each), names)
}

func TestTwoWritersInOneProcess(t *testing.T) { // REL-3, LOG-6
	path := filepath.Join(t.TempDir(), "a.jsonl")
	first := create(t, path, Options{Policy: Never})
	shared, err := Open(path, Options{Policy: Never, Repaired: repaired})
	if err != nil {
		t.Fatal(err)
	}
	const each = 30
	var wg sync.WaitGroup
	names := []string{"a", "b", "c", "d"}
	for i, name := range names {
		wg.Go(func() {
			f := shared // two goroutines share a File
			if i < 2 {
				var err error
				if f, err = Open(path, Options{Policy: Never, Repaired: repaired}); err != nil {
					t.Error(err)
					return
				}
				defer f.Close()
			}
			for i := range each {
				var batch [][]byte
				for j := range 1 + i%3 {
					batch = append(batch, rest(fmt.Sprintf("%s.%d.%d", name, i, j), "x"))
				}
				lines, err := f.Append(ctx, batch, nil)
				if err != nil {
					t.Error(err)
					return
				}
				for j, l := range lines {
					if raw, err := f.Read(l); err != nil || !bytes.HasSuffix(raw, batch[j]) {
						t.Errorf("%v: %v", l, err)
					}
				}
				if err := f.Sync(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	wg2 := sync.WaitGroup{}
	wg2.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := first.f.CatchUp(nil); err != nil {
				t.Error(err)
			}
			if _, err := first.f.Tail(3, 1<<20); err != nil {
				t.Error(err)
			}
			first.f.Damage()
			first.f.Last()
		}
	})
	wg.Wait()
	close(stop)
	wg2.Wait()
	first.append("end")
	seen := clean(t, path)
	if d := cmp.Diff(seen, first.seen); d != "" {
		t.Error(d)
	}
	unlost(t, seen, wantMany(names, each), names)
}

// unlost checks that each writer's lines are all there, once, in its order, and
// each batch in one piece.
func unlost(t *testing.T, seen, want, names []string) {
	t.Helper()
	for _, name := range names {
		var got, exp []string
		for i, s := range seen {
			kind := s[strings.IndexByte(s, ':')+1:]
			if !strings.HasPrefix(kind, name+".") {
				continue
			}
			got = append(got, kind)
			if !strings.HasSuffix(kind, ".0") && !strings.Contains(seen[i-1], ":"+kind[:strings.LastIndexByte(kind, '.')+1]) {
				t.Errorf("%s was parted from its batch: %s before it", s, seen[i-1])
			}
		}
		for _, k := range want {
			if strings.HasPrefix(k, name+".") {
				exp = append(exp, k)
			}
		}
		if d := cmp.Diff(exp, got); d != "" {
			t.Error(d)
		}
	}
}

func TestLongLines(t *testing.T) { // case SES-07
	path := filepath.Join(t.TempDir(), "a.jsonl")
	w := create(t, path, Options{Policy: Never})
	sizes := []int{1, chunkSize - 300, 64<<10 - 1, 64 << 10, 64<<10 + 1, chunkSize - 1, chunkSize, chunkSize + 1, 2 * chunkSize, 1 << 20, 64 << 20, 5, 1 << 20, 5}
	if testing.Short() {
		sizes = append(sizes[:10], sizes[11:]...)
	}
	var want []Line
	for i, n := range sizes { // lines of exactly n bytes, where they can be so short
		shape := len(appendHead(nil, uint64(i+1), sum{})) + len(rest("k", ""))
		lines, err := w.f.Append(ctx, [][]byte{rest("k", strings.Repeat("x", max(0, n-shape)))}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, lines...)
	}
	w.f.Close()
	f, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []Line
	if err := f.CatchUp(func(l Line, raw []byte) error {
		got = append(got, l)
		again, err := f.Read(l)
		if !bytes.Equal(raw, again) || len(raw) != l.Len {
			t.Errorf("%v: other bytes", l)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" || len(f.Damage()) > 0 {
		t.Fatal(d, f.Damage())
	}
	if v, err := Verify(path, nil); err != nil || v.Events != len(want) || v.Bad() != -1 {
		t.Fatalf("%+v %v", v, err)
	}
	// And a long line that is not whole yet is not there yet.
	end := want[len(want)-1].End()
	os.Truncate(path, end-1-int64(want[len(want)-1].Len)-9)
	g := open(t, path, Options{})
	if len(g.seen) != len(want)-2 || len(g.f.Damage()) > 0 {
		t.Fatalf("%d lines, %+v", len(g.seen), g.f.Damage())
	}
	g.append("new")
	clean(t, path)
}

func TestTail(t *testing.T) { // PERF-3: first paint
	path := filepath.Join(t.TempDir(), "a.jsonl")
	w := create(t, path, Options{Policy: Never})
	var all []Line
	for i := range 300 {
		l, err := w.f.Append(ctx, [][]byte{rest("k", strings.Repeat("x", i*i%5000))}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l...)
	}
	write(t, path, append(read(t, path), "hello\n{\"seq\":301"...)) // neither is an event
	f, err := Open(path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct {
		n     int
		bytes int64
		want  []Line
	}{{0, 1 << 20, nil}, {1, 1 << 20, all[299:]}, {40, 1 << 20, all[260:]}, {300, 8 << 20, all}, {1000, 8 << 20, all}, {10, 0, nil}, {10, 20, nil}} {
		tail, err := f.Tail(c.n, c.bytes)
		var got []Line
		for _, r := range tail {
			got = append(got, r.Line)
			if raw, err := f.Read(r.Line); err != nil || !bytes.Equal(raw, r.Bytes) {
				t.Errorf("%v: other bytes (%v)", r.Line, err)
			}
		}
		if d := cmp.Diff(c.want, got); err != nil || d != "" {
			t.Errorf("last %d in %d bytes: %v %s", c.n, c.bytes, err, d)
		}
	}
	tail, err := f.Tail(1000, 5000)
	if err != nil || len(tail) == 0 || tail[0].Off < all[299].End()-5000 || tail[len(tail)-1].Line != all[299] {
		t.Errorf("last 5000 bytes: %v %v", err, tail)
	}
	os.Truncate(path, 0)
	if tail, err := f.Tail(3, 1000); err != nil || tail != nil {
		t.Error(tail, err)
	}
}
