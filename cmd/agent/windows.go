package main

import (
	"context"
	"sync"
	"time"

	"varve/internal/harness"
	"varve/internal/providers/openaichat"
)

// How much the model of a server on this machine takes, as the server says (PRV-8): it
// is asked once, when the model is first needed, and what it says is kept.

const (
	tellsWithin = 300 * time.Millisecond // what the first request waits for it; later ones don't
	asksAgain   = 10 * time.Second       // where nothing was told: a server may load its model with the first request
)

// windows are the answers, by address and model.
type windows struct {
	mu sync.Mutex
	of map[string]*windowAsked
}

type windowAsked struct {
	done   chan struct{}
	window int // 0: not told
	at     time.Time
}

// reported is what a server has told so far, 0 for nothing. What a model could take
// and the server may not serve is no window.
func (w *windows) reported(ctx context.Context, to harness.Target, model string) int {
	key := to.Endpoint.BaseURL + " " + model
	w.mu.Lock()
	if w.of == nil {
		w.of = map[string]*windowAsked{}
	}
	q := w.of[key]
	first := q == nil
	if first || q.over() && q.window == 0 && time.Since(q.at) > asksAgain {
		q = &windowAsked{done: make(chan struct{}), at: time.Now()}
		w.of[key] = q
		go q.ask(to, model)
	}
	w.mu.Unlock()
	if first {
		select {
		case <-q.done:
		case <-time.After(tellsWithin):
		case <-ctx.Done():
		}
	}
	if !q.over() {
		return 0
	}
	return q.window
}

func (q *windowAsked) over() bool {
	select {
	case <-q.done:
		return true
	default:
		return false
	}
}

func (q *windowAsked) ask(to harness.Target, model string) {
	defer close(q.done)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	at, err := to.Keyed(ctx)
	if err != nil {
		return // the request says why
	}
	if info, err := openaichat.Window(ctx, at, model); err == nil && info.WindowSource != openaichat.SourceTrained {
		q.window = info.Window
	}
}
