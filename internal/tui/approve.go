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
	question  session.Seq
	call      session.ItemID
	name      string // of the tool
	what      string
	shown     string
	ready     bool   // shown was loaded
	broken    bool   // it can't be: shown says why
	why       string // it is asked in every mode, "" for no such reason
	rule      string // what "session" and "always" would allow, "" for nothing
	scroll    int
	page      int    // lines of it that the last frame showed
	width     int    // of the last frame
	read      int    // lines, from the first on, that were on the screen
	seen      bool   // all of it was on the screen
	ruleShown bool   // and the rule is, whole
	half      string // s or a, pressed once
	saying    bool   // words for the model are being written
	reason    *field // for the model, nil before it is begun
	at        spot   // of the cursor in the reason: line and column of the last frame
	asked     bool   // an answer was sent
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
func (a *approval) key(k tea.KeyPressMsg, keys Keymap) (answerMsg, bool) {
	page := max(a.page, 1)
	if a.asked {
		return answerMsg{}, false
	}
	if a.saying {
		switch k.String() {
		case "enter":
			return a.answer("deny", false), true
		case "esc":
			a.saying = false
		default:
			act, _ := keys.Action(k, InChat) // it is edited as a message is
			a.reason.key(k, act)
		}
		return answerMsg{}, false
	}
	key := k.String()
	sure := a.half == key // pressed once already
	a.half = ""
	switch key {
	case "y", "enter":
		// Nothing is allowed that was not on the screen to its end.
		if a.seen && a.ready {
			return a.answer("once", false), true
		}
		// Nor is anything passed over that was not.
		a.scroll = min(a.scroll+page, a.read)
	case "s", "a":
		// What goes on allowing is asked for twice: no stray letter grants it.
		switch {
		case a.rule == "" || !a.ruleShown || !a.ready:
		case !sure:
			a.half = key
		case key == "s":
			return a.answer("run", false), true
		default:
			return a.answer("always", true), true
		}
	case "n":
		return a.answer("deny", false), true
	case "d":
		a.saying = true
		if a.reason == nil {
			f := newField("")
			a.reason = &f
		}
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

// pages reports whether a key scrolls what is asked.
func (a *approval) pages(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "up", "down", "pgup", "pgdown", "space":
		return true
	}
	return false
}

func (a *approval) answer(what string, keep bool) answerMsg {
	a.asked = true
	m := answerMsg{Answer: drive.Answer{Question: a.question, Answer: what}, keep: keep}
	if what == "run" || what == "always" {
		m.Rule = a.rule
	}
	if what == "deny" && a.reason != nil {
		m.Words = []byte(strings.TrimSpace(a.reason.String()))
	}
	return m
}

// The least that is shown of what is asked: a line, and how many follow.
const leastAsked = 3

// view draws the question in about h lines of width w, and in at most most.
// Where that is little, the keys give way and what is asked does not.
func (a *approval) view(w, h, most int, l look, more int, to keysTo) []string {
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
	out := []string{plain.Truncate(l.ink(inkWarn, "? "+plain.Clean(title))+l.ink(inkDim, "  "+plain.Clean(a.name)), w)}
	if a.why != "" && most > leastAsked+2 {
		out = append(out, l.ink(inkWarn, plain.Truncate("  "+a.why, w)))
	}
	var body []string
	switch {
	case !a.ready && !a.broken:
		body = []string{l.ink(inkDim, "…")}
	case a.what == "diff":
		for _, x := range markdown.Unified(withoutIndex(a.shown), markdown.DiffOptions{Theme: l.markdown, Width: w - 2, Max: 100_000}).Lines {
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
	if w != a.width && to != keysCovered {
		a.width = w
		if !a.seen { // other lines: they are read from the first on
			a.read, a.scroll = 0, 0
		}
	}
	keys := a.keys(w, a.seen, to)
	fit := max(min(len(keys), most-len(out)-leastAsked), 1)
	a.ruleShown = fit == len(keys) && !a.saying && to == keysAnswer // a rule that can't be seen can't be given
	keys = keys[:fit]
	room := max(min(max(h-len(out)-len(keys), leastAsked), most-len(out)-len(keys)), 1)
	a.scroll = max(min(a.scroll, len(body)-room), 0)
	end := min(a.scroll+room, len(body))
	if end < len(body) && room > 1 {
		end-- // the last line says how many follow
	}
	out = append(out, body[a.scroll:end]...)
	if left := len(body) - end; left > 0 && room > 1 {
		out = append(out, l.ink(inkDim, plain.Truncate(fmt.Sprintf("  … %d more %s below (Down, PgDn)", left, plural(left, "line")), w)))
	}
	if to != keysCovered {
		a.look(end, len(body))
	}
	if less := a.keys(w, a.seen, to); len(less) >= len(keys) {
		keys = less[:len(keys)]
	}
	if says := map[keysTo]string{keysWait: wordsWait, keysCovered: wordsCovered}[to]; says != "" {
		// Only what can be pressed is shown. The keys' place is kept, so that
		// nothing else moves when they come.
		keys = append([]string{plain.Truncate(says, w)}, make([]string, len(keys)-1)...)
	}
	a.at.line = len(out)
	for _, k := range keys {
		out = append(out, l.ink(inkDim, k))
	}
	return out
}

// wordsWait stand where the keys will, until letters are answers.
const wordsWait = "The keys answer in a moment · Esc stops the turn"

// wordsCovered stand there while something lies on top, which has the keys.
const wordsCovered = "It can be answered when what lies on top is closed"

// keys are the lines that say what can be pressed.
func (a *approval) keys(w int, seen bool, to keysTo) []string {
	switch {
	case a.saying:
		return a.saysWhy(w)
	case to == keysMessage:
		return plain.Wrap("Letters go to the message below: send it, or clear it (Ctrl+C), to answer · Esc stops the turn", w)
	}
	choices := "y or Enter yes, once · "
	switch {
	case a.broken:
		choices = ""
	case !seen:
		choices = "y or Enter read more · "
	}
	choices += "n no · d no, and say why"
	if a.rule != "" {
		choices += " · s until you quit · a always"
	}
	keys := plain.Wrap(choices+" · Esc stops the turn", w)
	switch {
	case a.rule == "":
	case a.half == "s":
		keys = append(keys, plain.Wrap("s again allows until you quit: "+plain.Visible(a.rule), w)...)
	case a.half == "a":
		keys = append(keys, plain.Wrap("a again allows from now on: "+plain.Visible(a.rule), w)...)
	default:
		keys = append(keys, plain.Wrap("s and a are for: "+plain.Visible(a.rule), w)...)
	}
	return keys
}

// withoutIndex leaves out of a shown diff the line of hashes, which is for
// programs. Nothing else of it is left out.
func withoutIndex(diff string) string {
	head, rest, ok := strings.Cut(diff, "\nindex ")
	if !ok {
		return diff
	}
	_, rest, _ = strings.Cut(rest, "\n")
	return head + "\n" + rest
}

// saysWhy is the reason, which stays on one line, and its keys.
func (a *approval) saysWhy(w int) []string {
	label := "Tell the model why: "
	if w < 2*len(label) {
		label = "Why: "
	}
	row, x := a.reason.view(label, "", w, Theme{})
	a.at.off = x
	return []string{strings.TrimRight(row, " "), plain.Truncate("Enter refuses · Esc goes back", w)}
}

// look notes what a frame shows: the lines up to end, of so many. Only what was
// on the screen without a gap counts as read.
func (a *approval) look(end, of int) {
	a.page = end - a.scroll
	if a.scroll <= a.read {
		a.read = max(a.read, end)
	}
	a.seen = a.seen || a.ready && a.read >= of
}

func plural(n int, one string) string {
	if n == 1 {
		return one
	}
	return one + "s"
}
