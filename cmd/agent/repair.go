package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"varve/internal/content"
	"varve/internal/harness"
	"varve/internal/jsonl"
	"varve/internal/session"
	"varve/internal/words"
)

func repairCommand(e *env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "repair ID", Short: "Name in a session what can't be read, so that it can be written again", Args: takes(1, whichSession),
		Long: "Repair looks at every byte of a session and appends one event for each place that can't be read.\n" +
			"No earlier byte changes, and nothing that is lost comes back: what is lost is said.",
		Example: "  agent session repair 0197f3a1",
		RunE: func(c *cobra.Command, args []string) error {
			asJSON, err := c.Flags().GetBool("json")
			if err != nil {
				return err
			}
			m, err := warned(e, f)
			if err != nil {
				return err
			}
			path, err := m.find(args[0])
			if err != nil {
				return err
			}
			return repairSession(c.Context(), e.out, path, content.Open(m.folders.Data), asJSON)
		},
	}
}

// A repairJSON is one place that was named, now or before.
type repairJSON struct {
	Kind   string        `json:"kind"`
	Line   int           `json:"line"`
	From   int64         `json:"from"`
	To     int64         `json:"to"`
	SHA256 string        `json:"sha256"`
	Type   string        `json:"type,omitempty"`
	Lost   []session.Seq `json:"lost,omitempty"`  // the first and the last event that is lost
	Event  session.Seq   `json:"event,omitempty"` // that names a place of before
	words  func() string // what was found, and what it costs
}

// repairSession names what can't be read (LOG-7), and says in one line each
// what that was and what is lost. All that keeps it from doing so is exit 5.
func repairSession(ctx context.Context, w io.Writer, path string, blobs *content.Store, asJSON bool) error {
	s, err := harness.Open(path, blobs, jsonl.Turn, harness.System{})
	if err != nil {
		return sessionErr(err)
	}
	defer s.Close()
	before, err := repairsIn(s)
	if err != nil {
		return sessionErr(err)
	}
	open := unfinished(path)
	named, err := s.Repair(ctx)
	if err == nil {
		err = s.Sync()
	}
	if err != nil {
		if code, ok := signalCode(ctx); ok {
			return exit(code, "interrupted: nothing was repaired")
		}
		if errors.Is(err, jsonl.ErrLocked) {
			return exit(exitSession, "%w%s", err, workingOn(s))
		}
		return exit(exitSession, "%w", err)
	}
	now := []repairJSON{}
	for _, r := range named {
		now = append(now, repairWords(r))
	}
	if asJSON {
		printJSON(w, map[string]any{"session": s.State(session.MainBranch).Session.ID, "repaired": now, "before": before})
		return nil
	}
	for _, r := range now {
		fprintln(w, r.words())
	}
	switch {
	case len(now) == 1:
		fprintln(w, "1 place is named in a new line at the end; no earlier byte has changed. The session can be written again")
	case len(now) > 1:
		fmt.Fprintf(w, "%d places are named in new lines at the end; no earlier byte has changed. The session can be written again\n", len(now))
	case open:
		fprintln(w, "the last line was whole but for its newline, which it has now; there is nothing else to do")
	default:
		fprintln(w, "there is nothing to do: all that this file says can be read")
	}
	if len(before) > 0 {
		fprintln(w, "repaired before:")
		for _, r := range before {
			fprintln(w, r.words())
		}
	}
	return nil
}

// repairWords says what was found, and what is lost.
func repairWords(r harness.Repair) repairJSON {
	j := repairJSON{Kind: string(r.Kind), Line: r.Line, From: r.From, To: r.To, SHA256: r.SHA256, Type: r.Type}
	if r.First > 0 {
		j.Lost = []session.Seq{r.First, r.Last}
	}
	j.words = func() string {
		what := damageIs(r.Kind)
		which := ""
		if r.Type != "" && r.Kind != jsonl.Gap {
			which = ", " + r.Type
		}
		lost := "nothing is lost"
		switch {
		case r.Changed && r.Kind == jsonl.Chain:
			lost = "it counts as it reads now; what it said before is lost"
		case r.Changed:
			lost = fmt.Sprintf("the texts of event %d are lost%s", r.First, which)
		case r.First == 0:
		case r.First == r.Last:
			lost = fmt.Sprintf("event %d is lost%s", r.First, which)
		default:
			lost = fmt.Sprintf("events %d to %d are lost", r.First, r.Last)
		}
		return fmt.Sprintf("line %d, byte %d, %s (%s): %s; %s", r.Line, r.From, words.Count(int(r.To-r.From), "byte"), r.Kind, what, lost)
	}
	return j
}

// damageIs says what a kind of damage is.
func damageIs(k jsonl.Kind) string {
	return map[jsonl.Kind]string{
		jsonl.Torn: "broken off", jsonl.Foreign: "no event of this session", jsonl.Gap: "events are missing before it",
		jsonl.Chain: "changed after it was written",
	}[k]
}

// repairsIn lists what earlier repairs of a session name.
func repairsIn(s *harness.Session) ([]repairJSON, error) {
	out := []repairJSON{}
	for after := session.Seq(0); ; {
		entries, err := s.Entries(after, 1000)
		if err != nil || len(entries) == 0 {
			return out, err
		}
		for _, e := range entries {
			after = e.Seq
			r, ok := e.Event.(session.LogRepaired)
			if !ok {
				continue
			}
			out = append(out, repairOf(e.Seq, r))
		}
	}
}

func repairOf(q session.Seq, r session.LogRepaired) repairJSON {
	return repairJSON{
		Kind: r.Kind, Line: r.Line, From: r.From, To: r.To, SHA256: r.SHA256, Event: q,
		words: func() string {
			return fmt.Sprintf("line %d, byte %d, %s (%s): %s; event %d accounts for it, and nothing is to be done",
				r.Line, r.From, words.Count(int(r.To-r.From), "byte"), words.OneLine(r.Kind), cmp.Or(damageIs(jsonl.Kind(r.Kind)), "damaged"), q)
		},
	}
}

// unfinished reports whether a file's last line has no LF.
func unfinished(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, st.Size()-1)
	return err == nil && last[0] != '\n'
}

// workingOn says which process is known to work on a session: who started a
// run last, and has not ended it.
func workingOn(s *harness.Session) string {
	over := map[string]bool{}
	for before := s.Head() + 1; before > 1; {
		entries, err := s.Before(before, 1000)
		if err != nil || len(entries) == 0 {
			return ""
		}
		before = entries[0].Seq
		for i := len(entries) - 1; i >= 0; i-- {
			switch ev := entries[i].Event.(type) {
			case session.RunEnded:
				over[ev.Run] = true
			case session.RunStarted:
				if !over[ev.Run] {
					return fmt.Sprintf("; process %d on %s works on this session", ev.PID, ev.Host)
				}
			}
		}
	}
	return ""
}
