package harness

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"varve/internal/harness/tools"
	"varve/internal/session"
)

// Failed requests and summarizers count, by turn, branch and session; what has no price is unknown, not free.
func TestUsageOfRequests(t *testing.T) { // PRV-10
	h := newShelf(t, t.TempDir())
	large, small := session.Model{Provider: "acme", API: "x", Model: "large"}, session.Model{Provider: "acme", API: "x", Model: "small"}
	asks := func(m session.Model, compaction session.Seq) session.Seq {
		return h.record(session.Fact{Event: session.RequestSent{Purpose: "agent", Compaction: compaction, Attempt: 1, Model: m}})
	}
	dollar := 1.0
	h.says("one")
	h.record(session.Fact{Event: session.ReplyCompleted{Request: asks(large, 0), Usage: &session.Usage{Input: 10, Cached: 5, CacheWrite: 1, Output: 3, Reasoning: 2}}})
	h.record(session.Fact{Event: session.ReplyCompleted{Request: asks(large, 0), Usage: &session.Usage{Input: 7, Output: 1, Cost: &dollar}}})
	h.says("two")
	h.record(session.Fact{Event: session.ReplyRejected{Request: asks(large, 0), Class: "length", Usage: &session.Usage{Input: 20, Output: 9}}})
	h.record(session.Fact{Event: session.ReplyRejected{Request: asks(large, 0), Class: "error"}})
	h.record(session.Fact{Event: session.ReplyCompleted{Request: asks(small, 1), Usage: &session.Usage{Input: 100, Output: 50}}})
	asks(large, 0) // has no answer yet
	h.branch = "main"
	price := &Price{In: 2, Out: 10, CacheRead: 1, CacheWrite: 4}
	show := func(all []Use) string {
		var out []string
		for _, u := range all {
			known, ok := u.Cost(price)
			told, whole := u.Cost(nil)
			out = append(out, fmt.Sprintf("%s summary=%v %d/%d/%d in=%d cached=%d write=%d out=%d think=%d cost=%.6f %v told=%.0f %v", u.Model.Model, u.Summary,
				u.Requests, u.Failed, u.Unknown, u.Sum.Input, u.Sum.Cached, u.Sum.CacheWrite, u.Sum.Output, u.Sum.Reasoning, known, ok, told, whole))
		}
		return strings.Join(out, "\n")
	}
	u := must(h.Usage("main"))
	turn := "large summary=false 2/2/1 in=20 cached=0 write=0 out=9 think=0 cost=0.000130 true told=0 false\n" +
		"small summary=true 1/0/0 in=100 cached=0 write=0 out=50 think=0 cost=0.000700 true told=0 false"
	all := "large summary=false 4/2/1 in=37 cached=5 write=1 out=13 think=2 cost=1.000189 true told=1 false\n" +
		"small summary=true 1/0/0 in=100 cached=0 write=0 out=50 think=0 cost=0.000700 true told=0 false"
	if got := show(u.Turn); got != turn {
		t.Errorf("since the last message:\n%s\nwant\n%s", got, turn)
	}
	if got := show(u.Branch); got != all {
		t.Errorf("on the branch:\n%s\nwant\n%s", got, all)
	}
	if got := show(u.Session); got != all {
		t.Errorf("in all:\n%s\nwant\n%s", got, all)
	}
	if other := must(h.Usage("b2")); len(other.Branch)+len(other.Turn) != 0 || show(other.Session) != all {
		t.Errorf("a branch that sent nothing: %+v", other)
	}
}

// What the session has changed and what is not taken back, from its own content; what somebody else did since is said.
func TestChangesOfFiles(t *testing.T) { // BRN-8
	h := newShelf(t, t.TempDir())
	h.hand("old.txt", "one\ntwo\n")
	h.hand("gone.txt", "bye\n")
	h.hand("same.txt", "same\n")
	h.hand("bin", "a\x00b")
	h.write("old.txt", "one\n2\n")
	h.write("old.txt", "one\n2\nthree\n")
	h.write("new.txt", "hello\n")
	h.write("same.txt", "other\n")
	h.write("same.txt", "same\n")
	h.write("bin", "a\x00c")
	h.write("tmp.txt", "x\n")
	h.remove("tmp.txt")
	h.remove("gone.txt")
	h.hand("new.txt", "hello\nby hand\n")
	box, err := tools.New(tools.Config{Workspace: h.place.Workspace, Blobs: h.blobs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	var got []string
	h.record(session.Fact{Event: session.ShellRan{}, Body: []session.Part{{Bytes: []byte("make")}}})
	files, commands, err := h.changes(context.Background(), box.Find)
	if err != nil || commands != 1 {
		t.Errorf("%d commands, want the one that was not watched (%v)", commands, err)
	}
	for _, f := range files {
		got = append(got, fmt.Sprintf("%s %s %q %q %s since=%v", f.Op, strings.TrimPrefix(f.Path, h.place.Workspace+string(os.PathSeparator)), f.Before, f.After, f.Why, f.Since))
	}
	want := []string{
		`modify bin "" "" it is not text since=false`,
		`delete gone.txt "bye\n" ""  since=false`,
		`create new.txt "" "hello\n"  since=true`,
		`modify old.txt "one\ntwo\n" "one\n2\nthree\n"  since=false`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("changes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// However much was changed, what is given to be looked at stays small: the rest is named, with the reason. What can't be
// shown takes no room.
func TestChangesHaveABudget(t *testing.T) { // BRN-8, PERF-4
	h := newShelf(t, t.TempDir())
	half, n := strings.Repeat("a", maxDiffed), maxDiffedAll/maxDiffed
	h.hand("0", half)
	h.write("0", "a\x00b")
	for i := range n + 2 {
		h.write(fmt.Sprintf("f%02d", i), half)
	}
	h.write("g", "")
	box := must(tools.New(tools.Config{Workspace: h.place.Workspace, Blobs: h.blobs}))
	t.Cleanup(func() { box.Close() })
	files, _, err := h.changes(context.Background(), box.Find)
	if err != nil || len(files) != n+4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	sum := 0
	for i, f := range files {
		sum += len(f.Before) + len(f.After)
		want := map[bool]string{true: "it is not text"}[i == 0]
		if i > n && i < n+3 {
			want = "the files before it are as much as is compared at once"
		}
		if f.Why != want {
			t.Errorf("%d: %q, want %q", i, f.Why, want)
		}
	}
	if sum != maxDiffedAll {
		t.Errorf("%d bytes are given, want %d", sum, maxDiffedAll)
	}
}
