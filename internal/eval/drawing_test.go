package eval

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/internal/compact"
	"varve/internal/content"
	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
	"varve/internal/jsonl"
	"varve/internal/providers/openaichat"
	"varve/internal/session"
)

// draw is a view, one item a line: its id, its tokens, what it is, how it
// begins. mark says what stands before an item.
func (p *pen) draw(mark func(session.Item) string) string {
	p.t.Helper()
	var b strings.Builder
	for it := range p.sess.State(session.MainBranch).Branch.View.All {
		text, err := p.sess.Text(it)
		if err != nil {
			p.t.Fatal(err)
		}
		s := strings.Join(strings.Fields(string(text)), " ")
		if len(s) > 58 {
			s = s[:58] + "…"
		}
		m := ""
		if mark != nil {
			m = mark(it)
		}
		fmt.Fprintf(&b, "%-7s %4s  %-11s %5d  %s\n", m, it.ID, it.Kind, it.Tokens.N, s)
	}
	return b.String()
}

func (p *pen) user(text string) session.Seq {
	p.t.Helper()
	return p.one(session.UserSaid{Via: "prompt", Text: &session.Text{}, Tokens: session.Estimate(len(text))}, text)
}

func (p *pen) answer(turn session.Seq, text string) {
	p.t.Helper()
	reply := p.one(session.ReplyCompleted{
		Request: p.request(turn), Finish: "natural", RawFinish: "stop",
		Parts: []session.ReplyPart{{Kind: "assistant", Tokens: session.Estimate(len(text))}},
	}, text)
	p.one(session.TurnEnded{Turn: turn, Status: "completed", Answer: session.ItemID{Seq: reply, Part: 1}, Requests: 2})
}

// checkpoint installs a handoff for what is planned, annotated as the program
// does it.
func (p *pen) checkpoint(text string, b compact.Budget, reach compact.Reach) {
	p.t.Helper()
	s := p.sess.State(session.MainBranch)
	cut, ok := compact.Plan(s, b, reach)
	if !ok {
		p.t.Fatal("nothing to cover")
	}
	whole := string(compact.Annotate(compact.Fill([]byte(text)), compact.Notes{Ranges: cut.Ranges}))
	p.one(session.CheckpointCommitted{
		Kind: "text", Ranges: cut.Ranges, Replaces: cut.Replaces, BaseRevision: s.Branch.Head, Fingerprints: session.Text{B: 1, MediaType: "application/json"},
		Tokens: session.Estimate(len(whole)),
	}, whole, "[]")
}

// The drawings of docs/compaction.md are of a real log, fold, plan and
// selection. // CMP-4, CMP-5, CMP-8, BRN-4, CTX-5
func TestCompactionPageDraws(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sessions", "w", traceID+".jsonl")
	p := &pen{t: t, sess: harness.New(path, content.Open(dir), jsonl.Never, &ticks{}), encoder: openaichat.Adapter{}.NewEncoder()}
	defer p.sess.Close()
	p.one(session.SessionCreated{Format: session.Format, ID: traceID, Workspace: "/ledger", Program: "varve"})
	p.one(session.ModelChosen{Model: agentModel, By: "user"})
	p.one(session.ToolsDefined{API: openaichat.API, Tokens: session.Estimate(2), Definitions: session.Text{B: 1}}, "[]", "[]")

	file := func(name string) string { return strings.Repeat("func "+name+"() { … }\n", 40) }
	turn := p.user("Amounts are whole cents. Look at rate.go.")
	p.one(session.InstructionPublished{Key: "00-agent", Report: "r", Tokens: session.Estimate(len(instruction))}, instruction)
	p.look(turn, 1, "rate.go", file("rate"))
	p.answer(turn, "It keeps three columns.")
	var turns []session.Seq
	for i, name := range []string{"fee", "import"} {
		turn = p.user("Look at " + name + ".go.")
		turns = append(turns, turn)
		p.look(turn, i+2, name+".go", file(name))
		p.answer(turn, name+".go is right.")
	}
	open := p.user("Write the importer.")
	p.look(open, 4, "export.go", file("export"))

	// The tail takes a fifth of the budget.
	b := compact.Budget{Window: 2000, Trigger: 1600, Tail: 700}
	drawings := map[string]string{}
	cut, ok := compact.Plan(p.sess.State(session.MainBranch), b, compact.Older)
	if !ok {
		t.Fatal("nothing to cover")
	}
	drawings["before"] = p.draw(func(it session.Item) string {
		switch {
		case it.Kind == session.InstructionItem:
			return "always"
		case session.Within(cut.Ranges, it.ID):
			return "source"
		case it.Turn == open:
			return "running"
		}
		return "tail"
	})
	handoff := "## Objective\nThe importer.\n## Constraints\nAmounts are whole cents.\n## Work State\n### Completed\nrate.go was read.\n## Next Action\nWrite it."
	p.checkpoint(handoff, b, compact.Older)
	drawings["after"] = p.draw(nil)
	p.answer(open, "The importer is written.")

	// The same result, masked by the model: the newest, and nothing before it.
	turn = p.user("Look at report.go.")
	p.look(turn, 5, "report.go", file("report"))
	var last session.Item
	for it := range p.sess.State(session.MainBranch).Branch.View.All {
		last = it
	}
	was, err := p.sess.Text(last)
	if err != nil {
		t.Fatal(err)
	}
	reference := tools.Masked{Item: last.ID.String(), Call: last.Call.String(), Tool: "read", Tokens: last.Tokens.N}.Reference()
	p.one(session.ItemMasked{Item: last.ID, Call: last.Call, Tokens: session.Estimate(len(reference))}, reference)
	drawings["masked"] = p.draw(func(it session.Item) string {
		if it.ID == last.ID {
			return "masked"
		}
		return ""
	})
	if it, ok := p.sess.Item(last.ID); !ok || it.Tokens != last.Tokens {
		t.Errorf("%+v is what was recorded, now %+v", last, it)
	}
	if now, err := p.sess.Load(last.At, last.Text.B); err != nil || string(now) != string(was) {
		t.Error("the payload of a masked result has changed")
	}
	p.answer(turn, "It is right too.")
	whole := p.draw(nil)

	out, err := p.sess.Operate(t.Context(), dir, drive.Revert{Branch: session.MainBranch, Message: turns[0], Preview: []byte("Look at fee.go.")})
	if err != nil {
		t.Fatal(err)
	}
	drawings["reverted"] = p.draw(nil)
	if _, ok := p.sess.State(session.MainBranch).Branch.View.Checkpoint(); ok {
		t.Error("the checkpoint is shown before what it stands for was said")
	}
	if _, err := p.sess.Operate(t.Context(), dir, drive.RollBack{Branch: session.MainBranch, Label: out.Label}); err != nil {
		t.Fatal(err)
	}
	if now := p.draw(nil); now != whole || !strings.Contains(now, "checkpoint") {
		t.Errorf("rolled back to\n%s\nit was\n%s", now, whole)
	}
	inPage(t, drawings)
}

// inPage holds docs/compaction.md to its drawings; UPDATE=1 writes them.
func inPage(t *testing.T, drawings map[string]string) {
	t.Helper()
	page := "../../docs/compaction.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	now := string(text)
	for name, d := range drawings {
		begin, end := "<!-- drawing "+name+" -->\n```text\n", "```\n<!-- end of drawing -->"
		head, rest, ok := strings.Cut(now, begin)
		old, tail, ok2 := strings.Cut(rest, end)
		switch {
		case !ok || !ok2:
			t.Errorf("docs/compaction.md has no drawing %q", name)
		case old == d:
		case os.Getenv("UPDATE") != "":
			now = head + begin + d + end + tail
		default:
			t.Errorf("docs/compaction.md draws %q as\n%s\nand it is\n%s", name, old, d)
		}
	}
	if now != string(text) {
		if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
