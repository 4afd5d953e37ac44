package main

import (
	"cmp"
	"context"
	"fmt"
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

// Browse lists the sessions at once as the index knows them, and again whenever
// more is known. Who reads slowly misses lists, never the last one.
func (d *desk) Browse(ctx context.Context) <-chan tui.Browsed {
	out := make(chan tui.Browsed)
	go func() {
		defer close(out)
		for u := range index.Open(d.m.folders.Data, d.m.folders.State).Follow(ctx) {
			select {
			case out <- d.browsed(u):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// browsed is a list as the browser shows it.
func (d *desk) browsed(u index.Update) tui.Browsed {
	d.mu.Lock()
	path, branch, folder := d.path, "", session.PathKey(d.opts.Workspace)
	if d.local != nil {
		path, branch = d.local.Session.Path(), d.local.Branch
	}
	d.mu.Unlock()
	out := tui.Browsed{Sessions: make([]tui.SessionInfo, 0, len(u.Rows)), Waiting: u.Waiting, Err: u.Err}
	now := time.Now()
	for _, s := range u.Rows {
		if s.Gone() {
			continue
		}
		row := tui.SessionInfo{
			ID: s.ID, Title: cmp.Or(s.Title, s.ID), Workspace: s.Workspace, Age: ago(s.Changed, now), Size: words.Bytes(s.Size), Bytes: s.Size,
			Changed: s.Changed, Here: s.Workspace == folder, Shown: s.Path == path, Damage: s.Damage, Whole: s.Whole, Model: s.Model,
			Spent: spent(s.Usage), Messages: s.Messages, Turn: d.m.turnOf(s),
		}
		for _, b := range live(s) {
			row.Branches = append(row.Branches, tui.BranchInfo{
				Name: b.Name, Title: cmp.Or(b.Title, b.First), Age: ago(b.Changed, now), Changed: b.Changed, Model: b.Model,
				Messages: b.Messages, Reverted: b.Reverted, Spent: spent(b.Usage), Turn: d.m.turnIn(s.ID, b.Name, b.Open), Shown: row.Shown && b.Name == branch,
			})
		}
		out.Sessions = append(out.Sessions, row)
	}
	return out
}

// spent is money where all of it is known, else tokens, "" for nothing.
func spent(u index.Usage) string {
	switch n := u.Input + u.Cached + u.CacheWrite + u.Output; {
	case u.Unpriced == 0 && u.Cost > 0:
		return fmt.Sprintf("$%.3f", u.Cost)
	case n > 0:
		return words.Tokens(session.Tokens{N: int(n), By: "provider"}) + " tokens"
	}
	return ""
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
	ids, seen := map[string]string{}, map[string]bool{} // seen: by path, and branch where it is known
	for _, s := range all {
		ids[s.Path] = s.ID
	}
	var out []tui.Saying
	for _, h := range found.Hits {
		if !seen[h.Path] {
			seen[h.Path] = true
			out = append(out, tui.Saying{Session: ids[h.Path], Branch: h.Branch, Before: h.Before, Match: h.Match, After: h.After})
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
