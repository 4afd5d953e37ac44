package compact

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"varve/internal/session"
)

// A section is one that a handoff has (CMP-6). Headings are matched loosely: a
// word of it is enough.
type section struct {
	title string
	words []string
	must  bool
}

var sections = []section{
	{"Objective", []string{"objective", "goal"}, true},
	{"Constraints", []string{"constraint"}, false},
	{"Decisions and Evidence", []string{"decision", "evidence"}, false},
	{"Invalidations", []string{"invalidat", "superseded"}, false},
	{"Work State", []string{"work state", "progress", "status"}, true},
	{"Next Action", []string{"next action", "next step"}, true},
	{"Files", []string{"file"}, false},
	{"Code & Anchors", []string{"code", "anchor"}, false},
}

// Missing names the sections without which a text is no handoff.
func Missing(text []byte) []string {
	at := places(text)
	var out []string
	for i, s := range sections {
		if s.must && at[i] < 0 {
			out = append(out, s.title)
		}
	}
	return out
}

// Omitted names the other sections that a text does not have.
func Omitted(text []byte) []string {
	at := places(text)
	var out []string
	for i, s := range sections {
		if !s.must && at[i] < 0 {
			out = append(out, s.title)
		}
	}
	return out
}

// Fill adds the other sections that are missing, empty, each at its place.
func Fill(text []byte) []byte {
	text = bytes.Clone(bytes.TrimSpace(text))
	for i, s := range sections {
		at := places(text)
		if at[i] >= 0 {
			continue
		}
		put := len(text)
		for _, next := range at[i+1:] {
			if next >= 0 {
				put = min(put, next)
			}
		}
		head := "## " + s.title + "\n\n"
		if put == len(text) {
			text = append(bytes.TrimRight(text, "\n"), "\n\n"+strings.TrimRight(head, "\n")...)
		} else {
			text = slices.Insert(slices.Clone(text), put, []byte(head)...)
		}
	}
	return text
}

// places are the byte offsets of the first heading of each section, -1 for
// none.
func places(text []byte) []int {
	out := make([]int, len(sections))
	for i := range out {
		out[i] = -1
	}
	fence, off := "", 0
	for line := range bytes.Lines(text) {
		at := off
		off += len(line)
		s := strings.TrimSpace(string(line))
		title, ok := heading(s)
		switch mark := fenceOf(s); {
		case fence == "":
			fence = mark
		case strings.HasPrefix(mark, fence) && mark == s:
			fence = ""
		}
		if fence != "" || !ok {
			continue
		}
		if i := sectionOf(title); i >= 0 && out[i] < 0 {
			out[i] = at
		}
	}
	return out
}

// sectionOf is the section that a title names first, -1 for none.
func sectionOf(title string) int {
	best, first := -1, len(title)
	for i, s := range sections {
		for _, w := range s.words {
			if at := strings.Index(title, w); at >= 0 && at < first {
				best, first = i, at
			}
		}
	}
	return best
}

// fenceOf is what a line of Markdown opens a block of code with, or "".
func fenceOf(s string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(s) - len(strings.TrimLeft(s, c)); n >= 3 && (c == "~" || !strings.Contains(s[n:], c)) {
			return s[:n]
		}
	}
	return ""
}

// heading is the title of a line that is one, in lower case: `# …`, or a line
// in bold.
func heading(s string) (string, bool) {
	t := strings.TrimLeft(s, "#")
	level := len(s) - len(t)
	switch {
	case level > 0 && level < 4:
	case level == 0 && len(s) > 4 && strings.HasPrefix(s, "**") && strings.HasSuffix(strings.TrimRight(s, ":"), "**"):
	default:
		return "", false
	}
	return strings.ToLower(strings.Trim(t, " \t*:_.")), true
}

// Notes are what the application itself knows of a handoff, and adds (CMP-6).
type Notes struct {
	Ranges []session.Range
	Read   bool           // the model can read items again
	Asked  session.ItemID // the user's message of a turn that what is kept begins in, see [Severed]
	Begun  session.ItemID // a user's message that is kept though work on it is covered, see [Begun]
	Left   []string       // sections that the summarizer left out, see [Omitted]
	Stale  []string       // files that have changed since they were observed
	Gone   []string       // tools
}

// Severed is the user's message of the turn that what is not covered begins in the
// middle of, zero where it begins with its own.
func Severed(v session.View, covered []session.Range) session.ItemID {
	for it := range v.Refs {
		switch it.Kind {
		case session.InstructionItem, session.CheckpointItem, session.PlanKind, session.CatalogItem:
			continue
		}
		if session.Within(covered, it.ID) {
			continue
		}
		if asked := it.Turn.Item(); it.Kind != session.UserItem && it.Turn != 0 && session.Within(covered, asked) {
			return asked
		}
		break
	}
	return session.ItemID{}
}

// Begun is the last user's message that stays while something that was done for it is
// covered, zero where there is none.
func Begun(v session.View, covered []session.Range) (message session.ItemID) {
	for it := range v.Refs {
		if it.Kind == session.UserItem || it.Turn == 0 || !session.Within(covered, it.ID) {
			continue
		}
		if asked := it.Turn.Item(); !session.Within(covered, asked) && message.Before(asked) {
			message = asked
		}
	}
	return message
}

// Annotate says before a handoff what it is, and puts the notes behind it. What is
// measured and installed is the whole.
func Annotate(text []byte, n Notes) []byte {
	var b bytes.Buffer
	b.WriteString(session.HandoffIs)
	b.Write(bytes.TrimSpace(text))
	b.WriteString("\n\n---\nAdded by the application, not by the summarizer:\n")
	list := make([]string, len(n.Ranges))
	for i, r := range n.Ranges {
		list[i] = r.From.String()
		if r.To != r.From {
			list[i] += "-" + r.To.String()
		}
	}
	if len(list) > 12 {
		list = append(list[:11], fmt.Sprintf("… %s", list[len(list)-1]))
	}
	fmt.Fprintf(&b, "- This stands for items %s of the conversation. They are kept, and not shown.", strings.Join(list, ", "))
	if k := len(n.Ranges); n.Read && k > 0 {
		fmt.Fprintf(&b, " To see them again: read with file_path \"item:%s-%s\" lists them, \"item:N\" reads number N.", n.Ranges[0].From, n.Ranges[k-1].To)
	}
	b.WriteString("\n")
	if !n.Asked.IsZero() {
		fmt.Fprintf(&b, "- What follows begins in the middle of a turn. The user's message of it is item %s.\n", n.Asked)
	}
	if !n.Begun.IsZero() {
		fmt.Fprintf(&b, "- The user's message %s follows in full. What was done for it until here is in the summary: go on from there, and do none of it again.\n", n.Begun)
	}
	if len(n.Left) > 0 {
		fmt.Fprintf(&b, "- Left out by the summarizer, and empty above: %s. There may have been some.\n", strings.Join(n.Left, ", "))
	}
	for _, f := range n.Stale {
		if strings.ContainsFunc(f, unicode.IsControl) {
			f = strconv.Quote(f)
		}
		fmt.Fprintf(&b, "- Stale: %s has changed since it was read. Read it again before relying on it.\n", f)
	}
	for _, t := range n.Gone {
		fmt.Fprintf(&b, "- The tool %s is not available any more.\n", t)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
