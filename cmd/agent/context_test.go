package main

import (
	"strings"
	"testing"

	"varve/internal/compact"
	"varve/internal/session"
)

// What a /compact would come to is said as it would be, and of one that nobody works
// on that it waits. // CMP-15, MR-11
func TestContextSaysWhatWouldBe(t *testing.T) {
	d := newTestDesk(t)
	m := session.Model{Provider: "acme", Model: "small"}
	work := &compact.Work{Maps: 2, Missing: 1, Model: m}
	run := &compact.Running{At: 9, By: "user", Route: "map_reduce", Model: m, I: 1, N: 1}
	for _, c := range []struct {
		r    compact.Report
		name string
		want string
	}{
		{compact.Report{}, "/compact now", "there is nothing to summarize yet"},
		{compact.Report{Route: "one_shot", Covers: 900}, "/compact now", "about ~900 tokens would become one summary, by one request"},
		{compact.Report{Route: "map_reduce", Covers: 900}, "/compact now", "about ~900 tokens would become one summary, by parts (MapReduce): they don't fit one request"},
		{compact.Report{Route: "map_reduce", Covers: 900, Onward: "goes_on", Accepted: work}, "/compact now", "about ~900 tokens would become one summary, with the 2 maps of 3 that were accepted"},
		{compact.Report{Route: "one_shot", Covers: 900, Onward: "dropped", Accepted: work}, "/compact now", "about ~900 tokens would become one summary, by one request; anew, without what was accepted"},
		{
			compact.Report{Route: "map_reduce", Onward: "refused", Accepted: work, Spent: []string{"corrections"}},
			"/compact now",
			"is refused: the budget of corrections is spent with acme/small; once more begins anew, without what was accepted; another model goes on with it",
		},
		{compact.Report{Running: run}, "running", "a compaction, asked for by user: map reduce, acme/small (1/1)"},
		{compact.Report{Running: run, LeftOpen: true}, "left open", "a compaction, asked for by user: map reduce, acme/small (1/1); goes on with /compact or a message"},
	} {
		var got []string
		for _, f := range d.m.contextOf(c.r).Facts {
			if f.Name == c.name {
				got = append(got, f.Says)
			}
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}
