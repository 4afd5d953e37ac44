package words

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"varve/internal/session"
)

// Every way in which a compaction fails has words of its own. // SUM-4, TUI-7
func TestCompactionWords(t *testing.T) {
	var b strings.Builder
	say := func(name, s string) { fmt.Fprintf(&b, "%s\n    %s\n", name, s) }
	for _, kind := range []string{
		"nothing", "exhausted", "cancelled", "sections", "not_smaller", "over_trigger", "source_changed", "too_long", "item_too_large", "repartitions",
		"levels", "audit", "stuck", "reread_malformed", "reread_unavailable", "reread_too_large", "reread_again", "summaries_too_large", "internal", "opaque", "superseded",
	} {
		s := Toast(session.ToastPosted{Code: "compaction.failed", Args: map[string]string{"kind": kind}})
		if strings.Contains(s, kind+")") || strings.Contains(s, "_") {
			t.Errorf("%s has no words of its own: %s", kind, s)
		}
		say(kind, s)
	}
	say("a newer kind", CompactionFailed("moon_phase", "it was full.\nAnd bright", false))
	say("with a detail", CompactionFailed("item_too_large", "item 12 has about 9000 tokens, and can't be divided: choose a summarization model with a larger window", false))
	say("stopped with parts", CompactionFailed("cancelled", "", true))
	say("stuck with a budget", CompactionFailed("stuck", "the budget of corrections is spent with acme/small", true))
	for _, why := range []string{
		"length", "tool_call", "empty", "refusal", "paused", "unknown", "lost", "waits_too_long", "overflow", "auth", "rate_limit", "server",
		"acme: no such provider in setup.json",
	} {
		say("exhausted by "+why, CompactionFailed("exhausted", why, false))
	}
	m := session.Model{Provider: "acme", Model: "small"}
	say("unbuildable", Tried(session.SummarizerTried{I: 1, N: 2, Model: m, Outcome: "unbuildable", Why: "acme: no key; set ACME_API_KEY"}))
	say("spent", Tried(session.SummarizerTried{I: 2, N: 2, Model: m, Outcome: "spent", Why: "length"}))
	say("started", Tried(session.SummarizerTried{I: 2, N: 2, Model: m, Outcome: "started"}))
	for _, next := range []string{"", "again", "model", "none"} {
		say("sections, next "+next, Rejected(session.HandoffRejected{Why: "sections", Missing: []string{"Objective", "Next Action"}, Next: next}))
	}
	say("not smaller", Rejected(session.HandoffRejected{Why: "not_smaller"}))
	say("asks", Toast(session.ToastPosted{Code: "compaction.asks", Args: map[string]string{"model": "acme/small", "i": "1", "n": "2"}}))
	say("asks the next", Toast(session.ToastPosted{Code: "compaction.asks", Args: map[string]string{"model": "acme/large", "i": "2", "n": "2", "after": "acme/small", "why": "length"}}))
	say("done", Toast(session.ToastPosted{Code: "compaction.done", Args: map[string]string{"before": "1204800", "after": "900"}}))
	for _, why := range []string{"legacy", "version", "source_changed", "source_grown", "source_protected", "spent", "focus"} {
		say("voided "+why, Toast(session.ToastPosted{Code: "staging.voided", Args: map[string]string{"why": why}}))
	}
	say("offer where a budget is spent", Offer([]string{"focus", "models", "go_on"}))
	say("offer where that was refused", Offer([]string{"anew", "models", "go_on"}))
	say("offer", Offer([]string{"retry", "models", "go_on"}))
	const path = "testdata/compaction.golden"
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: UPDATE=1 writes it", err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s", b.String())
	}
}
