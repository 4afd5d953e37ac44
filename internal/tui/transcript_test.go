package tui

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui/markdown"
	"varve/internal/tui/plain"
)

// tape records events as a session's file holds them, and reads them back.
type tape struct {
	t       testing.TB
	at      time.Time
	entries []session.Entry
}

func newTape(t testing.TB) *tape {
	return &tape{t: t, at: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
}

func (s *tape) last() session.Seq { return session.Seq(len(s.entries)) }

// put records an event, and returns its number.
func (s *tape) put(ev session.Event, body ...string) session.Seq {
	s.t.Helper()
	f := session.Fact{Branch: "main", Event: ev}
	for _, b := range body {
		f.Body = append(f.Body, session.Part{Bytes: []byte(b)})
	}
	return s.fact(f)
}

func (s *tape) fact(f session.Fact) session.Seq {
	s.t.Helper()
	f.Branch = "main"
	rest, err := session.EncodeRest(f, s.at)
	if err != nil {
		s.t.Fatal(err)
	}
	e, err := session.Decode(fmt.Appendf(nil, `{"seq":%d,"prev":"%032d",%s`, s.last()+1, 0, rest))
	if err != nil {
		s.t.Fatal(err)
	}
	s.at = s.at.Add(time.Second)
	s.entries = append(s.entries, e)
	return e.Seq
}

func (s *tape) say(text string) session.Seq {
	return s.put(session.UserSaid{Via: "prompt", Text: &session.Text{}}, text)
}

// reply records a request and its whole answer; parts are kind, text and, of a
// call, its name: "tool_call:bash".
func (s *tape) reply(parts ...string) session.Seq {
	q := s.put(session.RequestSent{Purpose: "agent"})
	return s.answer(q, parts...)
}

func (s *tape) answer(q session.Seq, parts ...string) session.Seq {
	ev := session.ReplyCompleted{Request: q, Finish: "natural"}
	var body []string
	for i := 0; i < len(parts); i += 2 {
		kind, name, call := strings.Cut(parts[i], ":")
		p := session.ReplyPart{Kind: kind, B: len(body)}
		if call {
			p.Call = &session.CallName{ID: fmt.Sprint("c", i), Name: name}
		}
		ev.Parts = append(ev.Parts, p)
		body = append(body, parts[i+1])
	}
	return s.put(ev, body...)
}

func (s *tape) runs(call session.ItemID, ms int64, failed bool, out string) {
	s.put(session.CallJudged{Call: call, Verdict: "allow"})
	s.put(session.ToolStarted{Call: call})
	s.put(session.ToolFinished{Call: call, DurationMS: ms, IsError: failed}, out)
}

// plainLook draws without colour, at a time.
func plainLook(now time.Time) look {
	return look{full: "Ctrl+O", end: "End", ink: func(_, s string) string { return s }, now: func() time.Time { return now }}
}

// inkLook draws with colours.
func inkLook(now time.Time) look {
	return look{full: "Ctrl+O", end: "End", ink: func(_, s string) string { return "\x1b[2m" + s + "\x1b[m" }, markdown: markdown.Dark(), now: func() time.Time { return now }}
}

func shows(s *tape) *transcript {
	t := newTranscript(plainLook(s.at))
	t.add(s.entries)
	return t
}

func text(t *transcript, w, h int) string {
	return strings.TrimRight(strings.Join(t.view(w, h), "\n"), "\n")
}

func call(q session.Seq, part int) session.ItemID { return session.ItemID{Seq: q, Part: part} }

func pulse(request session.Seq, kind, name, text string) drive.Pulse {
	return drive.Pulse{Job: sendJob(request), Kind: kind, Name: name, Text: []byte(text)}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// fits fails where a line is wider than w or could drive the terminal (TUI-9,
// SEC-5).
func fits(t interface{ Errorf(string, ...any) }, lines []string, w, h int) {
	if len(lines) != h {
		t.Errorf("%d lines, want %d", len(lines), h)
	}
	for _, l := range lines {
		bare := sgr.ReplaceAllString(l, "")
		if n := plain.Width(bare); n > w {
			t.Errorf("a line of %d columns, want at most %d: %q", n, w, l)
		}
		if plain.Clean(bare) != bare || strings.Contains(bare, "\n") {
			t.Errorf("a line that is not clean: %q", l)
		}
	}
}

// The names of the jobs whose pulses the transcript knows are those of drive.
func TestJobsOfPulses(t *testing.T) {
	s := newTape(t)
	s.put(session.RunStarted{Run: "r"})
	turn := s.say("hello")
	s.put(session.AssemblyReported{Fingerprint: "none"}, "[]")
	want := func() []drive.Job {
		f := session.NewFold()
		for _, e := range s.entries {
			if err := f.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		return drive.Want(f.State("main"), drive.Env{Run: "r"})
	}
	jobs := want()
	if len(jobs) != 1 || jobs[0].Kind != drive.Encode {
		t.Fatalf("jobs %v, want one encode", jobs)
	}
	tr := shows(s)
	retry := drive.Pulse{Job: jobs[0].ID, Kind: "retry"}
	if tr.stale(retry) {
		t.Errorf("%s is stale while its turn is open", retry.Job)
	}
	q := s.put(session.RequestSent{Purpose: "agent", Turn: turn, Attempt: 1})
	if jobs = want(); len(jobs) != 1 || jobs[0].ID != sendJob(q) {
		t.Fatalf("jobs %v, want %s", jobs, sendJob(q))
	}
	tr.add(s.entries)
	if p := pulse(q, "text", "", "x"); tr.stale(p) {
		t.Error("an open request's text is stale")
	}
	s.answer(q, "assistant", "x")
	s.put(session.TurnEnded{Turn: turn, Status: "completed"})
	tr.add(s.entries)
	if !tr.stale(pulse(q, "text", "", "x")) || !tr.stale(retry) {
		t.Error("what is over still passes")
	}
}
