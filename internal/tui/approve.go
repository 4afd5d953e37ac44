package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui/markdown"
	"varve/internal/tui/plain"
)

// An approval is a question that waits for a person. It shows the whole
// command or the whole diff, scrolled where it is long, and nothing in it can
// hide (PERM-2, SEC-11).
type approval struct {
	question session.Seq
	call     session.ItemID
	name     string // of the tool
	what     string
	shown    string
	ready    bool   // shown was loaded
	rule     string // what "session" and "always" would allow, "" for nothing
	scroll   int
	seen     bool   // its end was on the screen
	saying   bool // words for the model are being written
	words    []rune
	asked    bool // an answer was sent
}

// answerMsg is what a person decided.
type answerMsg struct {
	drive.Answer
	keep bool // the rule goes into the settings
}

// waiting lists the questions of a state, in the order of the calls.
func waiting(s session.State) []session.Call {
	var out []session.Call
	if t := s.Branch.Turn; t != nil && t.Cancelled == "" {
		for _, c := range t.Calls {
			if c.Question != 0 && c.Answer == "" && !c.Done {
				out = append(out, c)
			}
		}
	}
	return out
}

// key handles a key. It returns the answer, if that was one.
func (a *approval) key(k tea.KeyPressMsg, page int) (answerMsg, bool) {
	if a.asked {
		return answerMsg{}, false
	}
	if a.saying {
		switch k.String() {
		case "enter":
			return a.answer("deny", false), true
		case "esc":
			a.saying = false
		case "backspace":
			if n := len(a.words); n > 0 {
				a.words = a.words[:n-1]
			}
		default:
			a.words = append(a.words, []rune(k.Text)...)
		}
		return answerMsg{}, false
	}
	switch k.String() {
	case "enter":
		// Enter allows nothing that was not on the screen to its end.
		if a.seen && a.ready {
			return a.answer("once", false), true
		}
		a.scroll += page
	case "y":
		if a.ready {
			return a.answer("once", false), true
		}
	case "s":
		if a.rule != "" && a.ready {
			return a.answer("run", false), true
		}
	case "a":
		if a.rule != "" && a.ready {
			return a.answer("always", true), true
		}
	case "n":
		return a.answer("deny", false), true
	case "d":
		a.saying = true
	case "up", "k":
		a.scroll = max(a.scroll-1, 0)
	case "down", "j":
		a.scroll++
	case "pgup":
		a.scroll = max(a.scroll-page, 0)
	case "pgdown", "space":
		a.scroll += page
	}
	return answerMsg{}, false
}

func (a *approval) answer(what string, keep bool) answerMsg {
	a.asked = true
	m := answerMsg{Answer: drive.Answer{Question: a.question, Answer: what}, keep: keep}
	if what == "run" || what == "always" {
		m.Rule = a.rule
	}
	if what == "deny" {
		m.Words = []byte(strings.TrimSpace(string(a.words)))
	}
	return m
}

// view draws the question in at most h lines of width w.
func (a *approval) view(w, h int, l look, more int) []string {
	title := "Allow this " + a.what + "?"
	switch a.what {
	case "command":
		title = "Run this command?"
	case "diff":
		title = "Make this change?"
	}
	if more > 0 {
		title += fmt.Sprintf("  (%d more after it)", more)
	}
	out := []string{l.ink(inkWarn, "? "+title) + l.ink(inkDim, "  "+a.name)}
	var body []string
	switch {
	case !a.ready:
		body = []string{l.ink(inkDim, "…")}
	case a.what == "diff":
		for _, x := range markdown.Unified(a.shown, markdown.DiffOptions{Theme: l.markdown, Width: w - 2, Max: 100_000}).Lines {
			body = append(body, "  "+x.Text)
		}
	default:
		// The text is already made visible: it is drawn as it stands, hard
		// cut, so that no word wrap can hide a blank.
		for _, s := range strings.Split(a.shown, "\n") {
			for _, part := range plain.Fold(plain.Visible(s), max(w-2, 8)) {
				body = append(body, "  "+part)
			}
		}
	}
	var keys []string
	if a.saying {
		keys = plain.Wrap("Tell the model why: "+plain.Clean(string(a.words))+"▏ (Enter refuses, Esc goes back)", w)
	} else {
		choices := "y once"
		if a.rule != "" {
			choices += " · s this session · a always"
		}
		choices += " · n no · d no, and say why · Esc stop the turn"
		keys = plain.Wrap(choices, w)
		if a.rule != "" {
			keys = append(keys, plain.Wrap("s and a allow: "+plain.Visible(a.rule), w)...)
		}
	}
	room := max(h-len(out)-len(keys), 1)
	a.scroll = max(min(a.scroll, len(body)-room), 0)
	end := min(a.scroll+room, len(body))
	shown := body[a.scroll:end]
	out = append(out, shown...)
	a.seen = a.seen || a.ready && end == len(body)
	if left := len(body) - end; left > 0 && len(shown) > 0 {
		out[len(out)-1] = l.ink(inkDim, fmt.Sprintf("  … %d more lines below (Down, PgDn)", left+1))
	}
	for _, k := range keys {
		out = append(out, l.ink(inkDim, k))
	}
	return out
}
