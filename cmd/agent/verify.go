package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"varve/internal/content"
	"varve/internal/harness"
	"varve/internal/jsonl"
	"varve/internal/session"
	"varve/internal/words"
)

// verifySession checks the chain, the references and every content hash, and
// names the first bad byte (LOG-4).
func verifySession(w io.Writer, path, id string, blobs *content.Store, asJSON bool) error {
	refs, missing, repaired := 0, []string{}, []repairJSON{}
	// An export carries its content in its own lines, behind those that name it.
	own, err := harness.Open(path, blobs, jsonl.Never, harness.System{})
	if err != nil {
		return sessionErr(err)
	}
	defer own.Close()
	rep, err := jsonl.Verify(path, func(f *jsonl.File, l jsonl.Line, raw []byte) error {
		e, err := harness.CheckLine(f, raw)
		if err != nil {
			return err
		}
		if ev, ok := e.Event.(session.LogRepaired); ok {
			repaired = append(repaired, repairOf(e.Seq, ev))
		}
		return harness.Refs(raw, func(r session.Ref) {
			refs++
			if b, err := own.Bytes(session.Part{Ref: &r}); err != nil || int64(len(b)) != r.Size {
				if err == nil {
					err = errors.New("its size differs")
				}
				missing = append(missing, fmt.Sprintf("event %d: %v", e.Seq, err))
			}
		})
	})
	if err != nil {
		return sessionErr(err)
	}
	bad := rep.Bad()
	if rep.Events == 0 && len(rep.Damage) == 0 {
		return exit(exitSession, "%s holds no session: its first line is not there", path)
	}
	if asJSON {
		printJSON(w, map[string]any{
			"lines": rep.Lines, "events": rep.Events, "bytes": rep.Bytes, "references": refs, "damage": rep.Damage, "content": missing, "first_bad_byte": bad, "repaired": repaired,
		})
	} else {
		fmt.Fprintf(w, "%s, %s, %s\n", words.Count(rep.Events, "event"), words.Bytes(rep.Bytes), words.Count(refs, "reference"))
		for _, d := range rep.Damage {
			fmt.Fprintf(w, "line %d, bytes %d to %d (%s): %s; the first bad byte is %d\n", d.Line, d.From, d.To, d.Kind, damageIs(d.Kind), d.Bad)
		}
		for _, s := range missing {
			fprintln(w, s)
		}
		for _, r := range repaired {
			fprintln(w, r.words())
		}
		if rep.Piece > 0 {
			if begins, err := beginsEvent(path, rep.Bytes-rep.Piece, rep.Piece); err != nil {
				return sessionErr(err)
			} else if begins {
				fmt.Fprintf(w, "the last %s are a line that is not finished: no damage, the next append accounts for it\n", words.Bytes(rep.Piece))
			} else {
				fmt.Fprintf(w, "the last %s are no event and have no line end: no line is damaged, the next append sets them aside\n", words.Bytes(rep.Piece))
			}
		}
	}
	if len(rep.Damage) > 0 || len(missing) > 0 {
		if bad >= 0 {
			return exit(exitSession, "damaged: the first bad byte is %d; the rest of the session can be read. `agent session repair %s` says what is lost, and then it can be written again", bad, id)
		}
		return exit(exitSession, "damaged: %s lost or changed; the rest of the session can be read", words.Count(len(missing), "blob"))
	}
	if !asJSON && len(repaired) > 0 {
		fprintln(w, "whole: but for what is accounted for, every line follows from the one before it, and every reference and hash is right")
	} else if !asJSON {
		fprintln(w, "whole: every line follows from the one before it, and every reference and hash is right")
	}
	return nil
}

// beginsEvent reports whether the size bytes of a file from at on can be the
// beginning of an event.
func beginsEvent(path string, at, size int64) (bool, error) {
	const start = `{"seq":`
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	b := make([]byte, min(size, int64(len(start))))
	if _, err := f.ReadAt(b, at); err != nil {
		return false, err
	}
	return strings.HasPrefix(start, string(b)), nil
}

func showRequests(w io.Writer, s *harness.Session, n int, asJSON bool) error {
	type row struct {
		N       int            `json:"n"`
		Event   session.Seq    `json:"event"`
		At      time.Time      `json:"at"`
		Purpose string         `json:"purpose"`
		Attempt int            `json:"attempt"`
		Model   string         `json:"model"`
		Bytes   int64          `json:"bytes"`
		Shared  int64          `json:"shared"`
		SHA256  string         `json:"sha256"`
		Broke   *session.Break `json:"broke,omitempty"`
		Purged  bool           `json:"purged,omitempty"` // its bytes can't be made again
	}
	purged := s.Unprintable()
	rows := []row{}
	for after := session.Seq(0); ; {
		entries, err := s.Entries(after, 1000)
		if err != nil {
			return sessionErr(err)
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			after = e.Seq
			if r, ok := e.Event.(session.RequestSent); ok {
				rows = append(rows, row{len(rows) + 1, e.Seq, e.At, r.Purpose, r.Attempt, r.Model.String(), r.Size, r.Shared, r.SHA256, r.Broke, slices.Contains(purged, e.Seq)})
			}
		}
	}
	if n > 0 {
		if n > len(rows) {
			return exit(exitUsage, "there are %s", words.Count(len(rows), "request"))
		}
		if rows[n-1].Purged {
			return exit(exitSession, "request %d carried a text that was purged from this session: it can't be printed byte for byte any more", n)
		}
		b, err := s.Request(rows[n-1].Event)
		if err != nil {
			return sessionErr(err)
		}
		_, err = w.Write(b)
		return err
	}
	if asJSON {
		printJSON(w, rows)
		return nil
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		why := ""
		if r.Broke != nil {
			why = "prefix broke: " + r.Broke.Cause
		}
		if r.Purged {
			why = strings.TrimPrefix(why+", purged: can't be printed", ", ")
		}
		fmt.Fprintf(tw, "%d\t%s\t%s\tattempt %d\t%s\t%d shared\t%s\n", r.N, r.Purpose, oneLine(r.Model), r.Attempt, words.Bytes(r.Bytes), r.Shared, why)
	}
	return tw.Flush()
}
