package session

import "slices"

func (f *Fold) applyTurn(b *branch, e Entry) {
	s := &b.state
	switch ev := e.Event.(type) {
	case InputQueued:
		s.Queue = append(slices.Clip(s.Queue), Queued{ID: e.Seq, Kind: ev.Kind, At: e.Seq, Text: ev.Text, Tokens: ev.Tokens, Media: ev.Media})
	case InputEdited:
		s.Queue = slices.Clone(s.Queue)
		for i := range s.Queue {
			if s.Queue[i].ID == ev.Entry {
				s.Queue[i].At, s.Queue[i].Text, s.Queue[i].Tokens = e.Seq, ev.Text, ev.Tokens
			}
		}
	case InputMoved:
		s.move(ev.Entry, ev.Before)
	case InputRemoved:
		s.take(ev.Entry)
	case InputHeld:
		s.Queue = slices.Clone(s.Queue)
		for i := range s.Queue {
			s.Queue[i].Held = s.Queue[i].Held || slices.Contains(ev.Entries, s.Queue[i].ID)
		}
	case UserSaid:
		f.userSaid(b, e, ev)
	case ShellRan:
		f.add(b, Item{ID: e.Seq.Item(), Kind: ShellItem, Source: FromUser, Text: ev.Text, Tokens: ev.Tokens})
	case TurnCancelled:
		s.turn(ev.Turn, func(t *Turn) { t.Cancelled, t.CancelledAt = ev.By, e.Seq })
	case TurnResumed:
		s.turn(ev.Turn, func(t *Turn) {
			t.Run, t.Rejection = ev.Run, nil
			// What a run was allowed ends with it (PERM-2): calls that have not
			// begun are judged again.
			t.Calls = slices.Clone(t.Calls)
			for i, c := range t.Calls {
				if !c.Started && !c.Done {
					t.Calls[i] = Call{ID: c.ID, Name: c.Name, Beside: c.Beside}
				}
			}
		})
	case TurnEnded:
		s.Last = Ended{Turn: ev.Turn, At: e.Seq, Since: e.Seq, Status: ev.Status, Answer: ev.Answer, Error: ev.Error}
		if s.Turn != nil && s.Turn.ID == ev.Turn {
			if s.Turn.CancelledAt != 0 {
				s.Last.Since = s.Turn.CancelledAt
			}
			s.Turn = nil
		}
	case RequestSent:
		if ev.Compaction != 0 {
			b.asked(e, ev)
			return
		}
		s.Sent = Sent{Seq: e.Seq, Size: ev.Size, Model: ev.Model, Recorded: s.Occupied(), Room: ev.Capacity, Endpoint: ev.Endpoint, Limit: ev.OutputLimit}
		s.turn(ev.Turn, func(t *Turn) {
			t.Open = Open{Seq: e.Seq, Attempt: ev.Attempt}
			t.Requests++
		})
	case ReplyCompleted:
		f.replyCompleted(b, e, ev)
	case ReplyRejected:
		f.replyRejected(b, e, ev)
	}
}

// turn changes the open turn, if it is the one meant. Kept states hold the
// old one, so it is copied.
func (s *Branch) turn(id Seq, change func(*Turn)) {
	if s.Turn == nil || s.Turn.ID != id {
		return
	}
	t := *s.Turn
	change(&t)
	s.Turn = &t
}

func (s *Branch) take(entry Seq) {
	s.Queue = slices.DeleteFunc(slices.Clone(s.Queue), func(q Queued) bool { return q.ID == entry })
}

func (s *Branch) move(entry, before Seq) {
	i := slices.IndexFunc(s.Queue, func(q Queued) bool { return q.ID == entry })
	if i < 0 {
		return
	}
	q := s.Queue[i]
	rest := slices.Delete(slices.Clone(s.Queue), i, i+1)
	j := slices.IndexFunc(rest, func(q Queued) bool { return q.ID == before })
	if j < 0 {
		j = len(rest)
	}
	s.Queue = slices.Insert(rest, j, q)
}

func (f *Fold) userSaid(b *branch, e Entry, ev UserSaid) {
	s := &b.state
	f.keep(b, e.Seq)
	if b.limb.Users++; b.limb.First == 0 {
		b.limb.First = e.Seq
	}
	it := Item{ID: e.Seq.Item(), At: e.Seq, Kind: UserItem, Source: FromUser, Tokens: ev.Tokens, Turn: ev.Turn, Media: ev.Media}
	if ev.Text != nil {
		it.Text = *ev.Text
	}
	if i := slices.IndexFunc(s.Queue, func(q Queued) bool { return q.ID == ev.Entry }); i >= 0 {
		it.At, it.Text = s.Queue[i].At, s.Queue[i].Text
		held := s.Queue[i].Held
		s.take(ev.Entry)
		if held { // a person sent it: the rest of the queue goes on behind it
			for i := range s.Queue {
				s.Queue[i].Held = false
			}
		}
	}
	if it.Turn == 0 {
		it.Turn = e.Seq
		s.Turn, s.Deferred = &Turn{ID: e.Seq, Run: s.Run, Deferred: s.Deferred}, false
	} else {
		// Steering: the reply before it is answered, and is not the last word.
		s.turn(ev.Turn, func(t *Turn) { t.Reply, t.ReplyAt, t.Calls = ReplyCompleted{}, 0, nil })
	}
	if ev.Via == "steer" {
		it.Source = FromSteering
	}
	f.add(b, it)
}

func (f *Fold) replyCompleted(b *branch, e Entry, ev ReplyCompleted) {
	s := &b.state
	if m, ok := b.answered(e, ev.Request, "", nil); ok {
		f.account(m, ev.Usage)
		return
	}
	// What came while the request was open, also another model, is not what it
	// carried.
	model, carried, before := s.Model, s.Occupied(), s.Occupied()
	if s.Sent.Seq == ev.Request {
		model, carried = s.Sent.Model, s.Sent.Recorded
	}
	f.account(model, ev.Usage)
	var calls []Call
	var turn Seq
	if s.Turn != nil {
		turn = s.Turn.ID
	}
	for i, p := range ev.Parts {
		it := Item{
			ID: ItemID{e.Seq, i + 1}, Kind: ItemKind(p.Kind), Source: FromModel, Turn: turn, Tokens: p.Tokens, Model: model,
			Text: Text{B: p.B, MediaType: p.MediaType, Encoding: p.Encoding},
		}
		if p.Call != nil {
			it.CallID, it.Name = p.Call.ID, p.Call.Name
			calls = append(calls, Call{ID: it.ID, Name: p.Call.Name, Beside: p.Call.Beside})
		}
		f.add(b, it)
	}
	if u := ev.Usage; u != nil && u.Input+u.Cached+u.CacheWrite > 0 {
		f.calibrate(model, carried, u.Input+u.Cached+u.CacheWrite)
		if model == s.Model {
			s.Size = Size{Reported: u.Input + u.Cached + u.CacheWrite + u.Output, Seq: e.Seq, Since: before - carried}
		}
	}
	if s.Turn == nil || s.Turn.Open.Seq != ev.Request {
		return
	}
	s.turn(s.Turn.ID, func(t *Turn) {
		t.Open, t.Failed, t.Rejection, t.Recovered = Open{}, 0, nil, 0
		t.Reply, t.ReplyAt, t.Calls = ev, e.Seq, calls
	})
}

// Occupied is the recorded size of what a request of now would carry, in our
// own estimate, uncorrected.
func (s Branch) Occupied() int {
	n := s.View.Tokens() + s.Tools.Tokens.N
	for _, m := range s.Tools.More {
		n += m.Tokens.N
	}
	return n
}

// calibrate learns how a model's tokens compare with our estimate, within a
// factor of two, slowly after the first report.
func (f *Fold) calibrate(m Model, estimated, reported int) {
	if estimated < 200 {
		return
	}
	now := min(max(reported*1000/estimated, 500), 2000)
	g := slices.Clone(f.growing.Calibration)
	for i := range g {
		if g[i].Model == m {
			g[i].PerMille = (g[i].PerMille*3 + now) / 4
			f.growing.Calibration = g
			return
		}
	}
	f.growing.Calibration = append(g, Ratio{m, now})
}

func (f *Fold) account(m Model, u *Usage) {
	all := slices.Clone(f.growing.Usage)
	i := slices.IndexFunc(all, func(x UsageOf) bool { return x.Model == m })
	if i < 0 {
		all, i = append(all, UsageOf{Model: m}), len(all)
	}
	all[i].Requests++
	if u == nil {
		all[i].Unknown++
	} else {
		sum := &all[i].Sum
		sum.Input += u.Input
		sum.Cached += u.Cached
		sum.CacheWrite += u.CacheWrite
		sum.Output += u.Output
		sum.Reasoning += u.Reasoning
		if u.Cost != nil {
			c := *u.Cost
			if sum.Cost != nil {
				c += *sum.Cost
			}
			sum.Cost = &c
		}
	}
	f.growing.Usage = all
}

func (f *Fold) replyRejected(b *branch, e Entry, ev ReplyRejected) {
	s := &b.state
	if m, ok := b.answered(e, ev.Request, ev.Class, ev.Error); ok {
		f.account(m, ev.Usage)
		return
	}
	model := s.Model
	if s.Sent.Seq == ev.Request {
		model = s.Sent.Model
	}
	f.account(model, ev.Usage)
	if ev.Kept && ev.Text != nil {
		it := Item{ID: e.Seq.Item(), Kind: AssistantItem, Source: FromModel, Text: *ev.Text, Tokens: ev.Tokens, Marked: "interrupted"}
		if ev.Class == "length" {
			it.Marked = "length"
		}
		if s.Turn != nil {
			it.Turn = s.Turn.ID
		}
		f.add(b, it)
	}
	if s.Turn == nil || s.Turn.Open.Seq != ev.Request {
		return
	}
	s.turn(s.Turn.ID, func(t *Turn) {
		t.Open = Open{}
		t.Rejection = &Rejection{At: e.Seq, Time: e.At, Class: ev.Class, Error: ev.Error}
		if ev.Class == "lost" {
			return // spent by us, not by the provider
		}
		if t.Failed == 0 {
			t.FailedSince = e.At
		}
		t.Failed++
	})
}

func (f *Fold) applyTool(b *branch, e Entry) {
	s := &b.state
	switch ev := e.Event.(type) {
	case CallJudged:
		s.call(ev.Call, func(c *Call) {
			c.Judged, c.Verdict, c.Beside, c.Effects, c.Shown = true, ev.Verdict, ev.Beside, ev.Effects, ev.ShownSHA256
		})
	case ApprovalRequested:
		s.call(ev.Call, func(c *Call) { c.Question = e.Seq })
	case ApprovalAnswered:
		if s.Turn == nil || ev.Request == 0 {
			return
		}
		for _, c := range s.Turn.Calls {
			if c.Question == ev.Request {
				s.call(c.ID, func(c *Call) { c.Answer = ev.Answer })
			}
		}
	case ToolStarted:
		s.call(ev.Call, func(c *Call) { c.Started = true })
	case JobStarted:
		f.growing.Jobs++
	case ToolFinished:
		s.call(ev.Call, func(c *Call) { c.Done = true })
		it := Item{ID: e.Seq.Item(), Kind: ResultItem, Source: FromTool, Text: ev.Text, Tokens: ev.Tokens, Call: ev.Call, Media: ev.Media, Failed: ev.IsError}
		f.result(b, it)
		f.todo(b, it)
	case ToolInterrupted:
		s.call(ev.Call, func(c *Call) { c.Done = true })
		it := Item{ID: e.Seq.Item(), Kind: ResultItem, Source: FromRuntime, Text: ev.Text, Tokens: ev.Tokens, Call: ev.Call, Failed: true}
		if ev.Why != "denied" {
			it.Marked = "interrupted"
		}
		f.result(b, it)
	}
}

func (f *Fold) result(b *branch, it Item) {
	if b.state.Turn != nil {
		it.Turn = b.state.Turn.ID
	}
	f.add(b, it)
}

// call changes one open call of the open turn.
func (s *Branch) call(id ItemID, change func(*Call)) {
	if s.Turn == nil {
		return
	}
	i := slices.IndexFunc(s.Turn.Calls, func(c Call) bool { return c.ID == id })
	if i < 0 {
		return
	}
	s.turn(s.Turn.ID, func(t *Turn) {
		t.Calls = slices.Clone(t.Calls)
		change(&t.Calls[i])
	})
}
