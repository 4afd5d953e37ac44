package main

import (
	"math"
	"testing"

	"varve/internal/harness"
	"varve/internal/providers/openaichat"
	"varve/internal/session"
)

// What was used costs what the catalogue says of the vendor's own address; what has no
// price, or was not told, has no cost, and never none at all.
func TestPrice(t *testing.T) { // PRV-10, TUI-6, RUN-1
	m := newTestDesk(t).m
	known := session.Model{Provider: "openai", API: openaichat.API, Model: "gpt-4.1"}
	p, ok := m.price(known)
	if !ok || p.In <= 0 || p.Out <= p.In || p.CacheRead <= 0 || p.CacheRead >= p.In || p.CacheWrite != p.In {
		t.Fatalf("%+v, %v", p, ok)
	}
	for _, unknown := range []session.Model{
		{Provider: "openai", API: openaichat.API, Model: "no-such"}, {Provider: "nobody", Model: "gpt-4.1"}, {Provider: "ollama", API: openaichat.API, Model: "gpt-4.1"},
	} {
		if _, ok := m.price(unknown); ok {
			t.Errorf("%s has a price", unknown)
		}
	}
	used := session.Usage{Input: 1000, Cached: 10_000, CacheWrite: 100, Output: 500}
	cost := (1000*p.In + 10_000*p.CacheRead + 100*p.CacheWrite + 500*p.Out) / 1e6
	same := func(got *float64, want float64) bool { return got != nil && math.Abs(*got-want) < 1e-9 }
	var s summary
	s.sent = map[session.Seq]harness.Use{1: {Model: known}, 2: {Model: known, Summary: true}, 3: {Model: session.Model{Provider: "nobody", Model: "x"}}, 4: {Model: known}}
	s.use(1, false, &used)
	s.use(2, true, &used)
	if got := usageScopeOf(s.uses, m.price); !same(got.CostUSD, 2*cost) || len(got.Models) != 2 || !same(got.Models[0].CostUSD, cost) {
		t.Errorf("%+v, want %v", got, 2*cost)
	}
	untold := summary{sent: s.sent}
	untold.use(1, false, &used)
	untold.use(4, true, nil)
	if got := usageScopeOf(untold.uses, m.price); got.CostUSD != nil {
		t.Errorf("%v though one was not told", *got.CostUSD)
	}
	s.use(3, false, &used)
	if got := usageScopeOf(s.uses, m.price); got.CostUSD != nil || got.Models[2].CostUSD != nil {
		t.Errorf("%+v though one has no price", got)
	}
	// On the screen it is there as soon as the catalogue was read, and nothing waits for that.
	asked, read := make(chan struct{}), make(chan struct{})
	tag := priceTag{of: func(x session.Model) (harness.Price, bool) { close(asked); <-read; return m.price(x) }}
	u := session.UsageOf{Model: known, Requests: 1, Sum: used}
	if _, ok := tag.cost(u); ok {
		t.Error("a price before it was read")
	}
	<-asked
	close(read)
	tag.reads.Wait()
	if got, ok := tag.cost(u); !ok || math.Abs(got-cost) > 1e-9 {
		t.Errorf("%v, %v, want %v", got, ok, cost)
	}
	u.Unknown = 1
	if _, ok := tag.cost(u); ok {
		t.Error("a cost though one was not told")
	}
}
