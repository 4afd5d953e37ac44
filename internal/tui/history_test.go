package tui

import (
	"slices"
	"strings"
	"testing"
)

func TestHistoryWalk(t *testing.T) { // TUI-4
	h := []string{"fix the test", "say hi", "fix the build", "one\ntwo", "last"}
	for _, c := range []struct{ keys, want string }{
		{"<up>", "last|"},
		{"<up><up>", "one\ntwo|"},
		{"<up><up><up>", "one|\ntwo"}, // through its rows first
		{"<up><up><up><up>", "fix the build|"},
		{"<up><down>", "|"},
		{"<up><up><down><down>", "|"},
		{"draft<up>", "last|"}, // none begins so: all
		{"draft<up><up><down><down>", "draft|"},
		{"fix<up>", "fix the build|"},
		{"fix<up><up>", "fix the test|"},
		{"fix<up><up><up>", "|fix the test"},
		{"fix<up><up><down><down>", "fix|"},
		{"fix<up>!<down><up>", "fix the build!|"},
		{"<down>", "|"},
		{"ab<left><down>", "ab|"},
		{"<up>x<alt+z><alt+z>", "|"}, // the walk can be undone like an edit
	} {
		d := newDesk(h...)
		d.View(40, 10, NoTheme())
		if d.press(c.keys); d.shown() != c.want {
			t.Errorf("%s gives %q, want %q", c.keys, d.shown(), c.want)
		}
	}
}

func TestHistorySearch(t *testing.T) { // TUI-4
	h := []string{"fix the test", "say hi", "Fix the build", "fix the test"}
	for _, c := range []struct{ keys, want string }{
		{"draft<ctrl+r>", "draft|"},
		{"draft<ctrl+r>fix", "|fix the test"},
		{"draft<ctrl+r>fix<ctrl+r>", "|Fix the build"},
		{"draft<ctrl+r>fix<ctrl+r><ctrl+r>", "|fix the test"},
		{"draft<ctrl+r>fix<ctrl+r><ctrl+r><ctrl+s>", "|Fix the build"},
		{"draft<ctrl+r>build<enter>", "Fix the |build"},
		{"draft<ctrl+r>build<enter>x<alt+z><alt+z>", "draft|"},
		{"draft<ctrl+r>fix<esc>", "draft|"},
		{"draft<ctrl+r>fix<ctrl+c>", "draft|"},
		{"draft<ctrl+r>nothing", "draft|"},
		{"draft<ctrl+r>sayx<backspace>", "|say hi"},
		{"draft<ctrl+r>say<ctrl+u>", "draft|"},
		{"draft<ctrl+r>say<enter><down><down><down>", "draft|"},
		{"<ctrl+r>?", "|"}, // no help: it is searched for
	} {
		d := newDesk(h...)
		d.View(40, 10, NoTheme())
		if acts := d.press(c.keys); d.shown() != c.want || len(acts) > 0 {
			t.Errorf("%s gives %q and %v, want %q", c.keys, d.shown(), acts, c.want)
		}
	}
	d := newDesk(h...)
	d.press("<ctrl+r>")
	if d.Paste("say\nmore"); d.shown() != "|say hi" || !d.Searching() {
		t.Errorf("a paste into the search gives %q", d.shown())
	}
}

func TestHistoryOnDisk(t *testing.T) { // TUI-4: what Add gives, ParseHistory takes
	long := strings.Repeat("pasted\n", 30)
	d := newDesk()
	d.press("look at ")
	d.Paste(long)
	line := d.Sent()
	if line == "" || strings.Contains(line, "\n") {
		t.Fatalf("the line is %q", line)
	}
	e := newDesk("plain text of an older program\nor a person", line, `{"not": "ours"}`, "\x1b[2J")
	var got []string
	for _, h := range e.history.drafts {
		got = append(got, h.Whole())
	}
	if want := []string{"plain text of an older program\nor a person", "look at " + long, `{"not": "ours"}`}; !slices.Equal(got, want) {
		t.Errorf("read %q", got)
	}
	e.press("<up><up>")
	if got, _ := e.Value(); got != "look at "+long {
		t.Errorf("shown %q", got)
	}

	var h History
	for _, s := range []string{"a", "a", "", " \n", "b", "a"} {
		h.Add(Draft{Text: s})
	}
	if h.Len() != 3 {
		t.Errorf("%d kept: repetitions and nothing are not", h.Len())
	}
	if line := h.Add(Draft{Text: strings.Repeat("x", historyLine+1)}); line != "" || h.Len() != 4 {
		t.Error("a very long one is kept in memory only")
	}
	for i := range 2 * historyDepth {
		h.Add(Draft{Text: strings.Repeat("x", i%7+1)})
	}
	if h.Len() != historyDepth {
		t.Errorf("%d kept", h.Len())
	}
}

// The draft that was left for an older message is in the history when that one is sent.
func TestSendingAnOldMessageKeepsTheDraft(t *testing.T) { // TUI-4, case TUI-11
	d := newDesk("older")
	d.press("my draft<up>")
	if d.shown() != "older|" {
		t.Fatalf("shown %q", d.shown())
	}
	d.Sent()
	d.press("<up><up>")
	if d.shown() != "my draft|" {
		t.Errorf("shown %q", d.shown())
	}
}

// The history comes from disk when the composer already works (TUI-1).
func TestHistoryComesLate(t *testing.T) { // TUI-4
	d := newDesk()
	d.press("quick<enter>")
	d.Sent()
	d.press("given up<ctrl+c>")
	line, text := d.Cleared()
	if again, _ := d.Cleared(); line != `{"text":"given up"}` || text != "given up" || again != "" {
		t.Errorf("cleared %q, %q, and again %q", line, text, again)
	}
	d.press("<up>x")
	d.Load(ParseHistory([]string{"old", "older still"}))
	if d.shown() != "given upx|" {
		t.Errorf("shown %q", d.shown())
	}
	d.press("<ctrl+u><ctrl+r>")
	d.Load(ParseHistory(nil))
	d.press("<up><up><up>")
	if d.shown() != "older still|" {
		t.Errorf("shown %q", d.shown())
	}
	// A search that was begun before goes on in what has come.
	d = newDesk()
	d.press("a draft<ctrl+r>til")
	d.Load(ParseHistory([]string{"old", "older still"}))
	if !d.Searching() || d.shown() != "older s|till" {
		t.Errorf("searching %v, shown %q", d.Searching(), d.shown())
	}
	d.press("<esc>")
	if d.shown() != "a draft|" {
		t.Errorf("the draft is %q", d.shown())
	}
}
