package harness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/jsonl"
	"varve/internal/providers"
	"varve/internal/session"
)

// mapping is how a long session is run whose summarizer has a small window.
func mapping(dir string, p *script) Options {
	o := machine(dir, p)
	small := session.Model{Provider: "script", API: "openai-chat", Model: "small"}
	o.Settings.Compaction.Mode = mode("standalone")
	o.Settings.Summarizers = []session.Model{small}
	o.Summarizers = func() []session.Model { return []session.Model{small} }
	o.Resolve = func(_ context.Context, m session.Model) (Target, error) {
		to := Target{
			Adapter: p, Endpoint: providers.Endpoint{Provider: "script", BaseURL: "script:"}, Window: session.Capacity{N: 100_000, Source: "setting"},
		}
		if m == small {
			to.Window.N = 6000
		}
		return to, nil
	}
	p.rest = func(ctx context.Context, body string, sink providers.Sink) providers.Reply {
		switch {
		case strings.Contains(body, "You are given one part"):
			return text("notes")(ctx, body, sink)
		case strings.Contains(body, "You are given a handoff"):
			return text("PASS")(ctx, body, sink)
		case strings.Contains(body, "notes of consecutive parts"):
			return text(handoff("joined"))(ctx, body, sink)
		}
		return big("an answer", 1400)(ctx, body, sink)
	}
	return o
}

// compactToTheEnd is a process that goes on with a compaction, and says of
// each event that it has seen it.
func compactToTheEnd() {
	dir := os.Getenv("VARVE_TEST_DIR")
	ctx := context.Background()
	l, err := Resume(ctx, mapping(dir, &script{}), onlySession(dir))
	if err == nil {
		err = l.Submit(ctx, drive.Compact{})
	}
	for after, version := l.Session.Head(), uint64(0); err == nil; {
		var u Update
		u, err = l.Follow(ctx, after, version)
		version = u.Version
		for _, e := range u.Entries {
			after = e.Seq
			fmt.Println(e.Type)
		}
	}
	fmt.Println("! " + err.Error())
	os.Exit(1)
}

// A MapReduce that is killed outright again and again comes to its end: old
// bytes stay, and what was accepted is never asked for again. // REL-1, MR-9
func TestKilledCompactionGoesOn(t *testing.T) {
	dir := t.TempDir()
	l, err := Start(t.Context(), mapping(dir, &script{}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		say(t, l, fmt.Sprint("question ", i))
		ended(t, l, i+1)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path := onlySession(dir)
	was := must(os.ReadFile(path))
	kills := 0
	for done := false; !done; kills++ {
		if kills == 100 {
			t.Fatal("it does not come to its end")
		}
		cmd, out := part(t, "compactToTheEnd", dir)
		failed := false // its attempts were spent by kills: /compact tries afresh
		for n := 2 + rand.IntN(9); n > 0 && !done && !failed && out.Scan(); n-- {
			if strings.HasPrefix(out.Text(), "!") {
				t.Fatal(out.Text())
			}
			failed = out.Text() == "compaction.failed"
			done = out.Text() == "checkpoint.committed"
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		now := must(os.ReadFile(path))
		if string(now[:len(was)]) != string(was) {
			t.Fatal("old bytes have changed")
		}
		was = now
		done = strings.Contains(string(now), `"checkpoint.committed"`) // killed before it could say so
	}
	s := must(Open(path, mapping(dir, &script{}).blobs(), jsonl.Never, System{}))
	defer s.Close()
	mapped := map[string]bool{}
	accepted := 0
	for _, e := range must(s.Entries(0, 1<<20)) {
		switch ev := e.Event.(type) {
		case session.RequestSent:
			if mapped[ev.Unit] {
				t.Errorf("%s was asked for again", ev.Unit)
			}
		case session.StagingMapped:
			mapped[fmt.Sprintf("map/%d", ev.Ordinal)] = true
			accepted++
		}
	}
	t.Logf("%d kills, %d maps", kills, accepted)
	if accepted < 4 || accepted != len(mapped) {
		t.Errorf("%d maps accepted, of %d", accepted, len(mapped))
	}
}
