package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// A writer makes up a session that could have been.
type writer struct {
	*tape
	rt    *rapid.T
	turn  session.Seq
	open  session.Seq // the request without a reply
	calls []session.ItemID
	begun map[session.ItemID]bool
	queue []session.Seq
	asked map[session.ItemID]session.Seq
}

var texts = rapid.SampledFrom([]string{
	"", "short", "two\nlines", "日本語の文章 🐈 e\u0301\u202e", "# Head\n\n- a\n- b\n\n```go\nfunc f() {\n\treturn\n}\n```\n", "\x1b[2J\x1b]0;x\x07\x9b31m\r\t|\x00\xff",
	strings.Repeat("word ", 60), strings.Repeat("line\n", 30), "| a | b |\n|---|---|\n| 1 | 2 |\n", strings.Repeat("x", 700),
})

func (w *writer) text() string { return texts.Draw(w.rt, "text") }

func (w *writer) pick(label string, of ...string) string {
	return rapid.SampledFrom(of).Draw(w.rt, label)
}

// step records one thing that may happen now.
func (w *writer) step() {
	one := &session.Text{}
	switch what := rapid.IntRange(0, 21).Draw(w.rt, "event"); what {
	case 0, 1:
		if w.turn == 0 {
			w.turn = w.say(w.text())
		}
	case 2:
		w.queue = append(w.queue, w.put(session.InputQueued{Kind: w.pick("kind", "steer", "queue")}, w.text()))
	case 3:
		if n := len(w.queue); n > 0 {
			w.put(session.InputEdited{Entry: w.queue[n-1]}, w.text())
		}
	case 4:
		if len(w.queue) > 0 {
			via := "queue"
			if w.turn != 0 {
				via = "steer"
			}
			q := w.put(session.UserSaid{Turn: w.turn, Via: via, Entry: w.queue[0]})
			if w.turn == 0 {
				w.turn = q
			}
			w.queue = w.queue[1:]
		}
	case 5, 6, 7:
		if w.open == 0 {
			w.open = w.put(session.RequestSent{Purpose: "agent", Turn: w.turn})
			return
		}
		parts := []string{"reasoning", w.text(), "assistant", w.text(), "native", "{}"}
		for range rapid.IntRange(0, 3).Draw(w.rt, "calls") {
			parts = append(parts, "tool_call:"+w.pick("tool", "bash", "edit", "write", "read", "todo", "x\x1b[2J"),
				w.pick("args", "{}", "not json", `{"command":"ls \u001b[2J -la"}`, `{"old_string":"a\nb","new_string":"a\nc\u0007"}`, `{"content":"one\ntwo"}`,
					`{"edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":""}]}`))
		}
		q := w.answer(w.open, parts...)
		w.open = 0
		for i := 6; i < len(parts); i += 2 {
			w.calls = append(w.calls, call(q, i/2+1))
		}
	case 8, 9:
		if w.open != 0 {
			ev := session.ReplyRejected{Request: w.open, Class: w.pick("class", "error", "lost", "stalled", "cancelled")}
			switch {
			case ev.Class == "cancelled":
				ev.Kept, ev.Text = true, one
			case ev.Class == "error":
				ev.Error = &session.ProviderError{Kind: w.pick("error", "overloaded", "quota", "new"), Message: one}
			}
			w.put(ev, w.text())
			w.open = 0
		}
	case 10:
		if w.turn != 0 {
			w.put(session.TurnEnded{Turn: w.turn, Status: w.pick("status", "completed", "failed", "interrupted", "limit"), Error: &session.TurnError{Kind: "quota"}})
			w.turn = 0
		}
	case 11, 12, 13, 14:
		if len(w.calls) > 0 {
			w.callStep(rapid.IntRange(0, len(w.calls)-1).Draw(w.rt, "call"))
		}
	case 15:
		w.put(session.ModelChosen{Model: session.Model{Provider: "p", Model: w.pick("model", "a", "b")}, By: "user"})
	case 16:
		w.put(session.FaultRecorded{Where: "tool", Kind: "panic"}, w.text())
	case 17:
		w.put(session.RunEnded{Run: "r", How: w.pick("how", "lost", "closed")})
	case 18:
		w.put(session.ShellRan{}, "$ ls\n"+w.text())
	case 19:
		w.put(session.PlanChanged{By: "user", Items: []session.PlanItem{{ID: "task-1", Status: "pending"}}}, w.text())
	case 20:
		w.put(session.JobEnded{Job: "1", Why: "exited", Text: one}, w.text())
	case 21:
		w.put(session.CheckpointCommitted{}, w.text())
	}
}

// callStep moves a call on.
func (w *writer) callStep(i int) {
	id := w.calls[i]
	over := func() { w.calls = slices.Delete(w.calls, i, i+1) }
	switch rapid.IntRange(0, 6).Draw(w.rt, "move") {
	case 0:
		if !w.begun[id] && w.asked[id] == 0 {
			w.put(session.CallJudged{Call: id, Verdict: "ask"})
			w.asked[id] = w.put(session.ApprovalRequested{Call: id, What: "command"}, w.text())
		}
	case 1:
		if q := w.asked[id]; q != 0 && !w.begun[id] {
			w.put(session.ApprovalAnswered{Request: q, Answer: "once"})
		}
	case 2:
		if !w.begun[id] {
			w.put(session.ToolStarted{Call: id})
			w.begun[id] = true
		}
	case 3:
		w.put(session.PlanChanged{By: "model", AfterItem: &id, Items: []session.PlanItem{{ID: "task-1", Status: "completed"}}}, w.text())
	case 4:
		w.put(session.FilesChanged{By: "tool", Call: id, N: 1}, `[{"path":"a","op":"modify"}]`)
		w.put(session.JobStarted{Call: id, Job: "1"})
	case 5:
		w.runs(id, 5, rapid.Bool().Draw(w.rt, "failed"), w.text())
		over()
	case 6:
		w.put(session.ToolInterrupted{Call: id, Why: w.pick("why", "user", "lost", "denied", "timeout")}, w.text())
		over()
	}
}

func story(t *testing.T, rt *rapid.T, most int) *writer {
	w := &writer{tape: newTape(t), rt: rt, begun: map[session.ItemID]bool{}, asked: map[session.ItemID]session.Seq{}}
	w.put(session.SessionCreated{Format: 1, ID: "s"})
	for range rapid.IntRange(1, most).Draw(rt, "events") {
		w.step()
	}
	return w
}

// TUI-2: what is shown does not depend on the pages that it came with.
func TestPagesMakeNoDifference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := story(t, rt, 60)
		whole := shows(w.tape)
		// The tail first, then more at its end, then page after page before it.
		cut := rapid.IntRange(0, len(w.entries)-1).Draw(rt, "cut")
		end := rapid.IntRange(cut+1, len(w.entries)).Draw(rt, "end")
		paged := newTranscript(plainLook(w.at))
		paged.add(w.entries[cut:end])
		later := rapid.Bool().Draw(rt, "later")
		if !later {
			paged.add(w.entries[cut:])
		}
		for cut > 0 {
			n := rapid.IntRange(1, 8).Draw(rt, "page")
			from := max(cut-n, 0)
			paged.prepend(w.entries[from:cut])
			cut = from
		}
		paged.add(w.entries)
		// Rows that were dropped are fetched again.
		paged.kept, paged.since = rapid.IntRange(1, 20).Draw(rt, "kept"), 0
		paged.trim()
		if len(paged.rows) > paged.kept+8 {
			rt.Errorf("%d rows are kept, want about %d", len(paged.rows), paged.kept)
		}
		for paged.first > 1 {
			at := int(paged.first) - 1
			paged.prepend(w.entries[max(at-7, 0):at])
		}
		if !paged.whole || paged.wantsOlder() {
			rt.Error("all pages are there, and it wants older ones")
		}
		for _, all := range []bool{false, true} {
			if all {
				whole.unfold()
				paged.unfold()
			}
			a, b := text(whole, 60, 400), text(paged, 60, 400)
			if a != b {
				rt.Fatalf("whole:\n%s\n\nby pages:\n%s", a, b)
			}
		}
	})
}

// TUI-2, TUI-9, case TUI-13: whatever comes and whatever a person does, a frame
// is as large as it should be, and a view that follows ends with the last row.
func TestAnythingGoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := story(t, rt, 40)
		now := w.at
		l := inkLook(now)
		l.now = func() time.Time { return now }
		tr := newTranscript(l)
		tr.kept = 10
		at := rapid.IntRange(0, len(w.entries)-1).Draw(rt, "from")
		first, added := at, at
		width, height := 80, 24
		streamed := []byte(strings.Repeat("Some **text**\n\n```go\nfunc f() {}\n```\n日本 🐈\n", 4))
		for range rapid.IntRange(1, 40).Draw(rt, "acts") {
			switch rapid.IntRange(0, 15).Draw(rt, "act") {
			case 0, 1, 2:
				n := min(rapid.IntRange(1, 9).Draw(rt, "n"), len(w.entries)-added)
				tr.add(w.entries[added : added+n])
				added += n
			case 3:
				if tr.first > 0 {
					from := max(int(tr.first)-1-5, 0)
					tr.prepend(w.entries[from : tr.first-1])
					first = min(first, from)
				}
			case 4, 5:
				var ps []drive.Pulse
				q := session.Seq(rapid.IntRange(1, len(w.entries)+2).Draw(rt, "request"))
				for _, kind := range []string{"waiting", "reasoning", "text", "call", "retry", "tool"} {
					if rapid.Bool().Draw(rt, kind) {
						n := rapid.IntRange(0, len(streamed)).Draw(rt, "bytes")
						ps = append(ps, drive.Pulse{Job: sendJob(q), Kind: kind, Name: "n", Text: streamed[:n], Call: call(q, 1), Began: w.at, Until: w.at.Add(5 * time.Second), Why: "overloaded"})
					}
				}
				tr.pulses(ps)
			case 6:
				width = rapid.SampledFrom([]int{0, 1, 7, 20, 21, 23, 26, 40, 80, 120, 500}).Draw(rt, "width")
				height = rapid.IntRange(0, 50).Draw(rt, "height")
			case 7, 8:
				tr.scroll(rapid.IntRange(-30, 30).Draw(rt, "lines"))
			case 9:
				tr.page(rapid.SampledFrom([]int{-1, 1}).Draw(rt, "page"))
			case 10:
				y := rapid.IntRange(-1, 60).Draw(rt, "y")
				tr.click(y)
				tr.textAt(y)
				tr.codeAt(y)
			case 11:
				tr.unfold()
			case 12:
				tr.home()
			case 13:
				tr.end()
			case 14:
				tr.linkAt(rapid.IntRange(-1, 90).Draw(rt, "x"), 3)
				tr.answer()
				tr.lastCode()
			case 15:
				for _, k := range tr.wants() {
					tr.give(k, []byte("given\x1b[2J"), map[bool]error{true: errors.New("gone\x07")}[rapid.Bool().Draw(rt, "gone")])
				}
				now = now.Add(time.Second)
			}
			lines := tr.view(width, height)
			fits(rt, lines, max(width, 1), height)
			if tr.wake() < 0 || tr.wake() > time.Second {
				rt.Errorf("wakes in %v", tr.wake())
			}
			if tr.following() && height > 0 {
				if want := lastShown(tr); len(tr.shown) == 0 {
					if want != "" {
						rt.Errorf("a view of %d by %d that follows shows nothing, its last row %q", width, height, want)
					}
				} else if want != "" && lines[len(tr.shown)-1] != "" || tr.shown[len(tr.shown)-1].row != lastRow(tr) {
					rt.Errorf("a view that follows ends with %q", lines[len(tr.shown)-1])
				}
			}
		}
	})
}

// lastRow is the last row that has lines.
func lastRow(t *transcript) *row {
	for i := t.count() - 1; i >= 0; i-- {
		if len(t.lines(i)) > 0 {
			return t.at(i)
		}
	}
	return nil
}

func lastShown(t *transcript) string {
	if r := lastRow(t); r != nil {
		return fmt.Sprint(r.drawn[len(r.drawn)-1])
	}
	return ""
}
