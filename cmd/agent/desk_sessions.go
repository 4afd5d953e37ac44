package main

import (
	"context"
	"time"

	"varve/internal/index"
	"varve/internal/session"
	"varve/internal/tui"
	"varve/internal/words"
)

// What the list of sessions asks for (BRW-1).

// maxSaid is how many messages a search in the list looks at the words of. What
// is behind it is found too, without its line.
const maxSaid = 1000

func (d *desk) Sessions(ctx context.Context) ([]tui.SessionInfo, error) {
	all, err := d.m.sessions(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	out := make([]tui.SessionInfo, len(all))
	for i, s := range all {
		out[i] = tui.SessionInfo{
			ID: s.ID, Title: s.Title, Workspace: s.Workspace, Model: s.Model, Age: ago(s.Changed, now), Size: words.Bytes(s.Size),
			Here: s.Workspace == session.PathKey(d.m.workspace), Open: s.Open, Damage: s.Damage,
		}
	}
	return out, nil
}

// Said finds the sessions of all folders in which a text was said, the newest
// message first.
func (d *desk) Said(ctx context.Context, text string) ([]tui.Saying, string, error) {
	all, err := d.m.sessions(ctx)
	if err != nil {
		return nil, "", err
	}
	q := d.m.query(text)
	q.Limit = maxSaid
	found, err := index.Search(ctx, all, q)
	if err != nil {
		return nil, "", err
	}
	ids, seen := map[string]string{}, map[string]bool{}
	for _, s := range all {
		ids[s.Path] = s.ID
	}
	var out []tui.Saying
	for _, h := range found.Hits {
		if !seen[h.Path] {
			seen[h.Path] = true
			out = append(out, tui.Saying{Session: ids[h.Path], Before: h.Before, Match: h.Match, After: h.After})
		}
	}
	for _, p := range found.Sessions {
		if !seen[p] {
			out = append(out, tui.Saying{Session: ids[p], Before: "(said earlier than what is shown of others)"})
		}
	}
	note := ""
	if n := found.Damaged + found.Lost; n > 0 {
		note = words.Count(n, "place") + " of damaged sessions could not be searched: `agent session repair`"
	}
	return out, note, nil
}
