package drive

import (
	"bytes"
	"slices"
	"strings"

	"varve/internal/session"
)

// Input: what a person says, and what waits until it can be taken (CTX-3).

func say(s session.State, env Env, c Say) ([]session.Fact, error) {
	if len(bytes.TrimSpace(c.Text)) == 0 && len(c.Media) == 0 {
		return nil, ErrEmpty
	}
	body := append([]session.Part{{Bytes: c.Text}}, c.Refs...)
	t := s.Branch.Turn
	size := session.Estimate(len(c.Text))
	switch {
	case t == nil:
		return []session.Fact{{Event: session.UserSaid{Via: "prompt", Media: c.Media, Text: &session.Text{B: 0}, Tokens: size}, Body: body}}, nil
	case paused(s, env):
		// A message is one of the acts that go on with a paused turn (LOG-14).
		f := facts(session.TurnResumed{Turn: t.ID, Run: env.Run})
		return append(f, session.Fact{Event: session.InputQueued{Kind: "steer", Media: c.Media, Tokens: size}, Body: body}), nil
	case c.Steer:
		return []session.Fact{{Event: session.InputQueued{Kind: "steer", Media: c.Media, Tokens: size}, Body: body}}, nil
	}
	return []session.Fact{{Event: session.InputQueued{Kind: "queue", Media: c.Media, Tokens: size}, Body: body}}, nil
}

// shellStarted is the code of the toast that a command of the user's own begins
// with. It is shown where the command did not end.
const shellStarted = "shell.started"

// shellRuns names the command by its first line: all of it comes with its end.
func shellRuns(c Runs) []session.Fact {
	line, _, _ := strings.Cut(string(c.Command), "\n")
	if r := []rune(line); len(r) > 200 {
		line = string(r[:200]) + "…"
	}
	return facts(session.ToastPosted{Level: "info", Code: shellStarted, Args: map[string]string{"command": strings.ToValidUTF8(line, "�")}})
}

func shellRan(c Ran) []session.Fact {
	b := slices.Concat([]byte("$ "), c.Command, []byte("\n"), c.Output)
	ran := text(session.ShellRan{Exit: c.Exit, DurationMS: c.DurationMS, Watched: c.Watched, Tokens: session.Estimate(len(b))}, b)
	return append(slices.Clone(c.Files), ran)
}

// queued changes what waits. Entries that were taken meanwhile are gone.
func queued(s session.State, cmd Command) ([]session.Fact, error) {
	has := func(entry session.Seq) bool {
		return slices.ContainsFunc(s.Branch.Queue, func(q session.Queued) bool { return q.ID == entry })
	}
	switch c := cmd.(type) {
	case EditQueued:
		if !has(c.Entry) {
			return nil, ErrGone
		}
		return []session.Fact{text(session.InputEdited{Entry: c.Entry, Tokens: session.Estimate(len(c.Text))}, c.Text)}, nil
	case MoveQueued:
		if !has(c.Entry) || c.Before != 0 && !has(c.Before) {
			return nil, ErrGone
		}
		return facts(session.InputMoved{Entry: c.Entry, Before: c.Before}), nil
	case RemoveQueued:
		if !has(c.Entry) {
			return nil, ErrGone
		}
		return facts(session.InputRemoved{Entry: c.Entry}), nil
	case SendHeld:
		if !has(c.Entry) {
			return nil, ErrGone
		}
		if s.Branch.Turn != nil {
			return nil, ErrBusy
		}
		return facts(taken(s, c.Entry, "queue", 0)), nil
	}
	return nil, ErrNothing
}

// taken is a queued entry becoming a message. Its text stays where it stands:
// in the entry, as last edited.
func taken(s session.State, entry session.Seq, via string, turn session.Seq) session.UserSaid {
	i := slices.IndexFunc(s.Branch.Queue, func(q session.Queued) bool { return q.ID == entry })
	q := s.Branch.Queue[i]
	return session.UserSaid{Turn: turn, Via: via, Entry: entry, Media: q.Media, Tokens: q.Tokens}
}

// take opens the next turn with the first entry that waits. Entries that were
// there when a turn ended badly are held: nobody wants them sent into the same
// wall, or after an interrupt.
func take(s session.State, env Env) []session.Fact {
	var hold []session.Seq
	for _, q := range s.Branch.Queue {
		if q.Held {
			continue
		}
		if s.Branch.Last.Status != "completed" && q.ID < s.Branch.Last.Since {
			hold = append(hold, q.ID)
		}
	}
	if len(hold) > 0 {
		return facts(session.InputHeld{Entries: hold})
	}
	for _, q := range s.Branch.Queue {
		if !q.Held {
			return facts(taken(s, q.ID, "queue", 0))
		}
	}
	return nil
}

// steer takes what was said for this turn, at the boundary before its next
// request.
func steer(s session.State, env Env, t session.Turn) []session.Fact {
	if t.Open.Seq != 0 || open(t.Calls) {
		return nil
	}
	for _, q := range s.Branch.Queue {
		if q.Kind == "steer" && !q.Held {
			return facts(taken(s, q.ID, "steer", t.ID))
		}
	}
	return nil
}
