package tui

import (
	"fmt"
	"path/filepath"
	"strings"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// statusLine is the line at the bottom: model, mode, branch, the context bar,
// what is used, what waits (TUI-6). What does not fit is left out from the
// least important on. The branch is named where there is more than one (forks).
func statusLine(w int, l look, id Identity, s session.State, forks bool) string {
	model := s.Branch.Model
	if model == (session.Model{}) {
		model = id.Model
	}
	name := model.String()
	if model == (session.Model{}) {
		name = "no model"
	}
	script := ""
	if id.Script {
		script = " (a script)"
	}
	mode := s.Session.Mode
	if mode == "" {
		mode = id.Mode
	}
	inkMode := inkDim
	if mode == "full" {
		inkMode = inkWarn
	}
	name = oneLine(name)
	left := []string{l.ink(inkAccent, name+script), l.ink(inkMode, mode)}
	if b := s.Branch.Name; b != "" && (forks || b != session.MainBranch) {
		left = append(left, l.ink(inkAccent, "branch "+oneLine(b)))
	}
	if id.GitBranch != "" {
		left = append(left, l.ink(inkDim, "⎇ "+oneLine(id.GitBranch)))
	}
	left = append(left, l.ink(inkDim, shortPath(id.Workspace, id.Home)))

	right := []string{contextBar(l, s)}
	if q := queueWords(s.Branch.Queue); q != "" {
		right = append([]string{l.ink(inkWarn, q)}, right...)
	}
	if c := spent(s); c != "" {
		right = append(right, l.ink(inkDim, c))
	}
	for {
		a, b := strings.Join(left, l.ink(inkDim, " · ")), strings.Join(right, l.ink(inkDim, " · "))
		gap := w - plain.Width(a) - plain.Width(b)
		switch {
		case gap >= 1:
			return a + strings.Repeat(" ", gap) + b
		case len(left) > 2:
			left = left[:len(left)-1]
		case len(right) > 1:
			right = right[:len(right)-1]
		default:
			// The model's name gives way, as far as it can be read; then what is used.
			room := w - plain.Width(script) - plain.Width(" · "+mode)
			if keep := room - 1 - plain.Width(b); keep >= leastName {
				room = keep
			} else {
				b = ""
			}
			a = l.ink(inkAccent, plain.Truncate(name, max(room, leastName))+script) + l.ink(inkDim, " · ") + l.ink(inkMode, mode)
			if gap = w - plain.Width(a) - plain.Width(b); gap < 0 {
				return plain.Truncate(a, w)
			}
			return a + strings.Repeat(" ", gap) + b
		}
	}
}

// leastName is how many columns of a model's name are shown before other things
// are left out for it.
const leastName = 10

// queueWords count what waits: for the next turns, and for this one.
func queueWords(queue []session.Queued) string {
	queued, steering := 0, 0
	for _, q := range queue {
		if q.Kind == "steer" && !q.Held {
			steering++
		} else {
			queued++
		}
	}
	var out []string
	if queued > 0 {
		out = append(out, fmt.Sprintf("%d queued", queued))
	}
	if steering > 0 {
		out = append(out, fmt.Sprintf("%d steering", steering))
	}
	return strings.Join(out, ", ")
}

func shortPath(path, home string) string {
	if home != "" && (path == home || strings.HasPrefix(path, home+string(filepath.Separator))) {
		path = "~" + strings.TrimPrefix(path, home)
	}
	return oneLine(path)
}

// contextBar is how full the window is, with a mark where a compaction begins
// by itself. Estimates are marked with ~ (CTX-6); where the window is not known
// the bar is drawn for one, and says so (CMP-1). What is over is never just full.
func contextBar(l look, s session.State) string {
	const cells = 8
	occ := s.Occupancy()
	room, trigger := drive.Room(s)
	bar := func(of int) string {
		full := min((occ.N*cells+of/2)/of, cells)
		out := strings.Repeat("▰", full) + strings.Repeat("▱", cells-full)
		if trigger <= 0 || trigger > of {
			return out
		}
		r, at := []rune(out), min((trigger*cells+of/2)/of, cells)
		return string(r[:at]) + "╎" + string(r[at:])
	}
	if room.N <= 0 {
		if occ.N == 0 {
			return l.ink(inkDim, "new")
		}
		if occ.N > unknownWindow {
			return l.ink(inkDim, words.Tokens(occ)+" tokens")
		}
		return l.ink(inkDim, bar(unknownWindow)+" "+words.Tokens(occ)+" of "+words.Tokens(session.Tokens{N: unknownWindow}))
	}
	percent := occ.N * 100 / room.N
	ink := inkDim
	switch {
	case percent >= 95:
		ink = inkError
	case percent >= 75, trigger > 0 && occ.N >= trigger*9/10:
		ink = inkWarn
	}
	mark, over := "", ""
	if occ.By != "provider" {
		mark = "~"
	}
	if percent > 100 {
		over = " too much"
	}
	return l.ink(ink, bar(room.N)+fmt.Sprintf(" %s%d%%%s", mark, min(percent, 999), over))
}

// unknownWindow is what the bar is drawn for where no window is known, in tokens
// (CMP-1).
const unknownWindow = 100_000

// spent is what the session has cost, where that is known, and the tokens
// where it is not.
func spent(s session.State) string {
	cost, tokens, unknown := 0.0, 0, false
	for _, u := range s.Session.Usage {
		tokens += u.Sum.Input + u.Sum.Cached + u.Sum.CacheWrite + u.Sum.Output
		if u.Sum.Cost == nil {
			unknown = true
		} else {
			cost += *u.Sum.Cost
		}
	}
	switch {
	case tokens == 0:
		return ""
	case unknown:
		return words.Tokens(session.Tokens{N: tokens, By: "provider"}) + " used"
	}
	return fmt.Sprintf("$%.3f", cost)
}
