package main

import (
	"context"
	"errors"
	"maps"
	"os"

	"github.com/spf13/cobra"

	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// Compactions without a screen: how they are told, and one by hand.

// compacted is what became of a compaction.
type compacted struct {
	Status     string          `json:"status"` // done, failed
	Checkpoint session.Seq     `json:"checkpoint,omitempty"`
	Before     *session.Tokens `json:"before,omitempty"`
	After      *session.Tokens `json:"after,omitempty"`
	Stale      []string        `json:"stale,omitempty"`
	Kind       string          `json:"kind,omitempty"` // why it failed
	Message    string          `json:"message,omitempty"`
	Deferred   bool            `json:"deferred,omitempty"` // the trigger begins no other in this turn
}

func compactedBy(ev session.CheckpointCommitted, q session.Seq) compacted {
	return compacted{Status: "done", Checkpoint: q, Before: &ev.Before, After: &ev.After, Stale: ev.Stale}
}

func failedBy(ev session.CompactionFailed, body func(int) string) compacted {
	detail := ""
	if ev.Detail != nil {
		detail = body(ev.Detail.B)
	}
	return compacted{Status: "failed", Kind: ev.Kind, Message: words.CompactionFailed(ev.Kind, detail, ev.Kept), Deferred: ev.Defers}
}

// compactionLine is what a person is told of an entry, "" for nothing.
func compactionLine(e session.Entry) string {
	s := ""
	switch ev := e.Event.(type) {
	case session.ToastPosted:
		switch ev.Code {
		case "compaction.failed": // below what was said of each model
			s = words.CompactionOver(ev.Args["kind"], ev.Args["detail"], ev.Args["kept"] != "")
		case "compaction.asks": // its reason was the line before
			ev.Args = maps.Clone(ev.Args)
			delete(ev.Args, "after")
			s = words.Toast(ev)
		case "compaction.done", "staging.voided":
			s = words.Toast(ev)
		}
	case session.SummarizerTried:
		s = words.Tried(ev)
	case session.HandoffRejected:
		s = words.Rejected(ev)
	}
	return plain.Clean(words.OneLine(s))
}

func compactCommand(e *env, f *flags, asJSON *bool) *cobra.Command {
	var focus, branch string
	c := &cobra.Command{
		Use: "compact ID [FOCUS]", Short: "Summarize what a session has come to; no turn is begun", Args: takes(1, whichSession, whichFocus),
		Long: "Compact asks the summarization models for a summary of all that was answered, and appends it. The\n" +
			"model gets it in place of what it stands for; the session's file keeps everything.",
		Example: "  agent session compact 01a2 'the failing test'",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 2 && c.Flags().Changed("focus") {
				return exit(exitUsage, "two things are to be kept in particular, %q and %q: give one of them", oneLine(args[1]), oneLine(focus))
			}
			if len(args) == 2 {
				focus = args[1]
			}
			return compactSession(c.Context(), e, f, args[0], branch, focus, *asJSON)
		},
	}
	c.Flags().StringVar(&focus, "focus", "", "what is to be kept in particular, as FOCUS says it too")
	c.Flags().StringVar(&branch, "branch", "", "the branch (default: the last used)")
	return c
}

func compactSession(ctx context.Context, e *env, f *flags, id, branch, focus string, asJSON bool) error {
	m, err := newMachine(f)
	if err != nil {
		return err
	}
	if m.fault != nil {
		return exit(exitUsage, "%w", m.fault)
	}
	path, err := m.find(id)
	if err != nil {
		return err
	}
	if err := m.follow(path); err != nil {
		return err
	}
	o, err := m.options("run", false)
	if err != nil {
		return err
	}
	defer os.RemoveAll(o.Tools.TempDir)
	o.Branch, o.NoTurns = branch, true
	l, err := openSession(ctx, m, o, path)
	if err != nil {
		return err
	}
	defer l.Close()
	if d := l.Session.Damage(); len(d) > 0 {
		return exit(exitSession, "part of session %s can't be read (line %d, byte %d): nothing was written; `agent session repair %s` closes that off", l.ID(), d[0].Line, d[0].Bad, l.ID())
	}
	after := l.Session.Head()
	if err := l.Submit(ctx, drive.Compact{Focus: []byte(focus)}); err != nil {
		return compactErr(l, err)
	}
	got, err := followCompaction(ctx, l, after, func(line string) {
		if !asJSON {
			fprintln(e.err, line)
		}
	})
	if err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return sessionErr(err)
	}
	if asJSON {
		printJSON(e.out, struct {
			Session string `json:"session"`
			Branch  string `json:"branch"`
			compacted
		}{l.ID(), l.Branch, got})
	}
	if code, ok := signalCode(ctx); ok && got.Kind == "cancelled" {
		return &exitError{code: code}
	}
	switch got.Kind {
	case "":
		return nil
	case "exhausted", "sections", "too_long", "item_too_large":
		return &exitError{code: exitProvider}
	}
	return &exitError{code: exitFailed}
}

// compactErr is why it was not begun.
func compactErr(l *harness.Local, err error) error {
	var x *exitError
	switch {
	case errors.As(err, &x):
		return err
	case errors.Is(err, harness.ErrHeld):
		return exit(exitSession, "another window or process works on session %s: nothing was done; /compact does it there", l.ID())
	case errors.Is(err, harness.ErrConflict), errors.Is(err, drive.ErrReadOnly), l.Fault() != nil:
		return sessionErr(err)
	case errors.Is(err, drive.ErrNothingToCompact):
		return exit(exitUsage, "session %s: %w", l.ID(), err)
	}
	return exit(exitUsage, "%w", err)
}

// followCompaction tells what happens until the compaction is over. A signal
// stops it; what was accepted stays.
func followCompaction(ctx context.Context, l *harness.Local, after session.Seq, tell func(string)) (compacted, error) {
	whole := context.WithoutCancel(ctx)
	wait, cancel := context.WithCancel(whole)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	var version uint64
	var got compacted
	for {
		u, err := l.Follow(wait, after, version)
		if err != nil && ctx.Err() != nil && wait != whole {
			wait = whole
			_ = l.Submit(whole, drive.Cancel{By: "user"}) // where it is over already its end follows
			continue
		}
		if err != nil {
			return compacted{}, sessionErr(err)
		}
		version = u.Version
		over := false
		for _, e := range u.Entries {
			after = e.Seq
			if line := compactionLine(e); line != "" {
				tell(line)
			}
			switch ev := e.Event.(type) {
			case session.CheckpointCommitted:
				got = compactedBy(ev, e.Seq)
			case session.CompactionFailed:
				got = failedBy(ev, func(b int) string {
					text, err := l.Session.Load(e.Seq, b)
					if err != nil {
						return err.Error()
					}
					return string(text)
				})
			case session.ToastPosted: // comes behind what it tells
				over = over || ev.Code == "compaction.done" || ev.Code == "compaction.failed" && ev.Args["kind"] != "superseded" // another follows it
			}
		}
		if u.Fault != nil {
			return compacted{}, exit(exitSession, "the session can't be written: %w; what is recorded is kept", u.Fault)
		}
		if over {
			return got, nil
		}
	}
}
