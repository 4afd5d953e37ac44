package tui

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve/internal/session"
	"varve/internal/tui/plain"
)

func statusOf(w int, id Identity, s session.State) string {
	return statusLine(w, plainLook(plainTime()), id, s, false, "")
}

func TestStatusLine(t *testing.T) { // TUI-6, CTX-6
	id := Identity{Workspace: "/home/ada/work/greet", Home: "/home/ada", GitBranch: "main", Mode: "ask", Model: session.Model{Provider: "acme", Model: "large"}}
	cost := 0.0421
	state := func(occ, room int, by string, usage ...session.UsageOf) session.State {
		var s session.State
		s.Branch.Size = session.Size{Reported: occ, Seq: 1}
		if by != "provider" {
			s.Branch.Size.Since = 1
		}
		s.Branch.Sent.Room.N = room
		s.Session.Usage = usage
		return s
	}
	used := session.UsageOf{Sum: session.Usage{Input: 1000, Output: 200}}
	paid := session.UsageOf{Sum: session.Usage{Input: 1000, Output: 200, Cost: &cost}}
	untold := paid
	untold.Unknown = 1
	queued := state(0, 0, "provider")
	queued.Branch.Queue = make([]session.Queued, 3)
	standalone, limit := "standalone", 40_000
	due := state(120_000, 200_000, "provider") // case CMP-19
	due.Session.Settings.Compaction.Mode = &standalone
	wide := state(150_000, 1_000_000, "provider")
	wide.Session.Settings.Compaction.Mode = &standalone
	set := due
	set.Session.Settings.InputLimit = &limit
	other := due
	other.Branch.Model = session.Model{Provider: "acme", Model: "other"}
	beyond := state(120_000, 0, "provider")
	script := id
	script.Script = true
	none, puppet, priced := id, script, id
	puppet.Puppet = "/tmp/pages"
	priced.Price = func(session.UsageOf) (float64, bool) { return 0.5, true }
	by := func(who, reason string) (s session.State) {
		s.Branch.ChosenBy, s.Branch.Reason = who, reason
		return s
	}
	none.Model = session.Model{}
	for _, c := range []struct {
		name string
		id   Identity
		s    session.State
		want string
	}{
		{"new", id, session.State{}, "acme/large · ask · git main · ~/work/greet | new"},
		{"known", id, state(100_000, 200_000, "provider"), "acme/large · ask · git main · ~/work/greet | ▰▰▰▰▱▱▱▱ 50%"},
		{"estimated", id, state(150_000, 200_000, "est"), "acme/large · ask · git main · ~/work/greet | ▰▰▰▰▰▰▱▱ ~75%"},
		{"over", id, state(300_000, 200_000, "provider"), "acme/large · ask · git main · ~/work/greet | ▰▰▰▰▰▰▰▰ 150% too much"},
		{"unknown window", id, state(1234, 0, "provider"), "acme/large · ask · git main · ~/work/greet | ▱▱▱▱▱▱▱▱ 1.2k of ~100k"},
		{"used", id, state(1234, 0, "provider", used), "acme/large · ask · git main · ~/work/greet | ▱▱▱▱▱▱▱▱ 1.2k of ~100k · 1.2k tokens so far"},
		{"paid", id, state(1234, 0, "provider", paid), "acme/large · ask · git main · ~/work/greet | ▱▱▱▱▱▱▱▱ 1.2k of ~100k · $0.042"},
		{"paid, and one of them unknown", id, state(1234, 0, "provider", untold), "acme/large · ask · git main · ~/work/greet | ▱▱▱▱▱▱▱▱ 1.2k of ~100k · ~$0.042"},
		{"partly paid", id, state(1234, 0, "provider", paid, used), "acme/large · ask · git main · ~/work/greet | ▱▱▱▱▱▱▱▱ 1.2k of ~100k · 2.4k tokens so far"},
		{"queue", id, queued, "acme/large · ask · git main · ~/work/greet | 3 queued · new"},
		{"trigger", id, due, "acme/large · ask · git main · ~/work/greet | ▰▰▰▰▰▱╎▱▱ 60%"},
		{"trigger of a wide one", id, wide, "acme/large · ask · git main · ~/work/greet | ▰╎▱▱▱▱▱▱▱ 15%"},
		{"over the set limit", id, set, "acme/large · ask · git main · ~/work/greet | ▰▰▰▰▰▰╎▰▰ 300% too much"},
		{"window of another model", id, other, "acme/other · ask · git main · ~/work/greet | 120k tokens"},
		{"unknown window, beyond the estimate", id, beyond, "acme/large · ask · git main · ~/work/greet | 120k tokens"},
		{"a script", script, session.State{}, "acme/large (a script) · ask · git main · ~/work/greet | new"}, // PRV-11
		{"a puppet", puppet, session.State{}, "acme/large (a person) · ask · git main · ~/work/greet | new"},
		{"by the router", id, by("router", ""), "acme/large (router) · ask · git main · ~/work/greet | new"},
		{"by flag, thinking", id, by("flag", "high"), "acme/large (--model) · ask · thinks high · git main · ~/work/greet | new"},
		{"by prices", priced, state(1234, 0, "provider", used, paid), "acme/large · ask · git main · ~/work/greet | ▱▱▱▱▱▱▱▱ 1.2k of ~100k · ~$0.542"},
		{"no model", none, session.State{}, "no model · ask · git main · ~/work/greet | new"},
	} {
		got := statusOf(100, c.id, c.s)
		left, right, _ := strings.Cut(c.want, " | ")
		if !strings.HasPrefix(got, left+" ") || !strings.HasSuffix(got, " "+right) || plain.Width(got) != 100 || strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(got, left), right)) != "" {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// What does not fit is left out, the least important first; the model stays.
func TestStatusLineNarrow(t *testing.T) { // TUI-6, TUI-9
	rapid.Check(t, func(t *rapid.T) {
		id := Identity{
			Workspace: "/" + rapid.StringN(0, 30, 90).Draw(t, "folder"), GitBranch: rapid.StringN(0, 20, 60).Draw(t, "branch"),
			Mode: "full", Model: session.Model{Provider: "p", Model: rapid.StringN(0, 20, 60).Draw(t, "model")},
		}
		var s session.State
		s.Branch.Queue = make([]session.Queued, rapid.IntRange(0, 3).Draw(t, "queued"))
		s.Branch.Sent.Room.N, s.Branch.Size.Reported = 1000, 10
		w := rapid.IntRange(leastW, 200).Draw(t, "w")
		line := statusOf(w, id, s)
		fits(t, []string{line}, w, 1)
	})
	if got := statusOf(20, Identity{Model: session.Model{Provider: "acme", Model: "large"}, Mode: "ask", Workspace: "/w"}, session.State{}); !strings.HasPrefix(got, "acme/large") {
		t.Errorf("%q", got)
	}
}

// In which order things give way, at the widths that matter.
func TestGoldenStatus(t *testing.T) { // TUI-6, TUI-9
	var s session.State
	cost := 0.0421
	s.Branch.Name, s.Branch.Reason, s.Branch.ChosenBy = "日本語", "high", "router"
	s.Branch.Sent.Room.N, s.Branch.Size.Reported, s.Branch.Size.Since = 200_000, 150_000, 1
	s.Branch.Queue = []session.Queued{{Kind: "queue"}, {Kind: "steer"}}
	s.Session.Usage = []session.UsageOf{{Sum: session.Usage{Input: 1000, Output: 200, Cost: &cost}}}
	id := Identity{Workspace: "/home/ada/work/greet", Home: "/home/ada", GitBranch: "feature/挨拶", Mode: "full", Model: session.Model{Provider: "acme", Model: "large-2026"}}
	var b strings.Builder
	for _, w := range []int{140, 120, 100, 80, 60, 40, 20} {
		for _, doing := range []string{"", "answer needed"} {
			line := statusLine(w, plainLook(plainTime()), id, s, true, doing)
			fits(t, []string{line}, w, 1)
			fmt.Fprintf(&b, "%3d|%s|\n", w, line)
		}
	}
	golden(t, "status", "The folder gives way first, then git's branch, the reasoning, the money, the branch; the bar becomes its number and the queue a count; what goes on stays longest, the model and the mode always.", b.String())
}
