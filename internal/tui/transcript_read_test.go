package tui

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"varve/internal/session"
	"varve/internal/setup"
)

// clipboard is what was handed to the terminal's clipboard last.
func (s *stage) clipboard() string {
	s.t.Helper()
	out := ""
	for _, m := range s.other {
		if raw, ok := m.(tea.RawMsg); ok {
			if _, b64, ok := strings.Cut(fmt.Sprint(raw.Msg), "\x1b]52;c;"); ok {
				b, err := base64.StdEncoding.DecodeString(strings.TrimRight(b64, "\a\x1b\\"))
				if err != nil {
					s.t.Fatal(err)
				}
				out = string(b)
			}
		}
	}
	return out
}

// talk is a session with what sessions have: a long output, code, a summary,
// wide characters.
func (s *stage) talk() {
	s.begun()
	s.a.say("Where is the greeting? 挨拶はどこ 🐈")
	q := s.a.reply("reasoning", "The word is said in greet.go.\nI look there first.", "tool_call:bash", `{"command":"cd greet &&\ngrep -rn hello ."}`)
	s.a.runs(call(q, 2), 10, false, "greet.go:3: hello\n"+strings.Repeat("an uninteresting line\n", 30)+"the last of them")
	s.a.reply("assistant", "It is **in** `greet.go`:\n\n```go\nfunc Hello() string { return \"hello\" }\n```\n\nand its test:\n\n```go\nfunc TestHello(t *testing.T) {}\n```\n\nSee https://example.org/a/very/long/address/that/does/not/fit/into/a/line/of/eighty/columns?q=1#end.")
	s.a.put(session.TurnEnded{Turn: 5, Status: "completed"})
	s.a.put(session.CheckpointCommitted{Kind: "text", Fingerprints: session.Text{B: 1}}, "## Objective\nFind the greeting.\n"+strings.Repeat("more of it\n", 30)+"the end of the summary", "[]")
	s.a.say("Thanks.")
	s.a.reply("assistant", "You are welcome.")
}

// Everything is in full, letters are keys, nothing of it reaches the turn or the
// draft, and what is said there is said below.
func TestTranscriptShowsEverything(t *testing.T) { // TUI-3
	onStage(t, 100, 160, noColours(), func(s *stage) { s.talk(); s.works("go on") }, func(s *stage) {
		s.press("a draft")
		s.lacks("the end of the summary", "I look there first.", "grep.go:3")
		s.press("<ctrl+o>")
		s.sees("the end of the summary", "the last of them", "I look there first.", "grep -rn hello .", "▌ Where is the greeting? 挨拶はどこ 🐈", "Esc back")
		s.press("njkxyz")
		s.press("<esc>")
		s.wantCommands("")
		s.wantDraft("a draft")
		s.lacks("the end of the summary")
		s.press("<ctrl+o><ctrl+o>")
		s.wantDraft("a draft")
		s.lacks("the end of the summary")
		s.press("<ctrl+u>")
		s.question("bash", `{"command":"ls"}`, "ls")
		s.press("<ctrl+o>")
		s.asked()
		s.sees("A question waits for an answer: Esc goes to it.")
		s.press("y")
		s.wantCommands("")
		s.press("<esc>y") // a key that comes at once was not meant for it
		s.wantCommands("")
		s.press("<backspace>")
		s.later(typingPause)
		s.press("y")
		if got := s.commands(); !strings.Contains(got, "once") {
			t.Errorf("asked for %q", got)
		}
	})
}

// An item folds alone, by click and by key, and nothing else is drawn anew.
func TestTranscriptFoldsOneItem(t *testing.T) { // TUI-3
	onStage(t, 100, 160, noColours(), func(s *stage) { s.talk() }, func(s *stage) {
		s.press("<ctrl+o>")
		drawn := func() map[*row]*string {
			out := map[*row]*string{}
			for _, r := range s.chat.tr.rows {
				if len(r.drawn) > 0 {
					out[r] = &r.drawn[0]
				}
			}
			return out
		}
		line := func(text string) int {
			return slices.IndexFunc(strings.Split(s.screen(), "\n"), func(l string) bool { return strings.Contains(l, text) })
		}
		before := drawn()
		s.send(tea.MouseClickMsg{X: 3, Y: line("bash cd greet"), Button: tea.MouseLeft})
		s.lacks("an uninteresting line\n  an uninteresting line\n  an uninteresting line\n  an uninteresting line\n  an uninteresting line")
		s.sees("the end of the summary", "29 earlier lines", "bash cd greet")
		anew := 0
		for r, first := range drawn() {
			if before[r] != first {
				anew++
			}
		}
		if anew != 1 {
			t.Errorf("%d rows were drawn anew, want the folded one", anew)
		}
		s.press("<enter>")
		s.lacks("29 earlier lines")
		s.send(tea.MouseClickMsg{X: 3, Y: line("── Summarized"), Button: tea.MouseLeft})
		s.lacks("the end of the summary")
		s.sees("the last of them")
		s.press("<esc><ctrl+o>")
		s.sees("the end of the summary")
	})
}

func TestTranscriptCopies(t *testing.T) { // TUI-9, case TUI-08
	onStage(t, 80, 60, noColours(), func(s *stage) { s.talk() }, func(s *stage) {
		s.press("<ctrl+o>")
		s.press("<home><tab>")
		s.sees("your message: Where is the")
		s.press("c")
		if got := s.clipboard(); got != "Where is the greeting? 挨拶はどこ 🐈" {
			t.Errorf("an item is %q", got)
		}
		s.press("v<tab>c")
		if got := s.clipboard(); got != "Where is the greeting? 挨拶はどこ 🐈\n\nThe word is said in greet.go.\nI look there first." {
			t.Errorf("from the mark on it is %q", got)
		}
		for _, want := range []string{"func Hello() string { return \"hello\" }", "func TestHello(t *testing.T) {}", "func Hello() string { return \"hello\" }"} {
			if s.press("b"); s.clipboard() != want {
				t.Errorf("a code block is %q, want %q", s.clipboard(), want)
			}
		}
		y := slices.IndexFunc(strings.Split(s.screen(), "\n"), func(l string) bool { return strings.Contains(l, "of/eighty") || strings.Contains(l, "long/address") })
		s.send(tea.MouseClickMsg{X: 12, Y: y, Button: tea.MouseLeft})
		if got := s.clipboard(); got != "https://example.org/a/very/long/address/that/does/not/fit/into/a/line/of/eighty/columns?q=1#end" {
			t.Errorf("an address is %q:\n%s", got, s.screen())
		}
	})
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.begun()
		q := s.a.fact(session.Fact{Event: session.ShellRan{}, Body: []session.Part{{Ref: &session.Ref{SHA256: strings.Repeat("a", 64), MediaType: "text/plain", Size: 200_000}}}})
		s.a.bodies = map[want]string{{q, 0}: strings.Repeat("long ", 40_000)}
	}, func(s *stage) {
		s.press("<ctrl+o>c")
		s.sees("too long for the terminal's clipboard: they are in")
		if s.clipboard() != "" {
			t.Error("a text that is too long went to the clipboard")
		}
	})
}

// What the terminal's own selection takes along is text: no border at the left,
// nothing behind the end of a line.
func TestTranscriptHasNoPadding(t *testing.T) { // TUI-9, case TUI-08
	onStage(t, 60, 160, Options{Looks: setup.Appearance{Theme: "dark"}}, func(s *stage) { s.talk(); s.a.say("one\ntwo\nthree") }, func(s *stage) {
		s.press("<ctrl+o>")
		for _, l := range s.chat.tr.view(60, 150) {
			if bare := ansi.Strip(l); strings.TrimRight(bare, " ") != bare {
				t.Errorf("blanks behind %q", bare)
			}
		}
		s.sees("\ntwo\nthree")
	})
}

func TestTranscriptSearch(t *testing.T) { // TUI-3
	onStage(t, 100, 20, noColours(), func(s *stage) {
		s.begun()
		s.a.say("The Needle is first here.")
		for i := range 3000 {
			s.a.put(session.ShellRan{}, fmt.Sprintf("$ echo %d\n%d", i, i))
			if i == 2000 {
				s.a.put(session.CheckpointCommitted{Kind: "text", Fingerprints: session.Text{B: 1}}, "a summary with a needle in it", "[]")
			}
		}
		s.a.reply("assistant", "Some words so that a line is now **full and the needle** wraps, and a NEEDLE\nin a longer line.")
		s.a.say("no such thing")
	}, func(s *stage) {
		s.press("<ctrl+o>/needle in<enter>")
		s.sees("“needle in”: 1 of 1", "older entries not read yet")
		if n := s.asksOf("before"); n > 1 {
			t.Errorf("%d older pages were read for what is in view", n)
		}
		s.press("n") // over the older pages
		s.sees("a summary with a needle in it", "“needle in”: 1 of 2", "older entries not read yet")
		s.press("/needle<enter>n")
		s.sees("The Needle is first here.", "“needle”: 1 of 4")
		s.press("n")
		s.sees("no match above this one: this was the first")
		s.press("NN")
		s.sees("full and the needle wraps", "“needle”: 3 of 4")
		s.press("NN")
		s.sees("“needle”: 4 of 4, no match below this one")
		s.press("/it is nowhere<enter>")
		s.sees("“it is nowhere” is nowhere here")
		s.press("n/<esc>")
		s.sees("Esc back")
		s.press("/<enter>")
		s.sees("answer: Some words") // no search, and the chosen item is told again
	})
}

// A text that stands in the content store is fetched for a search.
func TestTranscriptSearchReadsStoredTexts(t *testing.T) { // TUI-3, CAS-2
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.begun()
		ref := session.Part{Ref: &session.Ref{SHA256: strings.Repeat("a", 64), MediaType: "text/plain", Size: 100_000}}
		q := s.a.fact(session.Fact{Event: session.ShellRan{}, Body: []session.Part{ref}})
		s.a.bodies = map[want]string{{q, 0}: "$ make\n" + strings.Repeat("line\n", 2000) + "the needle\n" + strings.Repeat("line\n", 2000)}
		for i := range 60 {
			s.a.say(fmt.Sprintf("message %d", i))
		}
	}, func(s *stage) {
		s.press("<ctrl+o>/needle<enter>")
		s.press("n")
		s.sees("the needle", "“needle”: 1 of 1")
	})
}

// Older entries that can't be read end a search, and it is said.
func TestTranscriptSearchOverDamage(t *testing.T) { // TUI-3, REL-2
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.begun()
		for i := range 800 {
			s.a.say(fmt.Sprintf("message %d", i))
		}
		s.a.older = errors.New("input/output error")
	}, func(s *stage) {
		s.press("<ctrl+o>/message 799<enter>n")
		s.sees("no match above this one in what can be read", "Earlier entries can't be read: input/output error")
		s.press("g")
		s.lacks("any key stops")
	})
}

// What a search counts is what is drawn: as many places, each once, in order.
func TestSearchFindsWhatIsDrawn(t *testing.T) { // TUI-3
	rapid.Check(t, func(rt *rapid.T) {
		w := story(t, rt, 60)
		tr := shows(w.tape)
		tr.kept = 1 << 30
		if rapid.Bool().Draw(rt, "in full") {
			tr.unfold()
		}
		tr.view(rapid.IntRange(20, 100).Draw(rt, "width"), 24)
		query := rapid.SampledFrom([]string{"a", "line", "the", "e l", "日本", "package", "1", "()"}).Draw(rt, "query")
		f := newFind(query, tr)
		for f.works(tr) {
			f.step(tr)
			tr.view(tr.width, 24)
		}
		want := 0
		for i := range tr.rows {
			if !tr.rows[i].hidden && f.near(tr.rows[i]) {
				want += len(f.in(tr.lines(i)))
			}
		}
		if _, of := f.place(); of != want {
			rt.Fatalf("%d places, want %d", of, want)
		}
		f.row, f.k, f.toward = nil, lastPlace, -1
		var order []int
		for {
			f.step(tr)
			if f.said != "" || len(f.hits) == 0 {
				break
			}
			at, _ := f.place()
			order = append(order, at)
			f.toward, f.said = -1, ""
		}
		for i, at := range order {
			if at != want-i {
				rt.Fatalf("places %v of %d", order, want)
			}
		}
		if len(order) != want {
			rt.Fatalf("%d places were gone to, want %d", len(order), want)
		}
	})
}

func TestRestyledKeepsTheText(t *testing.T) { // TUI-9
	rapid.Check(t, func(rt *rapid.T) {
		line := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "日", "\x1b[1m", "\x1b[m", "\x1b[38;5;1m", " b "}), 0, 12).Draw(rt, "line"), "")
		cuts := []int{0}
		for i, r := range ansi.Strip(line) {
			cuts = append(cuts, i+len(string(r)))
		}
		from := rapid.SampledFrom(cuts).Draw(rt, "from")
		to := rapid.SampledFrom(cuts).Draw(rt, "to")
		if got := restyled(line, []span{{0, from, to}}, "\x1b[7m"); ansi.Strip(got) != ansi.Strip(line) {
			rt.Errorf("%q became %q", line, got)
		}
	})
	if got := restyled("\x1b[1mone \x1b[mtwo", []span{{0, 2, 6}}, "\x1b[7m"); got != "\x1b[1mon\x1b[7me \x1b[m\x1b[7mtw\x1b[mo" {
		t.Errorf("got %q", got)
	}
}

// One press goes to the very beginning, however far that is; any key stops it.
func TestHomeIsTheVeryBeginning(t *testing.T) { // TUI-2
	long := func(s *stage) {
		s.begun()
		s.a.say("the very first words")
		for i := range 9000 {
			s.a.put(session.ShellRan{}, fmt.Sprintf("$ echo %d", i))
		}
	}
	onStage(t, 80, 24, noColours(), long, func(s *stage) {
		s.press("<home>")
		s.sees("▌ the very first words")
		if n := s.asksOf("before"); n > 8 {
			t.Errorf("%d pages", n)
		}
		s.press("<end>")
		s.lacks("there is more below")
	})
	onStage(t, 80, 24, noColours(), long, func(s *stage) {
		s.press("<ctrl+o>g")
		s.sees("▌ the very first words")
	})
	onStage(t, 80, 24, noColours(), long, func(s *stage) {
		s.handle(keyOf("home"))
		synctest.Wait() // the page was asked for, and is on its way
		s.sees("↑ reading older entries, at most 8,", "to go: any key stops")
		s.handle(keyOf("esc"))
		s.settle()
		s.lacks("the very first words", "any key stops")
		s.wantCommands("")
		s.handle(keyOf("home"))
		synctest.Wait()
		s.handle(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
		s.settle()
		s.lacks("the very first words")
	})
}

func TestGoldenTranscript(t *testing.T) { // TUI-3, TUI-9
	moment(t, "read_full", "The transcript as a screen: everything in full, a call with its whole command, the foot with where one is and what keys do; no composer, no borders.",
		Options{}, func(s *stage) { s.talk() }, func(s *stage) { s.press("<ctrl+o><home><tab><tab>") })
	moment(t, "read_search", "A search came to its place above the end: which of how many is said in the foot, with the keys for the next.",
		Options{}, func(s *stage) { s.talk() }, func(s *stage) { s.press("<ctrl+o>/hello<enter>n") })
	moment(t, "read_searching", "A search is being written in the last line, with the cursor in it.",
		Options{}, func(s *stage) { s.talk() }, func(s *stage) { s.press("<ctrl+o>/挨拶 🐈") })
	moment(t, "read_empty", "Nothing was said: that is said, and the keys stand in the foot.", Options{}, nil, func(s *stage) { s.press("<ctrl+o>") })
	moment(t, "read_sides", "An edit in a window of 120 columns: what was and what is stand side by side, without a border; in smaller ones one column. Wide characters on both sides keep to their half.",
		Options{}, func(s *stage) {
			q := s.edits(int64(len(fileWas)), int64(len(fileIs)))
			const wide = "// 挨拶 🐈 日本語の長い文章です。端末の幅で正しく折り返される必要があります。"
			s.a.bodies = map[want]string{{q, 1}: fileWas + "\n" + wide + "古い\n", {q, 2}: fileIs + "\n" + wide + "新しい " + strings.Repeat("a long line ", 4) + "\n"}
		}, func(s *stage) { s.press("<ctrl+o>") })
	moment(t, "read_nothing", "The text is nowhere: the foot says so, and a question that waits is told above it.",
		Options{}, func(s *stage) { s.talk(); s.works("go on"); s.question("bash", `{"command":"ls"}`, "ls") }, func(s *stage) { s.press("<ctrl+o>/nowhere at all<enter>") })
}

// Changes stand side by side where there is room and in one column elsewhere; a
// new file has one side. A key changes it, and so does the setting.
func TestChangesSideBySide(t *testing.T) { // TUI-3
	const two, one = "4 -     return  1", "   4 -     return  1\n"
	beside := two + strings.Repeat(" ", 43) + "4 +     return 2"
	onStage(t, 120, 40, noColours(), nil, func(s *stage) {
		q := s.edits(int64(len(fileWas)), int64(len(fileIs)))
		s.a.bodies = map[want]string{{q, 1}: fileWas, {q, 2}: fileIs}
		s.now()
		s.sees(beside)
		s.press("<ctrl+o>")
		s.sees(beside)
		s.send(tea.WindowSizeMsg{Width: 119, Height: 40})
		s.sees(one)
		s.press("d")
		s.sees("side by side needs a window of 120 columns")
		s.send(tea.WindowSizeMsg{Width: 120, Height: 40})
		s.sees(beside)
		s.press("d")
		s.sees(one, "changes are in one column")
		s.press("d")
		s.sees(beside, "changes are side by side")
	})
	onStage(t, 120, 40, noColours(), nil, func(s *stage) { // a file that was empty
		q := s.edits(0, int64(len(fileIs)))
		s.a.bodies = map[want]string{{q, 1}: "", {q, 2}: fileIs}
		s.now()
		s.sees("\n     4 +     return 2\n")
	})
	onStage(t, 120, 40, Options{Looks: setup.Appearance{Diff: "unified", Theme: "auto", Mouse: true}, Colors: colorprofile.NoTTY}, func(s *stage) { s.ready(`{"appearance":{"diff":"unified"}}`) }, func(s *stage) {
		q := s.edits(int64(len(fileWas)), int64(len(fileIs)))
		s.a.bodies = map[want]string{{q, 1}: fileWas, {q, 2}: fileIs}
		s.now()
		s.sees(one)
		s.press("/settings<enter><end><enter>")
		s.clickOn("Changes  ", "")
		s.press("side by side<enter>")
		s.sees("Changes                 side by side where there is room")
		s.press("<esc>")
		s.sees(beside)
	})
}

// A search that is begun above what it looks for comes to it all the same; a word
// that was cut at the end of a line is one.
func TestTranscriptSearchFromAbove(t *testing.T) { // TUI-3
	onStage(t, 40, 20, noColours(), func(s *stage) {
		s.begun()
		for i := range 60 {
			s.a.say(fmt.Sprintf("message %d", i))
		}
		s.a.put(session.ShellRan{}, "$ make\n"+strings.Repeat("x", 30)+"uncommonword"+strings.Repeat("y", 30))
		s.a.say("the end")
	}, func(s *stage) {
		s.press("<ctrl+o><home>/uncommonword<enter>")
		s.sees("uncommon\n  word", "“uncommonword”: 1 of 1")
		s.press("<home>")
		s.lacks("uncommon\n")
		s.press("N") // from what is in view
		s.sees("uncommon\n  word")
		s.press("Nn")
		s.sees("“uncommonword”: 1 of 1, no m")
	})
}

// In an item that is larger than the window too a search goes on from what is in
// view, and begins there.
func TestTranscriptSearchInTallItem(t *testing.T) { // TUI-3
	onStage(t, 60, 20, noColours(), func(s *stage) {
		s.begun()
		var out strings.Builder
		for i := 1; i <= 400; i++ {
			fmt.Fprintf(&out, "line %d\n", i)
			if i%50 == 0 {
				fmt.Fprintf(&out, "a marmot, the %d.\n", i/50)
			}
		}
		s.a.put(session.ShellRan{}, "$ make\n"+out.String())
	}, func(s *stage) {
		s.press("<ctrl+o>/marmot<enter>")
		s.sees("the 8.", "8 of 8")
		s.press("n")
		s.sees("the 7.", "7 of 8")
		s.press("<home>")
		s.lacks("the 1.")
		s.press("N")
		s.sees("the 1.", "1 of 8")
		s.press("G")
		s.press("n")
		s.sees("the 8.", "8 of 8")
		s.press("<home>/marmot<enter>") // none above: the first below
		s.sees("the 1.", "1 of 8")
	})
}

// The mouse can be left to the terminal, at any time.
func TestMouseIsSwitchable(t *testing.T) { // TUI-9, case TUI-08
	onStage(t, 80, 24, Options{Looks: setup.Appearance{Mouse: true}}, func(s *stage) { s.talk() }, func(s *stage) {
		s.press("<ctrl+o>m")
		if s.View().MouseMode != tea.MouseModeNone {
			t.Error("the mouse is still the program's")
		}
		s.sees("the mouse is the terminal's")
		s.press("m")
		if s.View().MouseMode == tea.MouseModeNone {
			t.Error("the mouse was not taken back")
		}
	})
}

// Opening the transcript leaves what has no fold as it was drawn.
func TestTranscriptKeepsWhatIsDrawn(t *testing.T) { // TUI-2
	onStage(t, 80, 60, noColours(), func(s *stage) { s.talk() }, func(s *stage) {
		first := func() (out []*string) {
			for _, r := range s.chat.tr.rows {
				if r.kind == rowAssistant {
					out = append(out, &r.drawn[0])
				}
			}
			return out
		}
		before := first()
		for _, r := range s.chat.tr.rows { // a line that would not be drawn again
			if r.kind == rowAssistant {
				r.drawn[0] += " as it was"
			}
		}
		s.press("<ctrl+o>")
		if after := first(); !slices.Equal(before, after) {
			t.Error("answers were drawn anew")
		}
		s.sees("as it was")
	})
}
