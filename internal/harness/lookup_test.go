package harness

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// reads is a call that reads again of the conversation.
func reads(name string) answer { return calls("read", fmt.Sprintf(`{"file_path":"item:%s"}`, name)) }

// newest is the id of the newest item of a kind.
func newest(t *testing.T, l *Local, kind session.ItemKind) (found session.ItemID) {
	t.Helper()
	for it := range l.State().Branch.View.Recorded {
		if it.Kind == kind {
			found = it.ID
		}
	}
	if found.IsZero() {
		t.Fatalf("there is no %s", kind)
	}
	return found
}

// What a checkpoint covers is reached by the numbers in its notes: the range is
// listed, an item is read, a call by its number gives its result. // CMP-7, CMP-12, TOOL-2
func TestReadWhatIsCovered(t *testing.T) {
	w := roomy(t, 100_000,
		calls("bash", `{"command":"printf '%s' the-output"}`), text("One is a number. "+strings.Repeat("It is. ", 300)), text(handoff("count")),
	)
	l := w.start()
	say(t, l, "one, and its origin")
	ended(t, l, 1)
	asked, call := newest(t, l, session.UserItem), newest(t, l, session.CallItem)
	submit(t, l, drive.Compact{})
	done := until(t, l, "the checkpoint", func(e session.Entry) bool { return e.Type == "checkpoint.committed" })
	ranges := done.Event.(session.CheckpointCommitted).Ranges
	from, to := ranges[0].From, ranges[len(ranges)-1].To
	note := fmt.Sprintf("item:%s-%s", from, to)
	if text := string(must(l.Session.Text(checkpoint(t, l)))); !strings.HasPrefix(text, "Summary of the conversation up to here, ") || !strings.Contains(text, note) {
		t.Errorf("%s is not in\n%s", note, text)
	}
	for i, c := range []struct {
		name  string
		ok    bool
		wants []string
	}{
		{strings.TrimPrefix(note, "item:"), true, []string{
			asked.String() + " user, about ", ": one, and its origin\n", call.String() + " call of bash, about ", "result of " + call.String() + ", bash, about ", ": the-output",
		}},
		{asked.String(), true, []string{"one, and its origin"}},
		{call.String(), true, []string{"the-output"}},
		{call.String() + ".args", true, []string{`{"command":"printf`}},
		{"999", false, []string{`there is no item "999" in this conversation; they go from ` + from.String() + " to "}},
		{fmt.Sprint(from.Seq - 1), false, []string{"there is no item "}},
		{"900-999", false, []string{"no item lies in 900-999"}},
		{"what?", false, []string{`item "what?": give the number of an item, such as item:40, the id of a call, or a range`}},
	} {
		w.script.replies = append(w.script.replies, reads(c.name), text("Read."))
		say(t, l, "look it up")
		ended(t, l, i+2)
		finished, texts := events[session.ToolFinished](t, l)
		last, got := finished[len(finished)-1], texts[len(texts)-1][0]
		if last.IsError == c.ok {
			t.Errorf("item:%s: %q", c.name, got)
		}
		for _, want := range c.wants {
			if !strings.Contains(got, want) {
				t.Errorf("item:%s lacks %q:\n%s", c.name, want, got)
			}
		}
	}
}

func checkpoint(t *testing.T, l *Local) session.Item {
	t.Helper()
	it, ok := l.State().Branch.View.Checkpoint()
	if !ok {
		t.Fatal("there is no checkpoint")
	}
	return it
}

// What was reverted, and what a person has replaced, is not read again. // MR-5, RPR-2
func TestReadWhatIsGone(t *testing.T) {
	w := newWorld(t, calls("bash", `{"command":"printf '%s' a-secret"}`))
	w.rest = text("Done.")
	l := w.start()
	say(t, l, "first")
	ended(t, l, 1)
	result, call := newest(t, l, session.ResultItem), newest(t, l, session.CallItem)
	say(t, l, "second thoughts")
	ended(t, l, 2)
	second := newest(t, l, session.UserItem)
	look := func(name string) (string, error) {
		b, err := known{l.Session, l.State()}.Item(name)
		return string(b), err
	}
	if s, err := look(second.String()); s != "second thoughts" || err != nil {
		t.Fatal(s, err)
	}
	if _, err := l.Operate(t.Context(), drive.Revert{Branch: "main", Message: second.Seq}); err != nil {
		t.Fatal(err)
	}
	if s, err := look(second.String()); err == nil || !strings.Contains(err.Error(), "there is no item") {
		t.Errorf("%q %v", s, err)
	}
	if there, err := look(fmt.Sprintf("%s-%s", call, result)); err != nil {
		t.Error(err)
	} else if back, err := look(fmt.Sprintf("%s-%s", result, call)); err != nil || back != there { // the wrong way round
		t.Errorf("%s, %v", back, err)
	}
	if s, err := look(fmt.Sprintf("1-%s", second)); err != nil || strings.Contains(s, "second thoughts") || !strings.Contains(s, "a-secret") {
		t.Errorf("%q %v", s, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := reopened(t, w, l).Session
	if _, err := s.Replace(t.Context(), w.opts.StateDir, drive.Replace{Branch: "main", Why: "redact", Swaps: []drive.Swap{{Item: result, Text: []byte("[redacted]")}}}); err != nil {
		t.Fatal(err)
	}
	k := known{s, s.State("main")}
	for _, name := range []string{result.String(), call.String(), fmt.Sprintf("1-%s", result)} {
		if b, err := k.Item(name); err != nil || !strings.Contains(string(b), "[redacted]") || strings.Contains(strings.ReplaceAll(string(b), `printf '%s' a-secret`, ""), "a-secret") {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	if b := must(os.ReadFile(s.Path())); !strings.Contains(string(b), "a-secret") {
		t.Error("a redaction without --purge keeps the bytes")
	}
}

// A turn that a checkpoint cuts in two is told of in its notes, by the number of
// its message, and the summarizer's text stays what it was. // CMP-4, CMP-7
func TestWireSeveredTurn(t *testing.T) {
	w := newWire(t, 30_000)
	w.triggers(12_000)
	step := func(n int) []scripted.Step { return append(long(2_500)[:2:2], looks(n)...) }
	w.answers("agent", step(1), step(2), step(3), step(4), long(2_500), whole("Done."))
	l := w.start()
	say(t, l, "Look around.")
	ended(t, l, 1)
	asked := newest(t, l, session.UserItem)
	say(t, l, "And now?")
	ended(t, l, 2)
	text := string(must(l.Session.Text(checkpoint(t, l))))
	if want := fmt.Sprintf("What follows begins in the middle of a turn. The user's message of it is item %s.", asked); !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s\n%s", want, text, shownView(t, l))
	}
}
