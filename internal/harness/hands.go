package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
	"varve/internal/session"
)

// A Judgement is what the rules say about a planned call.
type Judgement struct {
	Verdict string // allow, ask, deny
	Rule    string
	Why     string // one sentence: for the model with deny, for the person with ask
}

// Hands do the jobs of one branch on this machine.
type Hands struct {
	sess    *Session
	speaker *Speaker
	box     *tools.Box
	pulses  *Pulses
	clock   Clock
	judge   func(session.State, tools.Plan) Judgement
	look    func(ctx context.Context) (Assembly, error)
}

// Run performs one job against a frozen state. It is a [Runner].
func (h *Hands) Run(ctx context.Context, s session.State, j drive.Job) drive.Result {
	switch j.Kind {
	case drive.Discover:
		return h.discover(ctx, s)
	case drive.Encode:
		return h.speaker.encode(ctx, s, j)
	case drive.Send:
		return h.speaker.send(ctx, s, j)
	case drive.Judge:
		return h.judgeCall(ctx, s, j)
	case drive.Tool:
		return h.runCall(ctx, s, j)
	case drive.ShowPlan:
		return h.showPlan(s, j)
	case drive.Prepare:
		return h.prepare(ctx, s)
	case drive.Pack:
		return h.pack(ctx, s)
	case drive.Brief:
		return h.brief(ctx, s, j)
	case drive.Ask:
		return h.ask(ctx, s, j)
	case drive.Commit:
		return h.commit(ctx, s)
	}
	panic("harness: internal error: no hands for a job of kind " + string(j.Kind))
}

// call reads what the model asked for.
func (h *Hands) call(id session.ItemID) (tools.Call, error) {
	it, ok := h.sess.Item(id)
	if !ok {
		return tools.Call{}, fmt.Errorf("call %s: not in this session", id)
	}
	args, err := h.sess.Text(it)
	if err != nil {
		return tools.Call{}, fmt.Errorf("call %s: %w", id, err)
	}
	return tools.Call{ID: id.String(), Name: it.Name, Args: args}, nil
}

func (h *Hands) judgeCall(ctx context.Context, s session.State, j drive.Job) drive.Result {
	call, err := h.call(j.Call)
	if err != nil {
		return broken(err)
	}
	p := h.box.Plan(ctx, call, known{h.sess, s})
	if p.Refused != nil {
		out, facts := h.output(*p.Refused, j.Call, "tool")
		return drive.Result{Facts: facts, Verdict: &drive.Verdict{Broken: &out}}
	}
	v := h.judge(s, p)
	out := drive.Verdict{
		Verdict: v.Verdict, Rule: v.Rule, Why: v.Why, Beside: p.ReadOnly,
		What: p.Shown.What, Shown: []byte(p.Shown.Text), SHA256: p.Shown.SHA256,
	}
	for _, e := range p.Effects {
		out.Effects = append(out.Effects, string(e))
	}
	if len(p.Paths) > 0 {
		if out.Paths, err = json.Marshal(p.Paths); err != nil {
			return broken(err)
		}
	}
	return drive.Result{Verdict: &out}
}

func broken(err error) drive.Result {
	return drive.Result{Verdict: &drive.Verdict{Broken: &drive.Output{IsError: true, Text: []byte(err.Error())}}}
}

func (h *Hands) runCall(ctx context.Context, s session.State, j drive.Job) drive.Result {
	call, err := h.call(j.Call)
	if err != nil {
		return drive.Result{Output: &drive.Output{IsError: true, Text: []byte(err.Error())}}
	}
	if t := s.Branch.Turn; t != nil {
		for _, c := range t.Calls {
			if c.ID == j.Call {
				call.Judged = c.Shown
			}
		}
	}
	began := h.clock.Now()
	h.pulses.put(Pulse{Job: j.ID, Kind: "tool", Call: j.Call, Name: call.Name, Began: began, Last: began})
	from := h.sess.moment()
	r := h.box.Run(ctx, call, known{h.sess, s}, func(newest []byte) {
		h.pulses.put(Pulse{Job: j.ID, Kind: "tool", Call: j.Call, Name: call.Name, Began: began, Text: newest, Last: h.clock.Now()})
	})
	by := "tool"
	if call.Name == "bash" {
		by = "shell"
		r.Changes = h.sess.unrecorded(r.Changes, from)
	}
	out, facts := h.output(r, j.Call, by)
	if r.Todo != nil {
		out.Plan, out.PlanBody = planOf(*r.Todo)
	}
	if m := r.Mask; m != nil {
		item, err := session.ParseItemID(m.Item)
		of, err2 := session.ParseItemID(m.Call)
		if err := errors.Join(err, err2); err != nil {
			return drive.Result{Output: &drive.Output{IsError: true, Text: []byte(err.Error())}}
		}
		words := []byte(m.Reference())
		facts = append(facts, session.Fact{
			Event: session.ItemMasked{Item: item, Call: of, Tokens: session.Estimate(len(words))}, Body: []session.Part{{Bytes: words}},
		})
	}
	return drive.Result{Facts: facts, Output: &out}
}

// output turns a tool's result into facts: what it saw, what it changed, what
// it left running, and the result itself.
func (h *Hands) output(r tools.Result, call session.ItemID, by string) (drive.Output, []session.Fact) {
	out := drive.Output{
		IsError: r.IsError, Exit: r.Exit, Signal: r.Signal, DurationMS: r.DurationMS, Text: r.Text, Interrupted: r.Interrupted, Watched: r.Watched,
		LeftOut: session.LeftOut{Bytes: r.LeftOut.Bytes, Lines: r.LeftOut.Lines},
	}
	if f := r.Full; f != nil {
		out.LeftOut.Discarded = f.Discarded
		out.Full = &session.Part{Ref: &session.Ref{SHA256: f.SHA256, MediaType: "text/plain", Size: f.Size}}
	}
	for _, m := range r.Media {
		out.Media = append(out.Media, drive.Medium{Handle: m.Handle, Ref: session.Ref{SHA256: m.SHA256, MediaType: m.MediaType, Size: m.Size}})
	}
	var facts []session.Fact
	if r.Fault != "" {
		facts = append(facts, session.Fact{
			Event: session.FaultRecorded{Where: "tool", Kind: "panic"}, Body: []session.Part{{Bytes: []byte(r.Fault)}},
		})
	}
	for _, o := range r.Observed {
		facts = append(facts, session.Fact{Event: session.FileObserved{Path: session.PathKey(o.Path), SHA256: o.SHA256, Size: o.Size, By: "tool"}})
	}
	if len(r.Changes) > 0 {
		facts = append(facts, h.sess.changed(r.Changes, by, call))
	}
	if r.Job != nil {
		facts = append(facts, session.Fact{Event: session.JobStarted{Call: call, Job: r.Job.ID, PID: r.Job.Pid}})
	}
	return out, facts
}

// known is what the session knows, for one call.
type known struct {
	sess *Session
	s    session.State
}

func (k known) Hash(real string) (string, bool) {
	o, ok := k.sess.FileOn(k.s.Branch.Name, real)
	return o.SHA256, ok
}

func (k known) Seen() []string { return k.sess.Files() }

func (k known) Tail(name string) (tools.Masked, error) {
	call, err := session.ParseItemID(name)
	if err != nil {
		return tools.Masked{}, err
	}
	it, err := drive.Maskable(k.s, call)
	if err != nil {
		return tools.Masked{}, err
	}
	of, _ := k.sess.Item(it.Call)
	if of.Name == tools.MaskName {
		return tools.Masked{}, drive.ErrNotAtTail
	}
	return tools.Masked{Item: it.ID.String(), Call: it.Call.String(), Tool: of.Name, Tokens: it.Tokens.N}, nil
}

func (k known) Todo() tools.Todo {
	t, err := k.sess.Todo(k.s)
	if err != nil {
		return tools.Todo{NextID: max(k.s.Session.NextTask, 1)}
	}
	return t
}
