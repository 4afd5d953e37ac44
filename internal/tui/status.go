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

// A part of the status line has forms, the longest first; "" is none at all.
type part struct {
	forms []string
	ink   string
	glued bool // no dot before it
}

func (p *part) shown() string { return p.forms[0] }

// statusLine is the line at the bottom: model and who chose it, mode, reasoning,
// branch, git branch, folder; then what goes on, what waits, the context bar, what
// was used (TUI-6). What does not fit becomes shorter or is left out, in a fixed
// order; model and mode stay. What is on the right ends at the edge, so that
// nothing moves there for what comes and goes before it. The branch is named where
// there is more than one (forks).
func statusLine(w int, l look, id Identity, s session.State, forks bool, doing string) string {
	one := func(ink, text string) *part { return &part{forms: []string{text, ""}, ink: ink} }
	model := s.Branch.Model
	if model == (session.Model{}) {
		model = id.Model
	}
	name := &part{forms: []string{oneLine(model.String())}, ink: inkAccent}
	if model == (session.Model{}) {
		name.forms[0] = "no model"
	}
	who := &part{forms: []string{chosenWords(id, s), ""}, ink: inkAccent, glued: true}
	mode := &part{forms: []string{s.Session.Mode}, ink: inkDim}
	if mode.forms[0] == "" {
		mode.forms[0] = id.Mode
	}
	if mode.forms[0] == "full" {
		mode.ink = inkWarn
	}
	reason, branch, git, folder := one(inkDim, ""), one(inkAccent, ""), one(inkDim, ""), one(inkDim, shortPath(id.Workspace, id.Home))
	if s.Branch.Reason != "" {
		reason.forms[0] = "thinks " + oneLine(s.Branch.Reason)
	}
	if b := s.Branch.Name; b != "" && (forks || b != session.MainBranch) {
		branch.forms[0] = "on " + oneLine(b)
	}
	if id.GitBranch != "" {
		git.forms[0] = "git " + oneLine(id.GitBranch)
	}
	does := one(inkAccent, doing)
	queue := &part{forms: []string{queueWords(s.Branch.Queue), "", ""}, ink: inkWarn}
	if n := len(s.Branch.Queue); n > 0 {
		queue.forms[1] = fmt.Sprintf("%d wait", n)
	}
	bar := contextBar(s)
	used := one(inkDim, spent(s, id.Price))

	left, right := []*part{name, who, mode, reason, branch, git, folder}, []*part{does, queue, bar, used}
	gives := []*part{folder, git, reason, used, branch, bar, queue, who, bar, queue, does}
	if id.Script { // said as long as possible (PRV-11)
		gives = []*part{folder, git, reason, used, branch, bar, queue, bar, queue, does, who}
	}
	for {
		a, b := laid(left, l), laid(right, l)
		gap := w - plain.Width(a) - plain.Width(b)
		if gap >= 1 || b == "" && gap >= 0 {
			return a + strings.Repeat(" ", gap) + b
		}
		if n := plain.Width(name.shown()); len(gives) <= giving(id) && n > leastName { // the name gives way, as far as it can be read
			name.forms[0] = plain.Truncate(name.shown(), max(n+gap-1, leastName))
			continue
		}
		if len(gives) == 0 {
			return plain.Truncate(a, w)
		}
		if p := gives[0]; len(p.forms) > 1 {
			p.forms = p.forms[1:]
		}
		gives = gives[1:]
	}
}

// giving is how many pieces stay until the model's name is cut: the last form of
// the bar, the queue and what goes on; with a script its name too.
func giving(id Identity) int {
	if id.Script {
		return 4
	}
	return 3
}

// laid are pieces in a row.
func laid(pieces []*part, l look) string {
	var b strings.Builder
	for _, p := range pieces {
		if p.shown() == "" {
			continue
		}
		if b.Len() > 0 && !p.glued {
			b.WriteString(l.ink(inkDim, " · "))
		}
		b.WriteString(l.ink(p.ink, p.shown()))
	}
	return b.String()
}

// chosenWords say who answers in a model's place, or who chose it where it was not
// the user's own choice.
func chosenWords(id Identity, s session.State) string {
	switch {
	case id.Puppet != "":
		return " (a person)"
	case id.Script:
		return " (a script)"
	}
	switch s.Branch.ChosenBy {
	case "router":
		return " (router)"
	case "flag":
		return " (--model)"
	case "handoff":
		return " (handoff)"
	}
	return ""
}

// doing is what goes on, in a word or two; "" for nothing. It can be seen wherever
// the conversation is scrolled to.
func (r *Root) doing() string {
	switch {
	case r.chat.question != nil:
		return "answer needed"
	case r.fault != "":
		return "not written"
	case r.paused():
		return "left open"
	case working(r.state) && r.state.Branch.Compaction == nil:
		return "working"
	case r.goesOnHere():
		return "summarizing"
	}
	return ""
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
func contextBar(s session.State) *part {
	plainly := func(forms ...string) *part { return &part{forms: append(forms, ""), ink: inkDim} }
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
			return plainly("new", "new")
		}
		if occ.N > unknownWindow {
			return plainly(words.Tokens(occ)+" tokens", words.Tokens(occ))
		}
		return plainly(bar(unknownWindow)+" "+words.Tokens(occ)+" of "+words.Tokens(session.Tokens{N: unknownWindow}), words.Tokens(occ))
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
	number := fmt.Sprintf("%s%d%%", mark, min(percent, 999))
	return &part{forms: []string{bar(room.N) + " " + number + over, number, ""}, ink: ink}
}

// unknownWindow is what the bar is drawn for where no window is known, in tokens
// (CMP-1).
const unknownWindow = 100_000

// spent is what the session has cost, where that is known, and the tokens
// where it is not. What prices say, and no provider, is marked with ~, and so is a
// sum in which requests are missing.
func spent(s session.State, price func(session.UsageOf) (float64, bool)) string {
	cost, tokens, mark := 0.0, 0, ""
	for _, u := range s.Session.Usage {
		tokens += u.Sum.Input + u.Sum.Cached + u.Sum.CacheWrite + u.Sum.Output
	}
	if tokens == 0 {
		return ""
	}
	for _, u := range s.Session.Usage {
		said, known := 0.0, u.Sum.Cost != nil
		if known {
			said = *u.Sum.Cost
			if u.Unknown > 0 { // what those cost nobody said
				mark = "~"
			}
		} else if price != nil {
			said, known = price(u)
			mark = "~"
		}
		if !known {
			return words.Tokens(session.Tokens{N: tokens, By: "provider"}) + " tokens so far"
		}
		cost += said
	}
	return fmt.Sprintf("%s$%.3f", mark, cost)
}
