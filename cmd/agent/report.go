package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"varve/internal/harness"
	"varve/internal/session"
	"varve/internal/words"
)

// A report shows a turn without a screen.
type report interface {
	begin(*harness.Local)
	entry(*harness.Local, session.Entry)
	end(result)
	quiet() bool // errors are in what was printed
}

// textReport prints the answer, and nothing else: what is piped on is the
// answer, byte for byte.
type textReport struct {
	out    io.Writer
	looked bool      // out is a terminal, which the answer must not drive
	err    io.Writer // a terminal, where waits are told; nil for none
	notes  io.Writer // where compactions are told
}

func (*textReport) begin(*harness.Local) {}

// entry tells a person who looks on why nothing comes.
func (r *textReport) entry(l *harness.Local, e session.Entry) {
	if line := compactionLine(e); line != "" && r.notes != nil {
		fprintln(r.notes, "agent: "+line)
	}
	ev, ok := e.Event.(session.ReplyRejected)
	if r.err == nil || !ok || ev.Error == nil || !ev.Error.Retry {
		return
	}
	fprintln(r.err, "agent: "+strings.TrimSuffix(words.Failure(ev.Error.Kind, 0).Line, ", after several attempts.")+"; another attempt follows")
}

func (*textReport) quiet() bool { return false }

func (r *textReport) end(res result) {
	if res.Text == "" {
		return
	}
	text := strings.TrimRight(res.Text, "\n")
	if r.looked {
		fprintln(r.out, text)
		return
	}
	_, _ = fmt.Fprintln(r.out, text) // as fprintln
}

// jsonReport prints one object.
type jsonReport struct{ out io.Writer }

func (*jsonReport) begin(*harness.Local)                {}
func (*jsonReport) entry(*harness.Local, session.Entry) {}
func (*jsonReport) quiet() bool                         { return true }
func (r *jsonReport) end(res result)                    { printJSON(r.out, res) }

func printJSON(w io.Writer, v any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // as fprintln
}

// streamReport prints one object a line as things happen, and the whole last.
// docs/run.md describes the lines; "v" is their version.
type streamReport struct{ jsonReport }

type streamLine struct {
	V         int             `json:"v"`
	Type      string          `json:"type"`
	Session   string          `json:"session,omitempty"`
	Branch    string          `json:"branch,omitempty"`
	Item      string          `json:"item,omitempty"`
	Call      string          `json:"call,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Text      *string         `json:"text,omitempty"`
	IsError   *bool           `json:"is_error,omitempty"`
	Class     string          `json:"class,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Paths     []string        `json:"paths,omitempty"`
	Plan      []planLine      `json:"plan,omitempty"`

	Compaction *compacted `json:"compaction,omitempty"`
}

type planLine struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Content string `json:"content"`
}

func (r *streamReport) line(l streamLine) {
	l.V = 1
	printJSON(r.out, l)
}

func (r *streamReport) begin(l *harness.Local) {
	r.line(streamLine{Type: "session", Session: l.ID(), Branch: l.Branch})
}

func (r *streamReport) entry(l *harness.Local, e session.Entry) {
	parts, err := e.Parts()
	text := func(b int) *string {
		if err != nil || b >= len(parts) {
			return nil
		}
		bytes, err := l.Session.Bytes(parts[b])
		if err != nil {
			return nil
		}
		s := string(bytes)
		return &s
	}
	switch ev := e.Event.(type) {
	case session.UserSaid:
		if it, ok := l.Session.Item(e.Seq.Item()); ok {
			if b, err := l.Session.Text(it); err == nil {
				s := string(b)
				r.line(streamLine{Type: "user", Item: e.Seq.Item().String(), Text: &s})
			}
		}
	case session.ReplyCompleted:
		for i, p := range ev.Parts {
			line := streamLine{Type: p.Kind, Item: session.ItemID{Seq: e.Seq, Part: i + 1}.String(), Text: text(p.B)}
			if p.Call != nil {
				line.Name = p.Call.Name
				if line.Text != nil && json.Valid([]byte(*line.Text)) {
					line.Arguments, line.Text = json.RawMessage(*line.Text), nil
				}
			}
			r.line(line)
		}
	case session.ReplyRejected:
		line := streamLine{Type: "rejected", Class: ev.Class}
		if ev.Error != nil {
			line.Kind = ev.Error.Kind
			if ev.Error.Message != nil {
				line.Text = text(ev.Error.Message.B)
			}
		}
		r.line(line)
	case session.SummarizerTried:
		r.line(streamLine{Type: "summarizer", Name: ev.Model.String(), Class: ev.Outcome, Kind: ev.Why})
	case session.CheckpointCommitted:
		c := compactedBy(ev, e.Seq)
		r.line(streamLine{Type: "compaction", Compaction: &c})
	case session.CompactionFailed:
		c := failedBy(ev, func(b int) string {
			if t := text(b); t != nil {
				return *t
			}
			return ""
		})
		r.line(streamLine{Type: "compaction", Compaction: &c})
	case session.ToolFinished:
		r.line(streamLine{Type: "tool_result", Call: ev.Call.String(), Text: text(0), IsError: &ev.IsError})
	case session.ToolInterrupted:
		failed := true
		r.line(streamLine{Type: "tool_result", Call: ev.Call.String(), Text: text(0), IsError: &failed, Kind: ev.Why})
	case session.FilesChanged:
		if list := text(0); list != nil {
			r.line(streamLine{Type: "files_changed", Call: ev.Call.String(), Paths: changedPaths(*list)})
		}
	case session.PlanChanged:
		line := streamLine{Type: "plan", Plan: []planLine{}}
		for _, it := range ev.Items {
			if s := text(it.Content); s != nil {
				line.Plan = append(line.Plan, planLine{it.ID, it.Status, *s})
			}
		}
		r.line(line)
	}
}

// changedPaths reads the list of a files.changed event.
func changedPaths(list string) []string {
	var changes []session.FileChange
	if json.Unmarshal([]byte(list), &changes) != nil {
		return nil
	}
	var out []string
	for _, c := range changes {
		out = append(out, c.Path)
	}
	return out
}
