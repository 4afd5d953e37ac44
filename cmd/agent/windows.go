package main

import (
	"context"
	"sync"
	"time"

	"varve/internal/harness"
	"varve/internal/providers"
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
// and the server may not serve is no window. Where the key is not ready nobody is
// asked here: to look at a session runs no command.
func (w *windows) reported(ctx context.Context, t harness.Target, model string, ready bool) int {
	w.mu.Lock()
	q := w.of[windowKey(t.Endpoint, model)]
	w.mu.Unlock()
	first := false
	if ready && q.due() {
		to, err := t.Ready(ctx)
		if err != nil {
			return 0
		}
		q, first = w.begin(to, model)
	}
	if q == nil {
		return 0
	}
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

func windowKey(to providers.Endpoint, model string) string { return to.BaseURL + " " + model }

// begin asks a server if it is time to. first: nobody has before.
func (w *windows) begin(to providers.Endpoint, model string) (q *windowAsked, first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[string]*windowAsked{}
	}
	was := w.of[windowKey(to, model)]
	if !was.due() {
		return was, false
	}
	q = &windowAsked{done: make(chan struct{}), at: time.Now()}
	w.of[windowKey(to, model)] = q
	go q.ask(to, model)
	return q, was == nil
}

// due says that the server is to be asked, for the first time or again.
func (q *windowAsked) due() bool {
	return q == nil || q.over() && q.window == 0 && time.Since(q.at) > asksAgain
}

func (q *windowAsked) over() bool {
	select {
	case <-q.done:
		return true
	default:
		return false
	}
}

func (q *windowAsked) ask(to providers.Endpoint, model string) {
	defer close(q.done)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if info, err := openaichat.Window(ctx, to, model); err == nil && info.WindowSource != openaichat.SourceTrained {
		q.window = info.Window
	}
}
