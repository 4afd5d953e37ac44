package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// grow is PERF-12: what 20 checkpoints over one session add to its file.
func grow(b *bench) ([]row, error) {
	var rows []row
	for _, way := range []struct {
		name   string
		window int
	}{{"one-shot", 1_000_000}, {"MapReduce", 4_000}} {
		sizes, err := checkpoints(b, way.window)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", way.name, err)
		}
		first, last, sum, text, requests := sizes[1], sizes[len(sizes)-1], 0, 0, 0
		for _, s := range sizes {
			sum, text, requests = sum+s.beside, text+s.text, requests+s.requests
		}
		rows = append(rows,
			row{
				id: "PERF-12", what: fmt.Sprintf("%s, %d checkpoints: bytes beside their text, a request", way.name, len(sizes)), value: float64(sum) / float64(requests) / 1000, unit: "KB",
				limit: 5, from: fmt.Sprintf("target: prompt and recipe (%d requests; committed and staged text: %.1f KB)", requests, float64(text)/1000),
			},
			row{
				id: "PERF-12", what: "  the last against the second", value: float64(last.beside) / float64(first.beside), unit: "x",
				limit: 1.05, from: "PERF-12: no term in history x checkpoints",
			})
	}
	return rows, nil
}

// A size is what one compaction wrote.
type size struct{ text, beside, requests int }

// checkpoints works and compacts by turns, 20 times, and reads what the file
// says of each compaction.
func checkpoints(b *bench, window int) ([]size, error) {
	long := strings.Repeat("a long answer with many words in it, as they come. ", 80)
	s, err := serve(func(r scripted.Request) scripted.Reply {
		if r.Model() == seatSums.Model {
			return summarized(r, 0)
		}
		return scripted.Reply{Steps: []scripted.Step{scripted.Role(), scripted.Text(long), scripted.Finish("stop"), scripted.Done()}}
	})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	dir, err := os.MkdirTemp(b.dir, "grow-")
	if err != nil {
		return nil, err
	}
	t := seat{dir: dir, url: s.URL() + "/v1", window: window}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := t.sit(ctx); err != nil {
		return nil, err
	}
	for range 20 {
		for range 6 {
			if err := t.until(ctx, drive.Say{Text: []byte("and then?")}, "turn.ended"); err != nil {
				return nil, err
			}
		}
		if err := t.until(ctx, drive.Compact{}, "checkpoint.committed"); err != nil {
			return nil, err
		}
	}
	path := t.local.Session.Path()
	if err := t.local.Close(); err != nil {
		return nil, err
	}
	return compactions(path)
}

// compactions are the bytes of each compaction in a file, from the wish to the
// checkpoint.
func compactions(path string) ([]size, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []size
	inside := false
	for line := range bytes.Lines(file) {
		e, err := session.Decode(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			return nil, err
		}
		if e.Type == "compaction.requested" {
			inside, out = true, append(out, size{})
		}
		if !inside {
			continue
		}
		now := &out[len(out)-1]
		now.beside += len(line)
		switch e.Event.(type) {
		case session.RequestSent:
			now.requests++
		case session.CheckpointCommitted, session.StagingMapped, session.StagingReduced, session.StagingAudited, session.StagingCorrected:
			parts, err := e.Parts()
			if err != nil {
				return nil, err
			}
			if len(parts) > 0 {
				now.text += len(parts[0].Bytes)
				now.beside -= len(parts[0].Bytes)
			}
			inside = e.Type != "checkpoint.committed"
		}
	}
	return out, nil
}
