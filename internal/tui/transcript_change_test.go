package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"varve/internal/session"
)

// file is the file of a change, before and after.
const (
	fileWas = "package a\n\nfunc A() int {\n\treturn  1\n}\n"
	fileIs  = "package a\n\nfunc A() int {\n\treturn 2\n}\n"
)

// edits is an edit whose arguments are looser than what it changed.
func (s *stage) edits(sizes ...int64) session.Seq {
	s.works("mend it")
	a := s.a.answer(s.a.last(), "tool_call:edit", `{"file_path":"a.go","old_string":"return 1","new_string":"return 2"}`)
	s.a.put(session.CallJudged{Call: call(a, 1), Verdict: "allow"})
	s.a.put(session.ToolStarted{Call: call(a, 1)})
	before, after := 1, 2
	q := s.a.fact(session.Fact{
		Event: session.FilesChanged{By: "tool", Call: call(a, 1), N: 1, Changes: session.Text{B: 0, MediaType: "application/json"}},
		Body: []session.Part{
			{Bytes: fmt.Appendf(nil, `[{"path":"/home/ada/work/greet/a.go","op":"modify","before":%d,"after":%d}]`, before, after)},
			{Ref: &session.Ref{SHA256: strings.Repeat("a", 64), MediaType: "text/plain", Size: sizes[0]}},
			{Ref: &session.Ref{SHA256: strings.Repeat("b", 64), MediaType: "text/plain", Size: sizes[1]}},
		},
	})
	s.a.put(session.ToolFinished{Call: call(a, 1)}, "Edited a.go.")
	return q
}

// An edit shows the change that was made, with its lines' numbers.
func TestEditShowsWhatWasMade(t *testing.T) { // TUI-3
	scene(t, func(s *stage) {
		q := s.edits(int64(len(fileWas)), int64(len(fileIs)))
		s.a.bodies = map[want]string{{q, 1}: fileWas, {q, 2}: fileIs}
		s.now()
		s.sees("+1 −1", "   4 -     return  1", "   4 +     return 2", "   3   func A() int {")
		s.send(keyOf("ctrl+o"))
		s.sees("   4 +     return 2")
		if n := s.asksOf(fmt.Sprintf("body %d/", q)); n != 2 {
			t.Errorf("asked %d times for two sides", n)
		}
	})
}

// Where the two sides can't be had, or are large, it is what was asked for.
func TestEditWithoutItsSides(t *testing.T) { // TUI-3
	for name, c := range map[string]struct {
		set   func(*stage, session.Seq)
		sizes [2]int64
		asks  int
	}{
		"large":   {func(*stage, session.Seq) {}, [2]int64{40, mostSide + 1}, 0},
		"missing": {func(s *stage, q session.Seq) { s.a.bodies = map[want]string{{q, 1}: fileWas} }, [2]int64{40, 40}, 2},
		"no text": {func(s *stage, q session.Seq) { s.a.bodies = map[want]string{{q, 1}: "\xff\xfe", {q, 2}: fileIs} }, [2]int64{40, 40}, 2},
	} {
		scene(t, func(s *stage) {
			q := s.edits(c.sizes[0], c.sizes[1])
			s.a.noBody = errors.New("disk on fire")
			c.set(s, q)
			s.now()
			s.sees("- return 1", "+ return 2")
			s.lacks("func A", "can't be read")
			if n := s.asksOf(fmt.Sprintf("body %d/", q)); n != c.asks {
				t.Errorf("%s: asked %d times for its sides, want %d", name, n, c.asks)
			}
		})
	}
}

// A file that was written anew shows what became another, not the whole of it; a
// new one is whole.
func TestWriteShowsWhatWasMade(t *testing.T) { // TUI-3
	s := newTape(t)
	s.say("Write it.")
	q := s.reply("tool_call:write", `{"file_path":"a.go","content":"`+strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(fileIs)+`"}`, "tool_call:write", `{"file_path":"b.txt","content":"new\n"}`)
	for i, list := range []string{`[{"path":"a.go","op":"modify","before":1,"after":2}]`, `[{"path":"b.txt","op":"create","after":1}]`} {
		id := call(q, i+1)
		s.put(session.ToolStarted{Call: id})
		body := []string{list, fileWas, fileIs}
		if i == 1 {
			body = []string{list, "new\n"}
		}
		s.put(session.FilesChanged{By: "tool", Call: id, N: 1, Changes: session.Text{B: 0}}, body...)
		s.put(session.ToolFinished{Call: id}, "Wrote it.")
	}
	got := strings.Join(shows(s).view(80, 30), "\n")
	for _, want := range []string{"+1 −1", "   4 -     return  1", "   4 +     return 2", "  +1 −0", "   1 + new"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "the whole file") || strings.Contains(got, "   1 + package a") {
		t.Errorf("the whole file is shown as new:\n%s", got)
	}
}

// A folded output counts every line that is not shown: those that the model did
// not get as well.
func TestFoldedOutputCountsAllLines(t *testing.T) { // TUI-3, TOOL-2
	out := func(first, mark, last int) string {
		var b strings.Builder
		for i := range first {
			fmt.Fprintf(&b, "line %d\n", i+1)
		}
		if mark > 0 {
			fmt.Fprintf(&b, "[%d lines, 99 bytes left out]\n", mark)
		}
		for i := range last {
			fmt.Fprintf(&b, "line %d\n", first+mark+i+1)
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	for _, c := range []struct {
		tool, out string
		left      int64
		says      string
	}{
		// 100 lines: 10, then 80 that were left out, then 10. Three are shown.
		{"bash", out(10, 80, 10), 80, "  … 97 earlier lines (Ctrl+O), 80 of them not sent to the model"},
		{"bash", out(20, 0, 0), 0, "  … 17 earlier lines (Ctrl+O)"},
		{"grep", out(10, 80, 0), 80, "  … 87 more lines (Ctrl+O), 80 of them not sent to the model"},
		{"read", out(10, 80, 0), 80, "  … 90 lines (Ctrl+O), 80 of them not sent to the model"},
	} {
		s := newTape(t)
		s.say("List it.")
		q := s.reply("tool_call:"+c.tool, `{}`)
		s.put(session.ToolStarted{Call: call(q, 1)})
		s.put(session.ToolFinished{Call: call(q, 1), LeftOut: session.LeftOut{Lines: c.left, Bytes: 99}}, c.out)
		got := shows(s).view(100, 20)
		found := false
		for _, l := range got {
			found = found || strings.TrimRight(l, " ") == c.says
		}
		if !found {
			t.Errorf("%s: no %q in\n%s", c.tool, c.says, strings.Join(got, "\n"))
		}
	}
}

// A list of changes that stands in the content store is counted.
func TestLongListOfChanges(t *testing.T) { // LOG-12
	s := newTape(t)
	s.say("Format it all.")
	s.fact(session.Fact{
		Event: session.FilesChanged{By: "shell", N: 4000, Changes: session.Text{B: 0, MediaType: "application/json"}},
		Body:  []session.Part{{Ref: &session.Ref{SHA256: strings.Repeat("a", 64), MediaType: "application/json", Size: 400_000}}},
	})
	got := strings.Join(shows(s).view(80, 12), "\n")
	if !strings.Contains(got, "4000 files changed (shell).") || strings.Contains(got, "can't be read") {
		t.Errorf("it shows\n%s", got)
	}
}

// Why a call is asked about is what was judged last, whatever page came first.
func TestWhyAskedOfPages(t *testing.T) { // PERM-4
	s := newTape(t)
	s.say("Read it.")
	q := s.reply("tool_call:read", `{"file_path":"x"}`)
	for _, paths := range []string{`[{"Name":"x","Inside":true}]`, `[{"Name":"/etc/hosts","Inside":false}]`} {
		s.put(session.CallJudged{Call: call(q, 1), Verdict: "ask", Paths: &session.Text{B: 0}}, paths)
	}
	const want = "Outside this folder, so it is asked: /etc/hosts"
	if got := shows(s).whyAsked(call(q, 1)); got != want {
		t.Errorf("in order: %q", got)
	}
	tr := newTranscript(plainLook(s.at))
	tr.add(s.entries[s.last()-1:])
	tr.prepend(s.entries[:s.last()-1])
	if got := tr.whyAsked(call(q, 1)); got != want {
		t.Errorf("newest page first: %q", got)
	}
}

// The plan is the newest one, also where an older page comes after it.
func TestPlanIsTheNewest(t *testing.T) { // PLAN-1
	s := newTape(t)
	s.say("Plan it.")
	for _, text := range []string{"the old task", "the new task"} {
		s.put(session.PlanChanged{By: "user", Items: []session.PlanItem{{ID: "task-1", Status: "pending"}}}, text)
	}
	tr := newTranscript(plainLook(s.at))
	tr.add(s.entries[s.last()-1:])
	tr.prepend(s.entries[:s.last()-1])
	if got := strings.Join(tr.plan(80, plainLook(s.at), false), "\n"); !strings.Contains(got, "Plan 0/1  the new task") {
		t.Errorf("the plan is %q", got)
	}
}

// What a restore of files did is shown, and what it could not do. // BRN-8, SES-17
func TestRestoreIsShown(t *testing.T) {
	json := session.Text{B: 0, MediaType: "application/json"}
	for name, c := range map[string]struct {
		done, failed string
		want         []string
		not          string
	}{
		"done":    {`["/w/a.txt"]`, `[]`, []string{"1 file restored.", "  modify a.txt"}, "could not"},
		"one not": {`["/w/a.txt"]`, `["/w/b\u001b[2J.txt","/elsewhere"]`, []string{"1 file restored.", "2 files could not be restored.", "  left b.txt", "  left /elsewhere"}, "/w/"},
		"none":    {`[]`, `[]`, []string{"No file was restored."}, "could not"},
		"broken":  {`[`, `[]`, []string{"Files were restored; the list can't be read"}, "could not"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTape(t)
			s.say("Go back.")
			if c.done == `["/w/a.txt"]` {
				s.put(session.FilesChanged{By: "restore", N: 1, Changes: json}, `[{"path":"/w/a.txt","op":"modify"}]`)
			}
			s.put(session.RestoreFinished{Plan: 1, Done: json, Failed: session.Text{B: 1, MediaType: "application/json"}}, c.done, c.failed)
			l := plainLook(s.at)
			l.workspace = "/w"
			tr := newTranscript(l)
			tr.add(s.entries)
			got := strings.Join(tr.view(80, 20), "\n")
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			if strings.Contains(got, c.not) {
				t.Errorf("%q in\n%s", c.not, got)
			}
		})
	}
}
