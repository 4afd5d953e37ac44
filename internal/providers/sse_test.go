package providers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"varve/internal/providers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// all reads a stream to its end.
func all(body io.Reader, limit int) ([]string, error) {
	r := providers.ReadEvents(context.Background(), io.NopCloser(body), providers.Reading{Limit: limit})
	defer r.Close()
	var out []string
	for {
		ev, err := r.Next()
		if err != nil {
			return out, err
		}
		line := ev.Name + "|" + string(ev.Data)
		if ev.Cut {
			line += "|cut"
		}
		out = append(out, line)
	}
}

// Every unusual form of a stream gives the same events, however it is split.
// case STR-02, STR-04; wire.md C08-C14
func TestEventsInEveryForm(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		want         []string
	}{
		{"plain", "data: a\n\ndata: b\n\n", []string{"|a", "|b"}},
		{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"|a", "|b"}},
		{"crlf, several lines", "data: a\r\ndata: b\r\n\r\n", []string{"|a\nb"}},
		{"cr, several lines", "data: a\rdata: b\r\r", []string{"|a\nb"}},
		{"cr", "data: a\r\rdata: b\r\r", []string{"|a", "|b"}},
		{"mixed", "data: a\r\n\ndata: b\r\r\n\n", []string{"|a", "|b"}},
		{"bom", "\xEF\xBB\xBFdata: a\n\n", []string{"|a"}},
		{"bom and cr", "\xEF\xBB\xBFdata: a\r\r", []string{"|a"}},
		{"no space", "data:a\n\n", []string{"|a"}},
		{"two spaces keep one", "data:  a\n\n", []string{"| a"}},
		{"several lines", "data: {\ndata: }\n\n", []string{"|{\n}"}},
		{"empty data line", "data: a\ndata\ndata: b\n\n", []string{"|a\n\nb"}},
		{"comments", ": hello\n:\n\n\ndata: a\n: in between\ndata: b\n\n", []string{"|a\nb"}},
		{"event before and after", "event: x\ndata: a\n\ndata: b\nevent: y\n\n", []string{"x|a", "y|b"}},
		{"other fields", "id: 1\nretry: 5\nfoo: bar\nbaz\ndata: a\n\n", []string{"|a"}},
		{"name without data", "event: error\n\n", []string{"error|"}},
		{"no blank line", "data: a\n\ndata: b", []string{"|a", "|b|cut"}},
		{"no blank line but an end", "data: b\n", []string{"|b|cut"}},
		{"colon in data", "data: a: b\n\n", []string{"|a: b"}},
		{"utf-8", "data: héllo🙂漢\n\n", []string{"|héllo🙂漢"}},
		{"flood", strings.Repeat(": ping\n", 10000) + "data: a\n\n", []string{"|a"}},
		{"nothing", "", nil},
		{"blank", "\n\r\n\r\r", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole": strings.NewReader(c.stream), "bytes": iotest.OneByteReader(strings.NewReader(c.stream)),
				"halves": iotest.HalfReader(strings.NewReader(c.stream)), "data with EOF": iotest.DataErrReader(strings.NewReader(c.stream)),
			} {
				got, err := all(r, 0)
				if err != io.EOF {
					t.Errorf("%s: end = %v, want io.EOF", how, err)
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("%s: %s", how, d)
				}
			}
		})
	}
}

// case STR-01
func TestEventsOfAnyLength(t *testing.T) {
	for _, n := range []int{70 << 10, 1100 << 10, 9 << 20} {
		long := strings.Repeat("x", n)
		got, err := all(strings.NewReader("data: "+long+"\n\n"), 0)
		if err != io.EOF || len(got) != 1 || got[0] != "|"+long {
			t.Errorf("%d bytes: %d events, %v", n, len(got), err)
		}
	}
	for name, stream := range map[string]string{
		"one line": "data: " + strings.Repeat("x", 2000) + "\n\n", "many lines": strings.Repeat("data: xxxxxxxx\n", 200) + "\n",
		"no end": "data: " + strings.Repeat("x", 2000), "comment": ":" + strings.Repeat("x", 2000),
	} {
		for _, r := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream))} {
			if got, err := all(r, 1000); !errors.Is(err, providers.ErrEventTooLong) {
				t.Errorf("%s: got %d events and %v, want ErrEventTooLong", name, len(got), err)
			}
		}
	}
}

func TestEventsOfABrokenConnection(t *testing.T) {
	broke := errors.New("reset")
	got, err := all(io.MultiReader(strings.NewReader("data: a\n\ndata: {\"b"), iotest.ErrReader(broke)), 0)
	if d := cmp.Diff([]string{"|a", `|{"b|cut`}, got); d != "" || err != broke {
		t.Errorf("%s, end %v", d, err)
	}
}

// PRV-5: keep-alives hold off the stall, but not the progress timer; case STR-14: there is no total deadline.
func TestSilence(t *testing.T) {
	for _, c := range []struct {
		name    string
		how     providers.Reading
		pings   int           // one each 30 s
		want    error         // nil: the data arrives
		elapsed time.Duration // until the end
	}{
		{"stall", providers.Reading{Stall: 120 * time.Second}, 0, providers.ErrStalled, 120 * time.Second},
		{"pings are life", providers.Reading{Stall: 120 * time.Second}, 40, nil, 20 * time.Minute},
		{"stall after pings", providers.Reading{Stall: 20 * time.Second}, 3, providers.ErrStalled, 20 * time.Second},
		{"no progress", providers.Reading{Stall: 120 * time.Second, Quiet: 60 * time.Second}, 40, providers.ErrQuiet, 60 * time.Second},
		{"no timers", providers.Reading{}, 40, nil, 20 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, out := io.Pipe()
				written := make(chan struct{})
				go func() {
					defer close(written)
					for range c.pings {
						time.Sleep(30 * time.Second)
						if _, err := out.Write([]byte(": ping\n\n")); err != nil {
							return
						}
					}
					if c.want == nil {
						_, _ = out.Write([]byte("data: a\n\n"))
						_ = out.Close()
					}
				}()
				began := time.Now()
				r := providers.ReadEvents(t.Context(), in, c.how)
				ev, err := r.Next()
				if c.want == nil && (err != nil || string(ev.Data) != "a") || c.want != nil && !errors.Is(err, c.want) {
					t.Errorf("got %q and %v, want %v", ev.Data, err, c.want)
				}
				if got := time.Since(began); got != c.elapsed {
					t.Errorf("after %v, want %v", got, c.elapsed)
				}
				r.Close()
				<-written
			})
		})
	}
}

// A slow reader is no stalled stream.
func TestOnlyWaitingStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		go func() { // ends with the pipe
			_, _ = out.Write([]byte("data: a\n\n"))
			time.Sleep(140 * time.Second) // 60 after the reader came back
			_, _ = out.Write([]byte("data: b\n\n"))
			_ = out.Close()
		}()
		r := providers.ReadEvents(t.Context(), in, providers.Reading{Stall: 90 * time.Second})
		defer r.Close()
		for range 2 {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(80 * time.Second)
		}
		if _, err := r.Next(); err != io.EOF { // 140 s after the read before it began, 80 after it ended
			t.Errorf("end %v", err)
		}
	})
}

func TestCancelClosesTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, out := io.Pipe()
		r := providers.ReadEvents(ctx, in, providers.Reading{Stall: time.Hour})
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		began := time.Now()
		if _, err := r.Next(); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		synctest.Wait()
		if _, err := out.Write([]byte("x")); err == nil {
			t.Error("body is still open")
		}
		r.Close()
	})
}

func TestPeek(t *testing.T) {
	for stream, want := range map[string]string{
		"data: a\n\n": "d", "\xEF\xBB\xBF \n{\"a\":1}": "{", "  <html>": "<", ": ping\n\n": ":", "": "EOF", " \n": "EOF",
		strings.Repeat(" ", 20000) + "data: a\n\n": "\x00",
	} {
		r := providers.ReadEvents(t.Context(), io.NopCloser(iotest.OneByteReader(strings.NewReader(stream))), providers.Reading{})
		c, err := r.Peek()
		got := string(rune(c))
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%.20q: got %q, want %q", stream, got, want)
		}
		if strings.HasPrefix(stream, "data") {
			if ev, err := r.Next(); err != nil || string(ev.Data) != "a" {
				t.Errorf("after Peek: %q, %v", ev.Data, err)
			}
		}
		r.Close()
	}
}

// REL-5: no stream makes the reader panic, and how it is cut into reads
// changes nothing.
func FuzzSSE(f *testing.F) {
	for _, s := range []string{
		"data: a\n\n", "data:a\r\n\r\nevent: x\rdata: b\r\r", "\xEF\xBB\xBFdata: a\n: c\ndata: b\n\n", "data", "event: error\n\n", ":\n\n\r\n\rdata: \xF0\x9F\x99\x82",
		"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n", "data: [DONE]\n\ndata: late", strings.Repeat("data: 0123456789\n", 20) + "\n",
	} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		want, end := all(bytes.NewReader(stream), 200)
		for _, r := range []io.Reader{iotest.OneByteReader(bytes.NewReader(stream)), &stepReader{stream, int(step)%7 + 1}} {
			got, err := all(r, 200)
			if d := cmp.Diff(want, got); d != "" || fmt.Sprint(end) != fmt.Sprint(err) {
				t.Fatalf("%s, end %v and %v", d, end, err)
			}
		}
	})
}

type stepReader struct {
	left []byte
	step int
}

func (r *stepReader) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.step)], r.left)
	r.left = r.left[n:]
	return n, nil
}

// What is shown is shown once for each read, before more is waited for. // PERF-5
func TestIdleComesBeforeEachRead(t *testing.T) {
	var story []string
	reads := []string{"data: a\n\ndata: b\n\nda", "ta: c\n\n", ""}
	body := readerFunc(func(p []byte) (int, error) {
		story = append(story, "read")
		n := copy(p, reads[0])
		if reads = reads[1:]; n == 0 {
			return 0, io.EOF
		}
		return n, nil
	})
	r := providers.ReadEvents(context.Background(), io.NopCloser(body), providers.Reading{Idle: func() { story = append(story, "idle") }})
	defer r.Close()
	for {
		ev, err := r.Next()
		if err != nil {
			break
		}
		story = append(story, string(ev.Data))
	}
	want := []string{"idle", "read", "a", "b", "idle", "read", "c", "idle", "read"}
	if diff := cmp.Diff(want, story); diff != "" {
		t.Error(diff)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
