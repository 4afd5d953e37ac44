package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui/markdown"
	"varve/internal/tui/plain"
)

// TUI-2: new output never pulls down a view that is scrolled up; at its end it
// follows again.
func TestScrolledViewStays(t *testing.T) {
	s := items(t, 100)
	tr := shows(s)
	tr.view(80, 24)
	tr.scroll(-10)
	was := slices.Clone(tr.view(80, 24))
	q := s.put(session.RequestSent{Purpose: "agent"})
	for _, n := range []int{10, 400, 2000} {
		tr.pulses([]drive.Pulse{pulse(q, "text", "", markdownOf(n))})
		if got := tr.view(80, 24); !slices.Equal(got, was) {
			t.Fatalf("the view moved:\n%s", strings.Join(got, "\n"))
		}
	}
	s.answer(q, "assistant", markdownOf(2000))
	s.say("And then?")
	tr.add(s.entries)
	if got := tr.view(80, 24); !slices.Equal(got, was) || tr.following() {
		t.Fatalf("the view moved:\n%s", strings.Join(got, "\n"))
	}
	for i := 0; !tr.following(); i++ {
		if i > 500 {
			t.Fatal("scrolling down never reaches the end")
		}
		tr.scroll(3)
		tr.view(80, 24)
	}
	if got := text(tr, 80, 24); !strings.HasSuffix(got, "▌ And then?") {
		t.Errorf("the end is\n%s", got)
	}
	tr.page(-2)
	tr.view(80, 24)
	tr.end()
	if tr.view(80, 24); !tr.following() {
		t.Error("End does not follow")
	}
}

// A line up and a line down is the same view, all the way.
func TestScrollByLines(t *testing.T) {
	tr := shows(items(t, 60))
	var seen []string
	tr.view(60, 10)
	for range 100 {
		seen = append(seen, strings.Join(tr.view(60, 10), "\n"))
		tr.scroll(-1)
	}
	for i, want := range slices.Backward(seen) {
		tr.scroll(1)
		if got := strings.Join(tr.view(60, 10), "\n"); got != want {
			t.Fatalf("%d lines up and down again:\n%s\nwant\n%s", i, got, want)
		}
	}
	if !tr.following() {
		t.Error("the last line is there, and the view does not follow")
	}
	if tr.home(); !strings.HasPrefix(text(tr, 60, 10), "▌ Do the next thing") {
		t.Error("Home is not the first row")
	}
}

// TUI-2: older rows come above the view, which stays.
func TestPrependKeepsView(t *testing.T) {
	s := items(t, 200)
	tr := newTranscript(plainLook(s.at))
	cut := len(s.entries) - 60
	tr.add(s.entries[cut:])
	tr.view(80, 24)
	if tr.wantsOlder() {
		t.Error("it wants older rows at the end")
	}
	tr.home()
	was := slices.Clone(tr.view(80, 24))
	if !tr.wantsOlder() {
		t.Fatal("it wants no older rows at the top")
	}
	first := tr.first
	tr.prepend(s.entries[cut-100 : cut])
	if got := tr.view(80, 24); !slices.Equal(got, was) || tr.first != first-100 {
		t.Errorf("from %d, the view moved:\n%s", tr.first, strings.Join(got, "\n"))
	}
	tr.prepend(s.entries[:cut-100])
	if tr.home(); !tr.whole || tr.wantsOlder() {
		t.Error("it is whole and wants more")
	}
	few := newTranscript(plainLook(s.at))
	few.add(s.entries[len(s.entries)-2:])
	if few.view(80, 24); !few.wantsOlder() {
		t.Error("a view that is not full wants no older rows")
	}
}

// TUI-9: the row at the top stays there when the window changes.
func TestResizeKeepsTheTop(t *testing.T) {
	s := newTape(t)
	for i := range 40 {
		s.say(fmt.Sprintf("message %d ", i) + strings.Repeat("word ", 60))
	}
	tr := shows(s)
	tr.view(80, 24)
	tr.scroll(-50)
	tr.view(80, 24)
	top := tr.shown[0].row
	for _, w := range []int{40, 120, 20, 500, 80} {
		if tr.view(w, 24); tr.shown[0].row != top {
			t.Errorf("at %d columns the top is %.20q, was %.20q", w, tr.shown[0].row.src.text, top.src.text)
		}
	}
	one := newTape(t)
	var words strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&words, "w%d ", i)
	}
	one.say(words.String())
	tr2 := shows(one)
	tr2.view(80, 24)
	tr2.scroll(-100)
	was := strings.Fields(tr2.view(80, 24)[0])[1]
	if got := text(tr2, 40, 20); !strings.Contains(got, was+" ") {
		t.Errorf("within a long row, %s is gone from\n%s", was, got)
	}
	tr.end()
	if got := text(tr, 33, 12); !strings.HasSuffix(got, "word word") || !tr.following() {
		t.Errorf("the end after a resize:\n%s", got)
	}
}

// TUI-2, PERF-5: the text that came is the row of the answer, with what was
// drawn of it, also where its last piece was not seen.
func TestAnswerIsHandedOver(t *testing.T) {
	text := markdownOf(3000)
	for _, tail := range []string{"", "\nthe end\n"} {
		s := newTape(t)
		s.say("Go on.")
		q := s.put(session.RequestSent{Purpose: "agent"})
		tr := shows(s)
		tr.pulses([]drive.Pulse{pulse(q, "reasoning", "", "hm"), pulse(q, "text", "", text)})
		tr.view(80, 24)
		tr.scroll(-20)
		was := slices.Clone(tr.view(80, 24))
		live := tr.live[1]
		doc := live.doc
		s.answer(q, "reasoning", "hm", "assistant", text+tail, "tool_call:bash", "{}")
		tr.add(s.entries)
		tr.pulses([]drive.Pulse{pulse(q, "text", "", text)}) // its mailbox is emptied a moment later
		if got := tr.view(80, 24); !slices.Equal(got, was) {
			t.Errorf("the view moved:\n%s", strings.Join(got, "\n"))
		}
		if len(tr.live) > 0 || tr.rows[2] != live || live.doc != doc || doc == nil {
			t.Errorf("the answer was drawn anew; %d rows still pass", len(tr.live))
		}
		if got, want := strings.Join(tr.view(80, 400), "\n"), strings.Join(shows(s).view(80, 400), "\n"); got != want {
			t.Errorf("handed over:\n%s\nwant\n%s", got, want)
		}
	}
	// Another text than the one that came: the log is right.
	s := newTape(t)
	q := s.put(session.RequestSent{Purpose: "agent"})
	tr := shows(s)
	tr.pulses([]drive.Pulse{pulse(q, "text", "", "wrong")})
	tr.view(80, 24)
	s.answer(q, "assistant", "right")
	tr.add(s.entries)
	if got := strings.TrimSpace(strings.Join(tr.view(80, 24), "\n")); got != "right" {
		t.Errorf("shown: %q", got)
	}
}

// PERF-5: drawn from its open block on, an answer that comes is at every moment
// what its document is.
func TestEveryFrameIsWhole(t *testing.T) {
	s := newTape(t)
	q := s.put(session.RequestSent{Purpose: "agent"})
	tr := newTranscript(inkLook(s.at))
	doc := markdown.New(markdown.Options{Theme: markdown.Dark(), Budget: codeBudget})
	text := "# A\n\n" + markdownOf(900) + "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend\n===\n\n" + markdownOf(3000)
	for n := 0; n < len(text); n += 3 {
		doc.Append(text[n:min(n+3, len(text))])
		tr.pulses([]drive.Pulse{pulse(q, "text", "", text[:min(n+3, len(text))])})
		width := 40 + n/1000
		var want []string
		for _, l := range doc.Lines(width) {
			want = append(want, l.Text)
		}
		got := tr.view(width, 400)
		if !slices.Equal(got[:len(want)], want) || got[len(want)] != "" {
			t.Fatalf("after %q:\n%s\nwant\n%s", text[:n], strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// The end of a failed turn finds the provider's words behind what stands
// between, also where a page begins far before.
func TestEndFindsItsWords(t *testing.T) {
	s := newTape(t)
	s.say("before")
	for range 14 {
		s.say("message")
	}
	s.put(session.ReplyRejected{Request: 1, Class: "error", Error: &session.ProviderError{Kind: "quota", Message: &session.Text{}}}, "No money.")
	s.put(session.ShellRan{}, "$ true")
	s.put(session.ShellRan{}, "$ true")
	s.put(session.ShellRan{}, "$ true")
	s.put(session.TurnEnded{Turn: 15, Status: "failed", Error: &session.TurnError{Kind: "quota"}})
	tr := newTranscript(plainLook(s.at))
	tr.add(s.entries[1:])
	tr.prepend(s.entries[:1])
	got := text(tr, 80, 24)
	if !strings.Contains(got, "used up: No money.") || strings.Count(got, "No money") != 1 {
		t.Errorf("the end:\n%s", got)
	}
}

// What passes is taken back with the attempt that it was of, and with its turn.
func TestFailedAttemptIsWithdrawn(t *testing.T) {
	s := newTape(t)
	turn := s.say("Go on.")
	q := s.put(session.RequestSent{Purpose: "agent", Turn: turn})
	tr := shows(s)
	before := text(tr, 80, 24)
	tr.pulses([]drive.Pulse{pulse(q, "text", "", "Half an ans")})
	if !tr.streams() || !strings.Contains(text(tr, 80, 24), "Half an ans") {
		t.Fatal("the text is not shown")
	}
	tr.pulses(nil)
	if got := text(tr, 80, 24); got != before || tr.streams() {
		t.Errorf("withdrawn:\n%s", got)
	}
	s.put(session.ReplyRejected{Request: q, Class: "stalled"})
	tr.add(s.entries)
	tr.pulses([]drive.Pulse{pulse(q, "text", "", "Half an ans")})
	retry := drive.Pulse{Job: fmt.Sprintf("encode:%d/3.1", turn), Kind: "retry", Why: "stalled", Until: s.at.Add(3 * time.Second)}
	tr.pulses([]drive.Pulse{pulse(q, "text", "", "Half an ans"), retry})
	if got := text(tr, 80, 24); strings.Contains(got, "Half") || !strings.Contains(got, "in 4 s") {
		t.Errorf("after the rejection:\n%s", got)
	}
	s.put(session.TurnCancelled{Turn: turn})
	tr.add(s.entries)
	tr.pulses([]drive.Pulse{retry})
	if got := text(tr, 80, 24); got != before {
		t.Errorf("after Esc:\n%s", got)
	}
}

// PERF-7: a clock is asked for only where one is seen.
func TestWake(t *testing.T) {
	s := items(t, 60)
	q := s.reply("tool_call:bash", `{"command":"make"}`)
	s.put(session.ToolStarted{Call: call(q, 1)})
	now := s.at
	tr := newTranscript(look{ink: plainLook(now).ink, now: func() time.Time { return now }})
	tr.add(s.entries)
	check := func(what string, want time.Duration) {
		t.Helper()
		if tr.view(80, 24); tr.wake() != want || tr.ticks() != (want > 0) {
			t.Errorf("%s: wakes in %v, want %v", what, tr.wake(), want)
		}
	}
	check("a call that nobody runs", 0)
	run := drive.Pulse{Job: "tool:x", Kind: "tool", Call: call(q, 1), Began: now.Add(-2300 * time.Millisecond)}
	tr.pulses([]drive.Pulse{run})
	check("a running call", 700*time.Millisecond)
	if !strings.Contains(text(tr, 80, 24), "bash make  2 s") {
		t.Error("no clock")
	}
	now = now.Add(700 * time.Millisecond)
	check("a second later", time.Second)
	if !strings.Contains(text(tr, 80, 24), "bash make  3 s") {
		t.Error("the clock stands still")
	}
	tr.home()
	check("a running call out of view", 0)
	tr.end()
	tr.pulses(nil)
	check("nobody runs it any more", 0)
	send := sendJob(s.last() + 1)
	tr.pulses([]drive.Pulse{{Job: send, Kind: "waiting", Began: now.Add(-400 * time.Millisecond)}})
	check("a wait that is not shown yet", 600*time.Millisecond)
	tr.pulses([]drive.Pulse{{Job: send, Kind: "retry", Until: now.Add(2500 * time.Millisecond)}})
	check("a countdown", 500*time.Millisecond)
	tr.pulses([]drive.Pulse{pulse(s.last()+1, "text", "", "words")})
	check("an answer that comes", 0)
}

// Content in the store is asked for once, when its row is seen.
func TestWants(t *testing.T) {
	s := newTape(t)
	ref := func(n int64) []session.Part {
		return []session.Part{{Ref: &session.Ref{SHA256: strings.Repeat("a", 64), MediaType: "text/plain", Size: n}}}
	}
	user := s.fact(session.Fact{Event: session.UserSaid{Via: "prompt", Text: &session.Text{}}, Body: ref(100_000)})
	q := s.reply("tool_call:bash", `{"command":"big"}`)
	done := s.fact(session.Fact{Event: session.ToolFinished{Call: call(q, 1), Text: session.Text{}}, Body: ref(2_000_000)})
	entry := s.last() + 10
	tr := shows(s)
	if len(tr.wants()) > 0 {
		t.Error("it wants what nobody sees")
	}
	got := text(tr, 80, 24)
	if !strings.Contains(got, "100.0 KB") || !strings.Contains(got, "2.0 MB") {
		t.Errorf("sizes are missing:\n%s", got)
	}
	if tr.queued(entry) != "…" {
		t.Error("the words of an entry on an older page")
	}
	ws := tr.wants()
	slices.SortFunc(ws, func(a, b want) int { return int(a.at) - int(b.at) })
	if want := []want{{user, 0}, {done, 0}, {entry, 0}}; !slices.Equal(ws, want) || len(tr.wants()) > 0 {
		t.Fatalf("wants %v, want %v, once", ws, want)
	}
	tr.give(ws[0], []byte("the message\x1b[2J"), nil)
	tr.give(ws[1], nil, errors.New("blob \x1b[31mis gone"))
	tr.give(ws[2], []byte("wait"), nil)
	got = text(tr, 80, 24)
	if want := "▌ the message\n\n● bash big\n  This part can't be read: blob is gone"; strings.TrimSpace(got) != want || tr.queued(entry) != "wait" {
		t.Errorf("given:\n%s\nwant\n%s", got, want)
	}
}

// TUI-2: what is kept of a long session is bounded, and comes again.
func TestMemoryIsBounded(t *testing.T) {
	s := items(t, 6000)
	tr := newTranscript(plainLook(s.at))
	for i := range s.entries {
		tr.add(s.entries[i : i+1])
	}
	if n := len(tr.rows); n > keepRows*5/4 || n < keepRows {
		t.Errorf("%d rows are kept", n)
	}
	if len(tr.calls) > len(tr.rows) || len(tr.asked)+len(tr.queue)+len(tr.said) > 0 {
		t.Errorf("%d calls are known of %d rows", len(tr.calls), len(tr.rows))
	}
	if tr.home(); !tr.wantsOlder() {
		t.Error("dropped rows are not wanted again")
	}
	stale := s.entries[:10]
	first := tr.first
	if tr.prepend(stale); tr.first != first {
		t.Error("a page that leaves a hole is taken")
	}
	if tr.prepend(nil); tr.whole {
		t.Error("an old empty page makes it whole")
	}
	tr.prepend(s.entries[first-301 : first-1])
	if tr.first != first-300 {
		t.Errorf("a page before %d gives %d", first, tr.first)
	}
	out := newTape(t)
	for range 400 {
		q := out.reply("tool_call:ls", "{}")
		out.runs(call(q, 1), 1, false, strings.Repeat("a line\n", 100))
	}
	tr = shows(out)
	tr.unfold()
	tr.view(40, 30)
	for range 2000 {
		tr.scroll(-25)
		tr.view(40, 30)
	}
	n := 0
	for _, r := range tr.rows {
		n += len(r.drawn)
	}
	if n > keepLines*3/2 || n != tr.cost || n < 100 {
		t.Errorf("%d lines are kept, counted %d", n, tr.cost)
	}
	long := newTape(t)
	for range 600 {
		long.say(strings.Repeat("x", 60_000))
	}
	tr = newTranscript(plainLook(s.at))
	for i := range long.entries {
		tr.add(long.entries[i : i+1])
	}
	if n := len(tr.rows); n > 550 {
		t.Errorf("%d rows of 60 KB are kept", n)
	}
}

// case TUI-08: a copy is the text as it was written.
func TestCopyOfRows(t *testing.T) {
	s := newTape(t)
	long := strings.Repeat("word ", 60) + "end"
	s.say("\tindented\n" + long + "\n")
	code := "all:\n\tgo build " + strings.Repeat("x", 300)
	answer := "Here:\n\n> " + long + "\n\n```make\n" + code + "\n```\n\nThat is *all*."
	q := s.reply("assistant", answer, "tool_call:bash", `{"command":"ls"}`)
	s.runs(call(q, 2), 1, false, "a\tb\n"+long+"\nc\nd\ne\nf\n")
	s.reply("assistant", "Bye.")
	tr := shows(s)
	lines := tr.view(40, 100)
	at := func(part string) int {
		t.Helper()
		for i, l := range lines {
			if strings.Contains(l, part) {
				return i
			}
		}
		t.Fatalf("%q is not on the screen", part)
		return 0
	}
	for _, c := range []struct{ part, want string }{
		{"indented", "\tindented\n" + long}, {"That is", answer}, {"bash ls", "a\tb\n" + long + "\nc\nd\ne\nf"}, {"Bye", "Bye."},
	} {
		if got := tr.textAt(at(c.part)); got != c.want {
			t.Errorf("copy at %q: %q\nwant %q", c.part, got, c.want)
		}
	}
	if got, ok := tr.codeAt(at("xxxxx") + 2); got != code || !ok {
		t.Errorf("code: %q, %v", got, ok)
	}
	if _, ok := tr.codeAt(at("Here")); ok {
		t.Error("a paragraph is code")
	}
	if got := tr.lastCode(); len(got) != 1 || got[0] != code {
		t.Errorf("last code: %q", got)
	}
	if tr.answer() != "Bye." || tr.textAt(99) != "" || tr.textAt(-1) != "" {
		t.Error("the last answer, or text where there is none")
	}
}

// TUI-3: a click unfolds the row under the pointer, and what is above stays.
func TestClick(t *testing.T) {
	tr := shows(items(t, 100))
	tr.view(80, 24)
	tr.scroll(-30)
	lines := slices.Clone(tr.view(80, 24))
	y := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "bash go test") })
	if y < 0 || !tr.click(y+1) {
		t.Fatalf("no call to click in\n%s", strings.Join(lines, "\n"))
	}
	got := slices.Clone(tr.view(80, 24))
	if !slices.Equal(got[:y+1], lines[:y+1]) || slices.Contains(got[y:], lines[y+1]) {
		t.Errorf("unfolded at %d:\n%s", y, strings.Join(got, "\n"))
	}
	tr.click(y)
	if got := tr.view(80, 24); !slices.Equal(got, lines) {
		t.Errorf("folded again:\n%s", strings.Join(got, "\n"))
	}
	tr.click(y)
	tr.scroll(y + 5)
	tr.view(80, 24)
	if r := tr.rowAt(0); !r.open || tr.shown[0].n == 0 {
		t.Fatal("the top is not within the unfolded output")
	}
	tr.click(0)
	if got := tr.view(80, 24)[0]; got != lines[y] {
		t.Errorf("folded from within, the top is %q, want its head %q", got, lines[y])
	}
	tr.unfold()
	if n := strings.Count(text(tr, 80, 60), "ok line of output"); n < 20 {
		t.Errorf("%d lines of an output after Ctrl+O, want 20 or more", n)
	}
}

// TUI-9, case TUI-13: 5,000 changed lines and a line of a megabyte are drawn in
// a few.
func TestHugeRows(t *testing.T) {
	s := newTape(t)
	var before, after strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&before, "%d a\\n", i)
		fmt.Fprintf(&after, "%d b\\n", i)
	}
	q := s.reply("tool_call:edit", `{"old_string":"`+before.String()+`","new_string":"`+after.String()+`"}`, "tool_call:write", `{"content":"`+after.String()+`"}`)
	s.runs(call(q, 1), 1, false, "ok")
	s.runs(call(q, 2), 1, false, strings.Repeat("x", 60_000))
	tr := shows(s)
	for _, want := range []int{60, 2000} {
		for _, w := range []int{20, 80, 500} {
			lines := tr.view(w, 2000)
			fits(t, lines, w, 2000)
			if n := len(tr.shown); n > want {
				t.Errorf("%d lines at %d columns, want at most %d", n, w, want)
			}
		}
		tr.unfold()
	}
	if got := text(tr, 80, 40); !strings.Contains(got, "+2500 −2500") || plain.Width(got) == 0 {
		t.Errorf("counts are missing:\n%s", got)
	}
}

// PERF-6, case TUI-05: a frame looks at what is visible, however long the
// session is; nothing is made where nothing changed.
func TestFrameCostDoesNotGrow(t *testing.T) {
	var live []float64
	for _, n := range []int{100, 10_000} {
		s := items(t, n)
		tr := newTranscript(inkLook(s.at))
		tr.kept = 1 << 30
		tr.add(s.entries)
		tr.view(120, 40)
		drawn := 0
		for _, r := range tr.rows {
			if r.drawn != nil {
				drawn++
			}
		}
		if drawn > 40 {
			t.Errorf("of %d rows %d were drawn for 40 lines", len(tr.rows), drawn)
		}
		if a := testing.AllocsPerRun(50, func() { tr.view(120, 40) }); a != 0 {
			t.Errorf("%v allocations in a frame in which nothing changed", a)
		}
		text, i := []byte(markdownOf(4000)), 0
		live = append(live, testing.AllocsPerRun(500, func() {
			i += 4
			tr.pulses([]drive.Pulse{{Job: sendJob(s.last() + 1), Kind: "text", Text: text[:i]}})
			tr.view(120, 40)
		}))
	}
	if live[1] > live[0]+2 {
		t.Errorf("allocations of a frame with a delta: %v behind 100 rows, %v behind 10,000", live[0], live[1])
	}
}
