package drive_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
	"varve/internal/session"
)

func init() {
	if os.Getenv("UPDATE") != "" {
		_ = flag.Set("rewrite", "true")
	}
}

// TestScripts plays sessions against the four verbs, with no goroutine, clock
// or file. Rewrite the expectations with UPDATE=1 and read the diff.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, w.handle)
	})
}

// A world is a session in memory: entries, their fold, and the jobs that were
// ever wanted.
type world struct {
	fold    *session.Fold
	entries []session.Entry
	env     drive.Env
	now     time.Time
	asked   map[string]drive.Job
	running map[string]bool
	latest  map[string]string // by kind
	out     strings.Builder
}

func newWorld() *world {
	w := &world{fold: session.NewFold(), now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), asked: map[string]drive.Job{}, running: map[string]bool{}, latest: map[string]string{}}
	w.env = drive.Env{Run: "r1", Interactive: true, Running: func(id string) bool { return w.running[id] }}
	w.env.Opening = []session.Fact{{Event: session.RunStarted{Run: "r1"}}}
	return w
}

func (w *world) state() session.State { return w.fold.State(session.MainBranch) }

func (w *world) handle(t *testing.T, d *datadriven.TestData) string {
	w.out.Reset()
	has := func(name string) bool { return d.HasArg(name) }
	str := func(name string) (s string) {
		d.MaybeScanArgs(t, name, &s)
		return s
	}
	switch d.Cmd {
	case "say": // say [steer]: the input is the message
		w.admit(drive.Say{Text: []byte(d.Input), Steer: has("steer")})
	case "cancel":
		w.admit(drive.Cancel{By: "user"})
	case "resume":
		w.admit(drive.Resume{})
	case "answer": // answer <question> once|run|always|deny [rule=…]: the input is words for the model
		q, err := strconv.Atoi(d.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		w.admit(drive.Answer{Question: session.Seq(q), Answer: d.CmdArgs[1].Key, Rule: str("rule"), Words: []byte(d.Input)})
	case "remove", "send":
		q, err := strconv.Atoi(d.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		if d.Cmd == "remove" {
			w.admit(drive.RemoveQueued{Entry: session.Seq(q)})
		} else {
			w.admit(drive.SendHeld{Entry: session.Seq(q)})
		}
	case "headless":
		w.env.Interactive = false
		return ""
	case "limit": // limit n: requests in one turn
		w.env.MaxRequests, _ = strconv.Atoi(d.CmdArgs[0].Key)
		return ""
	case "wait": // wait 3s: time passes
		dur, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(dur)
	case "crash": // crash: the process dies; another one opens the log
		run := "r" + strconv.Itoa(len(w.env.Run)+1) + strconv.Itoa(len(w.entries))
		fold := session.NewFold()
		for _, e := range w.entries {
			if err := fold.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		w.fold, w.running = fold, map[string]bool{}
		w.env.Run = run
		w.env.Opening = []session.Fact{{Event: session.RunStarted{Run: run}}}
		fmt.Fprintf(&w.out, "paused=%v\n", drive.Paused(w.state(), false))
	case "start": // start <job>: it runs
		w.running[w.find(t, d).ID] = true
	case "job": // job <id> what…: what came of it
		w.job(t, d)
	case "view":
		for it := range w.state().Branch.View.All {
			fmt.Fprintf(&w.out, "%s %s %s%s\n", it.ID, it.Kind, it.Name, it.Marked)
		}
		return w.out.String()
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	w.settle()
	return w.out.String()
}

func (w *world) settle() {
	w.env.Now = w.now
	for range 50 {
		facts := drive.Settle(w.state(), w.env)
		if len(facts) == 0 {
			break
		}
		w.record(facts)
	}
	for _, j := range drive.Want(w.state(), w.env) {
		w.asked[j.ID], w.latest[string(j.Kind)] = j, j.ID
		fmt.Fprintf(&w.out, "want %s", j.ID)
		if j.NotBefore.After(w.now) {
			fmt.Fprintf(&w.out, " in %s", j.NotBefore.Sub(w.now).Round(100*time.Millisecond))
		}
		w.out.WriteByte('\n')
	}
}

func (w *world) admit(cmd drive.Command) {
	w.env.Now = w.now
	facts, err := drive.Admit(w.state(), w.env, cmd)
	if err != nil {
		fmt.Fprintf(&w.out, "refused: %v\n", err)
		return
	}
	w.record(facts)
}

// job plays a result:
//
//	job discover                       instructions were looked for
//	job encode [problem=K]             the request's bytes are made, or can't be
//	job send text|call=(name,…)        a reply: an answer, or calls
//	job send class=C [error=K] [retry] [after=2s] [partial]
//	job judge:C allow|ask|deny [beside] [broken]
//	job tool:C [error] [plan=n] [fault]
func (w *world) job(t *testing.T, d *datadriven.TestData) {
	j := w.find(t, d)
	delete(w.running, j.ID)
	s := w.state()
	w.env.Now = w.now
	if !drive.Welcome(s, w.env, j) && !drive.Owed(s, j) {
		fmt.Fprintf(&w.out, "%s is not news\n", j.ID)
		return
	}
	w.record(drive.Accept(s, w.env, j, w.result(t, d, j)))
}

// find is the job that is meant: by its id, or by its kind the one that was
// wanted last.
func (w *world) find(t *testing.T, d *datadriven.TestData) drive.Job {
	name := d.CmdArgs[0].Key
	j, ok := w.asked[name]
	if !ok {
		j, ok = w.asked[w.latest[name]]
	}
	if !ok {
		d.Fatalf(t, "nobody asked for %s", name)
	}
	return j
}

func (w *world) result(t *testing.T, d *datadriven.TestData, j drive.Job) (r drive.Result) {
	has := func(name string) bool { return d.HasArg(name) }
	if has("fault") {
		r.Fault = &drive.Fault{Where: string(j.Kind), Kind: "panic", Text: []byte("boom")}
		return r
	}
	var name string
	if d.MaybeScanArgs(t, "bg", &name); name != "" { // the call started a job
		r.Facts = []session.Fact{{Event: session.JobStarted{Call: j.Call, Job: name}}}
	}
	switch j.Kind {
	case drive.Discover:
		r.Facts = []session.Fact{{Event: session.AssemblyReported{Fingerprint: "f"}}}
	case drive.Encode:
		r.Request = &drive.Encoded{SHA256: "s", Whole: true}
		var problem string
		if d.MaybeScanArgs(t, "problem", &problem); problem != "" {
			r.Request.Problem = &session.TurnError{Kind: problem}
		}
	case drive.Send:
		r.Reply = w.reply(t, d)
	case drive.Judge:
		v := &drive.Verdict{Beside: has("beside"), Shown: []byte("shown"), SHA256: "h", What: "command", Why: "the rules say so"}
		for _, x := range []string{"allow", "ask", "deny"} {
			if has(x) {
				v.Verdict = x
			}
		}
		if has("broken") {
			v.Broken = &drive.Output{IsError: true, Text: []byte("bad arguments")}
		}
		r.Verdict = v
	case drive.Tool:
		r.Output = &drive.Output{IsError: has("error"), Text: []byte(d.Input)}
		var n int
		if d.MaybeScanArgs(t, "plan", &n); n > 0 {
			p := &session.PlanChanged{NextID: n + 1}
			for i := range n {
				p.Items = append(p.Items, session.PlanItem{ID: fmt.Sprint("task-", i+1), Status: "pending", Content: i})
			}
			r.Output.Plan = p
		}
	case drive.ShowPlan:
		r.Facts = []session.Fact{{Event: session.PlanShown{Plan: j.Plan}, Body: []session.Part{{Bytes: []byte("plan")}}}}
	}
	return r
}

func (w *world) reply(t *testing.T, d *datadriven.TestData) *drive.Reply {
	rep := &drive.Reply{Class: "natural"}
	d.MaybeScanArgs(t, "class", &rep.Class)
	for _, a := range d.CmdArgs[1:] {
		switch a.Key {
		case "text":
			rep.Parts = append(rep.Parts, session.ReplyPart{Kind: "assistant", B: len(rep.Body)})
			rep.Body = append(rep.Body, session.Part{Bytes: []byte("text")})
		case "call":
			for _, name := range a.Vals {
				if rep.Class == "natural" {
					rep.Class = "tool"
				}
				rep.Parts = append(rep.Parts, session.ReplyPart{Kind: "tool_call", B: len(rep.Body), Call: &session.CallName{ID: "c", Name: name, Beside: tools.ReadOnly(name)}})
				rep.Body = append(rep.Body, session.Part{Bytes: []byte("{}")})
			}
		case "partial":
			rep.Partial = []byte("half")
		}
	}
	var kind, after string
	if d.MaybeScanArgs(t, "error", &kind); kind != "" {
		rep.Error = &session.ProviderError{Kind: kind, Retry: d.HasArg("retry")}
	}
	if d.MaybeScanArgs(t, "after", &after); after != "" {
		dur, err := time.ParseDuration(after)
		if err != nil {
			t.Fatal(err)
		}
		rep.Error.NotBefore = w.now.Add(dur).Format(time.RFC3339Nano)
	}
	return rep
}

// record writes facts down as the harness would, through their encoding.
func (w *world) record(facts []session.Fact) {
	for _, f := range facts {
		f.Branch = session.MainBranch
		rest, err := session.EncodeRest(f, w.now)
		if err != nil {
			panic(err)
		}
		seq := w.fold.Head() + 1
		line := fmt.Sprintf(`{"seq":%d,"prev":"%032d",%s`, seq, 0, rest)
		e, err := session.Decode([]byte(line))
		if err != nil {
			panic(err)
		}
		if err := w.fold.Apply(e); err != nil {
			panic(err)
		}
		w.entries = append(w.entries, e)
		fmt.Fprintf(&w.out, "%d %s%s\n", seq, e.Type, note(e))
	}
}

// note is what the eye needs of an event.
func note(e session.Entry) string {
	switch ev := e.Event.(type) {
	case session.UserSaid:
		return " " + ev.Via
	case session.InputQueued:
		return " " + ev.Kind
	case session.InputHeld:
		return fmt.Sprint(" ", ev.Entries)
	case session.RequestSent:
		return fmt.Sprintf(" attempt=%d", ev.Attempt)
	case session.ReplyCompleted:
		return " " + ev.Finish
	case session.ReplyRejected:
		s := " " + ev.Class
		if ev.Error != nil {
			s += " " + ev.Error.Kind
		}
		if ev.Kept {
			s += " kept"
		}
		return s
	case session.TurnEnded:
		s := " " + ev.Status
		if ev.Error != nil {
			s += " " + ev.Error.Kind
		}
		return s
	case session.CallJudged:
		return fmt.Sprintf(" %s %s", ev.Call, ev.Verdict)
	case session.ToolStarted:
		return " " + ev.Call.String()
	case session.ToolFinished:
		return fmt.Sprintf(" %s error=%v", ev.Call, ev.IsError)
	case session.ToolInterrupted:
		return fmt.Sprintf(" %s %s", ev.Call, ev.Why)
	case session.RunEnded:
		return " " + ev.How
	case session.ApprovalAnswered:
		return " " + ev.Answer
	}
	return ""
}
