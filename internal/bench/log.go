package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"varve/internal/content"
	"varve/internal/harness"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// openLarge is PERF-3 without a screen: a large session is opened and folded,
// and its tail is read.
func openLarge(b *bench) ([]row, error) {
	events, size := 200_000, int64(500e6)
	if b.quick {
		events, size = 20_000, 50e6
	}
	path := filepath.Join(b.dir, "large.jsonl")
	n, err := generate(path, events, size)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var tail, scan, fold, wc cost
	for range 3 {
		for what, best := range map[string]*cost{"tail": &tail, "scan": &scan, "fold": &fold} {
			c, err := spend(b.dir, []string{"VARVE_BENCH_OPEN=" + what + ":" + path}, self)
			if err != nil {
				return nil, err
			}
			*best = least(*best, c)
		}
		if bin, err := exec.LookPath("wc"); err == nil {
			c, err := spend(b.dir, nil, bin, "-l", path)
			if err != nil {
				return nil, err
			}
			wc = least(wc, c)
		}
	}
	what := fmt.Sprintf("%d events, %.0f MB: ", events, mb(n))
	return []row{
		{id: "PERF-3", what: what + "tail read", value: ms(tail.wall), unit: "ms", limit: 1.5 * ms(wc.wall), from: "1.5x `wc -l` of the file"},
		{id: "PERF-3", what: what + "lines found", value: ms(scan.wall), unit: "ms", limit: 1.5 * ms(wc.wall), from: "1.5x `wc -l` of the file"},
		{id: "PERF-3", what: what + "folded, CPU", value: fold.cpu.Seconds(), unit: "s", limit: 2, from: "target: in the background, before the first request"},
		{id: "PERF-3", what: what + "folded, peak memory", value: mb(fold.rss), unit: "MB", limit: 0.15 * mb(n), from: "15 % of the file"},
	}, nil
}

// openChild is what the measured process does.
func openChild(arg string) {
	what, path, _ := strings.Cut(arg, ":")
	opts := jsonl.Options{ReadOnly: true}
	switch what {
	case "tail":
		f, err := jsonl.Open(path, opts)
		if err != nil {
			fail(err)
		}
		raws, err := f.Tail(200, 4<<20)
		if err != nil || len(raws) == 0 {
			fail(fmt.Errorf("tail: %d lines, %w", len(raws), err))
		}
	case "scan":
		f, err := jsonl.Open(path, opts)
		if err == nil {
			err = f.CatchUp(func(jsonl.Line, []byte) error { return nil })
		}
		if err != nil {
			fail(err)
		}
	case "fold":
		s, err := harness.Open(path, content.Open(filepath.Dir(path)), jsonl.Turn, harness.System{})
		if err != nil {
			fail(err)
		}
		runtime.KeepAlive(s)
	}
}

// generate writes a session of tool turns, most of its bytes tool output.
func generate(path string, events int, size int64) (int64, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	prev := strings.Repeat("0", 32)
	seq, total := 0, int64(0)
	put := func(e session.Event, body ...session.Part) error {
		rest, err := session.EncodeRest(session.Fact{Branch: session.MainBranch, Event: e, Body: body}, at)
		if err != nil {
			return err
		}
		seq++
		line := make([]byte, 0, len(rest)+64)
		line = append(line, `{"seq":`...)
		line = strconv.AppendInt(line, int64(seq), 10)
		line = append(line, `,"prev":"`...)
		line = append(line, prev...)
		line = append(line, `",`...)
		line = append(line, rest...)
		sum := sha256.Sum256(line)
		prev = hex.EncodeToString(sum[:16])
		total += int64(len(line)) + 1
		_, err = w.Write(append(line, '\n'))
		return err
	}
	part := func(s string) session.Part { return session.Part{Bytes: []byte(s)} }
	model := session.Model{Provider: "p", API: "openai-chat", Model: "m"}
	out := strings.Repeat("func Example() { return 12345 } // some output of a tool\n", int(size)/(events/5)/58)
	err = put(session.SessionCreated{Format: 1, ID: "large", Workspace: "/w", Program: "bench"})
	for err == nil && seq < events {
		if err = put(session.UserSaid{Via: "prompt", Text: &session.Text{}, Tokens: session.Estimate(20)}, part("do the next thing please")); err != nil {
			break
		}
		turn := session.Seq(seq)
		for range 10 {
			at = at.Add(time.Second)
			if err = put(session.RequestSent{Job: "j", Purpose: "agent", Turn: turn, Attempt: 1, Model: model, Endpoint: "http://127.0.0.1/v1", SHA256: prev + prev, Recipe: []session.Step{{Take: 1000, From: 1}}}); err != nil {
				break
			}
			req := session.Seq(seq)
			if err = put(session.ReplyCompleted{Request: req, Finish: "tool", Parts: []session.ReplyPart{{Kind: "tool_call", Tokens: session.Estimate(40), Call: &session.CallName{ID: "call_abcdefgh", Name: "read"}}}}, part(`{"file_path":"internal/x.go"}`)); err != nil {
				break
			}
			call := session.Seq(seq).Item()
			if err = put(session.CallJudged{Call: call, Verdict: "allow", Beside: true, Effects: []string{"read"}}); err != nil {
				break
			}
			if err = put(session.ToolStarted{Call: call, Run: "r", Effects: []string{"read"}}); err != nil {
				break
			}
			if err = put(session.ToolFinished{Call: call, DurationMS: 3, Tokens: session.Estimate(len(out))}, part(out)); err != nil {
				break
			}
		}
		if err == nil {
			err = put(session.TurnEnded{Turn: turn, Status: "completed", Requests: 10})
		}
	}
	if ferr := w.Flush(); err == nil {
		err = ferr
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return total, err
}

// appendSync is PERF-10: an append with sync against a bare write and
// fdatasync of the same bytes, in interleaved pairs.
func appendSync(b *bench) ([]row, error) {
	rest := []byte(`"branch":"main","at":"2026-11-30T12:00:00.000Z","type":"tool.finished","must":true,"data":{"call":"5","is_error":false,"duration_ms":3,"text":{"b":0},"tokens":{"n":300,"by":"est"}},"body":["` +
		string(bytes.Repeat([]byte("x"), 1000)) + `"]}`)
	log, err := jsonl.Create(filepath.Join(b.dir, "append.jsonl"), jsonl.Options{Policy: jsonl.Always})
	if err != nil {
		return nil, err
	}
	defer log.Close()
	bare, err := os.OpenFile(filepath.Join(b.dir, "bare.jsonl"), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer bare.Close()
	line := append(bytes.Repeat([]byte("y"), 60), append(rest, '\n')...)
	var ours, theirs []time.Duration
	rounds := 300
	if b.quick {
		rounds = 60
	}
	for range rounds {
		began := time.Now()
		if _, err := log.Append(context.Background(), [][]byte{rest}, nil); err != nil {
			return nil, err
		}
		ours = append(ours, time.Since(began))
		began = time.Now()
		if _, err := bare.Write(line); err != nil {
			return nil, err
		}
		if err := datasync(bare); err != nil {
			return nil, err
		}
		theirs = append(theirs, time.Since(began))
	}
	return []row{{
		id: "PERF-10", what: "append with sync, median of pairs", value: float64(median(ours)) / float64(median(theirs)), unit: "x", limit: 1.2,
		from: fmt.Sprintf("bare write + fdatasync (%.2f ms)", ms(median(theirs))),
	}}, nil
}
