package paint

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/creack/pty"
)

// probe is a terminal that only looks for a mark in what is written, and at the time.
type probe struct {
	cmd   *exec.Cmd
	host  *os.File
	began time.Time

	mu    sync.Mutex
	bytes int64
	mark  string
	seen  chan time.Time
}

func probed(b *testing.B, mark string, w, h int, env ...string) *probe {
	b.Helper()
	p := &probe{cmd: exec.Command(self(b)), mark: mark, seen: make(chan time.Time, 1)}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "COLORTERM=truecolor"}, env...)
	host, tty, err := pty.Open()
	if err != nil {
		b.Skip("no pty: ", err)
	}
	_ = pty.Setsize(host, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)})
	p.host = host
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, tty, tty
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.began = time.Now()
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	_ = tty.Close()
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, err := host.Read(buf)
			if err != nil {
				return
			}
			now, d := time.Now(), buf[:n]
			for ask, answer := range answers {
				if bytes.Contains(d, []byte(ask)) {
					_, _ = host.WriteString(answer)
				}
			}
			p.mu.Lock()
			p.bytes += int64(n)
			if p.mark != "" && bytes.Contains(d, []byte(p.mark)) {
				p.mark = ""
				p.seen <- now
			}
			p.mu.Unlock()
		}
	}()
	return p
}

func (p *probe) await(b *testing.B) time.Time {
	b.Helper()
	select {
	case at := <-p.seen:
		return at
	case <-time.After(20 * time.Second):
		b.Fatal("the mark did not come")
		return time.Time{}
	}
}

func (p *probe) expect(mark string) { p.mu.Lock(); p.mark = mark; p.mu.Unlock() }
func (p *probe) written() int64     { p.mu.Lock(); defer p.mu.Unlock(); return p.bytes }

func (p *probe) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	_ = p.host.Close()
}

// cpu is what all threads used and how often they woke up. Only Linux tells.
func (p *probe) cpu() (used time.Duration, wakes int64, ok bool) { return cpuOf(p.cmd.Process.Pid) }

func cpuOf(pid int) (used time.Duration, wakes int64, ok bool) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, t := range tasks {
		b, _ := os.ReadFile(t + "/schedstat")
		if f := strings.Fields(string(b)); len(f) > 0 {
			n, _ := strconv.ParseInt(f[0], 10, 64)
			used += time.Duration(n)
		}
		b, _ = os.ReadFile(t + "/status")
		if _, after, found := strings.Cut(string(b), "\nvoluntary_ctxt_switches:"); found {
			n, _ := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
			wakes += n
		}
	}
	return used, wakes, len(tasks) > 0
}

func quantiles(b *testing.B, l []time.Duration) {
	slices.Sort(l)
	at := func(q float64) float64 {
		return float64(l[min(len(l)-1, int(q*float64(len(l))))].Microseconds()) / 1000
	}
	b.ReportMetric(at(.5), "p50-ms")
	b.ReportMetric(at(.99), "p99-ms")
	b.ReportMetric(0, "ns/op")
}

// PERF-6: from the write of a key to the read that shows it; one iteration is one key.
func BenchmarkKeyToPaint(b *testing.B) {
	for _, c := range [][]string{
		{"idle", "PAINT_DEMO=paint"},
		{"1000 msgs/s", "PAINT_DEMO=paint", "RATE=1000"},
		{"1000 msgs/s, 33 ms pace", "PAINT_DEMO=paint", "RATE=1000", "PACE=33"},
		{"1000 msgs/s, stock at 60 Hz", "PAINT_DEMO=stock", "RATE=1000"},
	} {
		b.Run(c[0], func(b *testing.B) {
			p := probed(b, "tokens", 120, 40, c[1:]...)
			defer p.stop()
			p.await(b)
			var l []time.Duration
			used, _, _ := p.cpu()
			began := time.Now()
			for i := 0; b.Loop(); i++ {
				time.Sleep(time.Duration(15+i*7%11) * time.Millisecond)
				p.expect(string(rune(0x2800 + (i+1)%256)))
				at := time.Now()
				_, _ = p.host.WriteString("a")
				l = append(l, p.await(b).Sub(at))
			}
			quantiles(b, l)
			if now, _, ok := p.cpu(); ok {
				b.ReportMetric(float64(now-used)/float64(time.Since(began))*100, "cpu-%")
			}
		})
	}
}

// PERF-7: what a program costs that nothing happens to, in two seconds.
func BenchmarkIdle(b *testing.B) {
	for _, mode := range []string{"paint", "stock"} {
		b.Run(mode, func(b *testing.B) {
			p := probed(b, "tokens", 120, 40, "PAINT_DEMO="+mode)
			defer p.stop()
			p.await(b)
			time.Sleep(1500 * time.Millisecond) // start-up and the collector's last round
			for b.Loop() {
				used, wakes, _ := p.cpu()
				n := p.written()
				time.Sleep(2 * time.Second)
				now, woken, ok := p.cpu()
				b.ReportMetric(float64(p.written()-n), "bytes")
				if ok {
					b.ReportMetric(float64((now-used).Microseconds())/1000, "cpu-ms")
					b.ReportMetric(float64(woken-wakes), "wakeups")
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// PERF-1: from the start of the process to its first frame; one iteration is one start.
func BenchmarkFirstFrame(b *testing.B) {
	for _, c := range [][3]string{{"paint", "paint", "ok|"}, {"stock", "stock", "ok|"}, {"empty stock program", "empty", "empty"}} {
		b.Run(c[0], func(b *testing.B) {
			var l []time.Duration
			for b.Loop() {
				p := probed(b, c[2], 120, 40, "PAINT_DEMO="+c[1])
				l = append(l, p.await(b).Sub(p.began))
				p.stop()
			}
			quantiles(b, l)
		})
	}
}

// PERF-5: bytes to the terminal for each byte of streamed text, and beside it for each second.
func BenchmarkStreamBytes(b *testing.B) {
	for _, c := range [][]string{
		{"200 tokens/s", "PAINT_DEMO=paint", "RATE=200", "LIMIT=600"},
		{"200 tokens/s, 33 ms pace", "PAINT_DEMO=paint", "RATE=200", "LIMIT=600", "PACE=33"},
		{"200 tokens/s, 50 ms pace", "PAINT_DEMO=paint", "RATE=200", "LIMIT=600", "PACE=50"},
		{"1000 tokens/s", "PAINT_DEMO=paint", "RATE=1000", "LIMIT=2000"},
		{"1000 tokens/s, 33 ms pace", "PAINT_DEMO=paint", "RATE=1000", "LIMIT=2000", "PACE=33"},
		{"200 tokens/s, stock", "PAINT_DEMO=stock", "RATE=200", "LIMIT=600"},
	} {
		b.Run(c[0], func(b *testing.B) {
			for b.Loop() {
				p := probed(b, "tokens", 120, 40, c[1:]...)
				p.await(b)
				limit, _ := strconv.Atoi(strings.TrimPrefix(c[3], "LIMIT="))
				p.expect("\x1b]2;streamed\a")
				used, _, _ := p.cpu()
				took := p.await(b).Sub(p.began)
				now, _, _ := p.cpu()
				text := 0
				for i := range limit {
					text += len(fmt.Sprintf("word%d ", i%97))
				}
				b.ReportMetric(float64(p.written())/float64(text), "bytes/text")
				b.ReportMetric((float64(p.written())-3*float64(text))/took.Seconds()/1000, "KB/s-over-3x")
				b.ReportMetric(float64((now - used).Milliseconds()), "cpu-ms")
				p.stop()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// The cost of a frame in which one row changed, in which the transcript scrolled, and of a view that is the same.
func BenchmarkFrame(b *testing.B) {
	view := func(top, tail int) tea.View {
		var s strings.Builder
		for i := range 50 {
			fmt.Fprintf(&s, "\x1b[36mline %d\x1b[m %s \x1b[1mbold\x1b[m\n", top+i, strings.Repeat("text of the transcript ", 6))
		}
		fmt.Fprintf(&s, "tail %d\n────\n> ", tail)
		v := tea.NewView(s.String())
		v.Cursor = tea.NewCursor(2, 52)
		return v
	}
	for name, next := range map[string]func(i int) tea.View{
		"same": func(int) tea.View { return view(0, 0) }, "row": func(i int) tea.View { return view(0, i) }, "scroll": func(i int) tea.View { return view(i, i) },
	} {
		b.Run(name, func(b *testing.B) {
			s := newScreen(trueColor, 200, 60)
			s.sync = true
			s.frame(next(0))
			views := make([]tea.View, 64)
			for i := range views {
				views[i] = next(i)
			}
			var n int
			for i := 0; b.Loop(); i++ {
				n += len(s.frame(views[i%64]))
			}
			b.ReportMetric(float64(n)/float64(b.N), "bytes/frame")
		})
	}
}
