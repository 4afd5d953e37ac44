package session_test

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	. "varve/internal/session"
)

// TestFold plays the stories of testdata/fold. UPDATE=1 rewrites what they
// print; commit that only if you can say why it moved.
//
//	log              folds the lines of its input: [branch/]type key=value…
//	view [branch]    what the next request carries
//	state [branch]   where a branch stands, without what says nothing
//	before SEQ       the view and the rest of the state before that user item
//	at SEQ           the state that was handed out after that event
//
// A value is JSON, or a word. n=5 is tokens of that many by estimate, count=5 is n; to parts
// and items see their functions below.
func TestFold(t *testing.T) {
	if update() {
		if err := flag.Set("rewrite", "true"); err != nil {
			t.Fatal(err)
		}
	}
	datadriven.Walk(t, "testdata/fold", func(t *testing.T, path string) {
		s := story{fold: NewFold(), kept: map[string]State{}}
		datadriven.RunTest(t, path, s.handle)
	})
}

type story struct {
	fold *Fold
	kept map[string]State
	out  strings.Builder
}

func (s *story) handle(t *testing.T, d *datadriven.TestData) string {
	s.out.Reset()
	branch, at := MainBranch, ""
	if len(d.CmdArgs) > 0 {
		branch, at = d.CmdArgs[0].Key, d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "log":
		for line := range strings.Lines(d.Input) {
			e, err := scriptLine(s.fold, strings.TrimSpace(line))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if err := s.fold.Apply(e); err != nil {
				t.Fatal(err)
			}
			s.kept[fmt.Sprint(e.Seq)] = s.fold.State(MainBranch)
		}
		fmt.Fprintf(&s.out, "%d events\n", s.fold.Head())
	case "view":
		s.view(s.fold.State(branch).Branch.View)
	case "state":
		s.state(s.fold.State(branch))
	case "at":
		s.view(s.kept[at].Branch.View)
		s.state(s.kept[at])
	case "before":
		q, err := strconv.Atoi(at)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.fold.Select(Reference{Branch: MainBranch, Seq: Seq(q), Select: "before"})
		if err != nil {
			return err.Error() + "\n"
		}
		s.view(b.View)
		s.state(State{Branch: b})
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	return s.out.String()
}

// scriptLine makes a line as a file would have it, and decodes it. A request
// goes to the model that is chosen, where it does not say so.
func scriptLine(f *Fold, line string) (Entry, error) {
	q := f.Head() + 1
	words := strings.Fields(line)
	branch, name := MainBranch, words[0]
	if b, rest, ok := strings.Cut(name, "/"); ok {
		branch, name = b, rest
	}
	data, must := map[string]jsontext.Value{}, Must(name)
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		v := jsontext.Value(value)
		switch {
		case key == "must":
			must = true
			continue
		case key == "n":
			key, v = "tokens", fmt.Appendf(nil, `{"n":%s,"by":"est"}`, value)
		case key == "count":
			key = "n"
		case key == "parts":
			v = replyParts(value)
		case key == "items":
			v = planItems(value)
		case key == "model" && name != "endpoint.learned" && !v.IsValid():
			v = fmt.Appendf(nil, `{"provider":"p","api":"a","model":%q}`, value)
		case !v.IsValid() || slices.Contains([]string{"item", "call", "answer", "replaces", "first"}, key):
			v = AppendQuoted(nil, v)
		}
		data[key] = v
	}
	if m := f.State(branch).Branch.Model; name == "request.sent" && data["model"] == nil {
		data["model"], _ = json.Marshal(m)
	}
	b, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		return Entry{}, err
	}
	m := ""
	if must {
		m = `"must":true,`
	}
	return Decode(lineOf(q, fmt.Appendf(nil, `"branch":%q,"at":"2026-11-30T12:00:%02d.000Z","type":%q,%s"data":%s}`, branch, uint64(q)%60, name, m, b)))
}

// replyParts reads kind:tokens, and name#id:tokens for a call.
func replyParts(s string) jsontext.Value {
	var parts []ReplyPart
	for i, w := range strings.Split(s, ",") {
		kind, size, _ := strings.Cut(w, ":")
		n, _ := strconv.Atoi(size)
		p := ReplyPart{Kind: kind, B: i, Tokens: Tokens{N: n, By: "est"}}
		if name, id, ok := strings.Cut(kind, "#"); ok {
			p.Kind, p.Call = "tool_call", &CallName{ID: id, Name: name}
		}
		parts = append(parts, p)
	}
	b, _ := json.Marshal(parts)
	return b
}

// planItems reads number:status; "none" is the empty list.
func planItems(s string) jsontext.Value {
	var items []PlanItem
	for i, w := range strings.Split(s, ",") {
		if n, status, ok := strings.Cut(w, ":"); ok {
			items = append(items, PlanItem{ID: "task-" + n, Status: status, Content: 2 * i, ActiveForm: 2*i + 1})
		}
	}
	b, _ := json.Marshal(items)
	return b
}

func (s *story) view(v View) {
	for it := range v.All {
		s.out.WriteString(showItem(it) + "\n")
	}
	fmt.Fprintf(&s.out, "%d tokens\n", v.Tokens())
}

func showItem(it Item) string {
	out := fmt.Sprintf("%v %s", it.ID, it.Kind)
	if it.Source != FromModel && it.Source != FromTool && it.Kind != UserItem || it.Source == FromSteering {
		out += " from " + string(it.Source)
	}
	if it.Name != "" {
		out += " " + it.Name + "#" + it.CallID
	}
	if it.Key != "" {
		out += " " + it.Key
	}
	if !it.Call.IsZero() {
		out += " of " + it.Call.String()
	}
	if it.Failed {
		out += " failed"
	}
	if it.Marked != "" {
		out += " marked " + it.Marked
	}
	if it.At != it.ID.Seq {
		out += fmt.Sprintf(" text of %d", it.At)
	}
	if it.Turn != 0 {
		out += fmt.Sprintf(" turn %d", it.Turn)
	}
	return out + fmt.Sprintf(" (%d)", it.Tokens.N)
}

func (s *story) state(st State) {
	b, g := st.Branch, st.Session
	say := func(when bool, format string, args ...any) {
		if when {
			fmt.Fprintf(&s.out, format+"\n", args...)
		}
	}
	say(true, "head %d", b.Head)
	say(b.ReadOnly != "", "read-only: %s", b.ReadOnly)
	say(b.Run != "", "run %s", b.Run)
	say(b.Model.Model != "", "model %s %s", b.Model.Model, b.Reason)
	say(b.Plan.At != 0, "plan of %d, shown %v, next task-%d", b.Plan.At, b.Plan.Shown, b.Plan.Next)
	for _, it := range b.Plan.Items {
		say(true, "  %s %s", it.ID, it.Status)
	}
	for _, q := range b.Queue {
		held := ""
		if q.Held {
			held = ", held"
		}
		say(true, "waits: %d %s, text of %d (%d)%s", q.ID, q.Kind, q.At, q.Tokens.N, held)
	}
	say(b.Tools.At != 0, "tools of %d (%d), %d more", b.Tools.At, b.Tools.Tokens.N, len(b.Tools.More))
	say(b.Assembly != "", "assembly %s", b.Assembly)
	if b.Sent.Seq != 0 {
		cut := "whole"
		if b.Sent.Cut != nil {
			cut = "cut by " + b.Sent.Cut.Cause
			if !b.Sent.Cut.Item.IsZero() {
				cut += " " + b.Sent.Cut.Item.String()
			}
		}
		say(true, "sent %d, %s", b.Sent.Seq, cut)
		say(b.Sent.Room.N != 0, "  to a room of %d (%s)", b.Sent.Room.N, b.Sent.Room.Source)
	}
	say(true, "occupancy %d by %s", st.Occupancy().N, st.Occupancy().By)
	if t := b.Turn; t != nil {
		say(true, "turn %d run %q, requests %d, failed %d", t.ID, t.Run, t.Requests, t.Failed)
		say(t.Failed > 0, "  since %s", t.FailedSince.Format("15:04:05"))
		say(t.Cancelled != "", "  cancelled by %s", t.Cancelled)
		say(t.Assembled, "  assembled")
		say(t.Open.Seq != 0, "  open: request %d, attempt %d", t.Open.Seq, t.Open.Attempt)
		say(t.Rejection != nil, "  rejected: %+v", deref(t.Rejection))
		say(t.ReplyAt != 0, "  reply %d finish %s", t.ReplyAt, t.Reply.Finish)
		for _, c := range t.Calls {
			say(true, "  call %v %s: %s", c.ID, c.Name, progress(c))
		}
	}
	if b.Asked != nil {
		say(true, "compaction asked for by %s in %d", b.Asked.By, b.Asked.At)
	}
	if c := b.Compaction; c != nil {
		say(true, "compaction %d by %s, asked for in %d, entry %d, over %d, passed %q", c.At, c.Route, c.Asked.At, c.Entry, c.Over, c.Passed)
		for _, a := range c.Open {
			say(true, "  open: %d %s, past %v", a.Seq, a.Unit, a.Past)
		}
		for _, t := range c.Tries {
			say(true, "  tried %s %d times, last %d at %s: %s, lacking %d", t.Unit, t.N, t.At, t.Time.Format("15:04:05"), t.Class, t.Lacking)
		}
	}
	if g := b.Staging; g != nil {
		say(true, "staging %d version %d legacy %v: missing %v, next %d, round %d, target %d, window %d, sequential %v", g.At, g.Version, g.Legacy, g.Missing, g.Next, g.Round, g.Target, g.Window.N, g.Sequential)
		for _, m := range g.Maps {
			say(true, "  map %d of %v in %d (%d)", m.Ordinal, m.First, m.At, m.Tokens.N)
		}
		for _, l := range g.Segments {
			say(true, "  %d segments in %d:%d", l.N, l.At, l.B)
		}
		for _, r := range g.Reduced {
			say(true, "  reduced %d/%d of %v in %d (%d)", r.Level, r.Group, r.Inputs, r.At, r.Tokens.N)
		}
		for _, r := range g.Rereads {
			say(true, "  reread for %d/%d: %v", r.Level, r.Group, r.Ranges)
		}
		say(g.Candidate != 0, "  candidate %d (%d), corrected %d times, audited %v, objection %d", g.Candidate, g.Final.Tokens.N, g.Corrections, g.Audited, g.Objection)
	}
	say(b.Turn != nil && b.Turn.Deferred, "deferred")
	say(b.Turn != nil && b.Turn.Recovered > 0, "recovering")
	say(b.Last.Turn != 0, "last: turn %d %s, answer %v, ended by %d", b.Last.Turn, b.Last.Status, b.Last.Answer, b.Last.At)
	for _, u := range g.Usage {
		say(true, "used %q: %d requests, %d unknown, in %d+%d+%d, out %d", u.Model.Model, u.Requests, u.Unknown, u.Sum.Input, u.Sum.Cached, u.Sum.CacheWrite, u.Sum.Output)
	}
	for _, w := range g.Windows {
		say(true, "window %s %s %d", w.Model.Model, w.Role, w.Limit)
	}
	for _, q := range g.Quirks {
		say(true, "quirk %s %s", q.Quirk, q.Value)
	}
	for _, r := range g.Calibration {
		say(true, "calibration %q %d per mille", r.Model.Model, r.PerMille)
	}
	for _, r := range g.Grants {
		say(true, "granted %s run %q", r.Rule, r.Run)
	}
	say(g.Mode != "", "mode %s", g.Mode)
	say(g.NextTask > 0, "next task %d", g.NextTask)
}

func deref(r *Rejection) string {
	if r == nil {
		return ""
	}
	out := fmt.Sprintf("%d at %s, %s", r.At, r.Time.Format("15:04:05"), r.Class)
	if r.Error != nil {
		out += " " + r.Error.Kind
	}
	return out
}

func progress(c Call) string {
	var out []string
	for _, p := range []struct {
		is   bool
		word string
	}{
		{c.Judged, "judged " + c.Verdict},
		{c.Question != 0, fmt.Sprintf("asked by %d", c.Question)},
		{c.Answer != "", "answered " + c.Answer},
		{c.Started, "started"},
		{c.Done, "done"},
	} {
		if p.is {
			out = append(out, p.word)
		}
	}
	return strings.Join(out, ", ")
}
