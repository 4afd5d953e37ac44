package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/internal/providers/scripted"
)

// Keys of the scenes below.
const (
	keyCtrlO   = "\x0f"
	keyCtrlR   = "\x12"
	keyAltQ    = "\x1bq"
	keyAltDown = "\x1b[1;3B"
)

// The transcript, the queue and the history in the real program.
func TestTranscriptInInterface(t *testing.T) {
	bin := agentBinary(t)
	for _, c := range []struct {
		name string
		play func(*tuiHouse)
	}{
		{"transcript", playTranscript},
		{"queue", playQueue},
		{"history of folders", playHistoryOfFolders},
		{"large paste", playLargePaste},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.play(newTuiHouse(t, bin))
		})
	}
}

// copied waits until a text was handed to the terminal's clipboard.
func (x *tuiTerm) copied(text string) {
	x.t.Helper()
	x.tells("\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)))
}

// A word that was said long ago is searched and found on an older page, the code
// that stands there is copied, and a tool's output is folded by a click.
func playTranscript(h *tuiHouse) { // TUI-3, case TUI-08
	h.server.Handle(func(r scripted.Request) scripted.Reply {
		says := func(s string) scripted.Reply {
			return scripted.Reply{Steps: []scripted.Step{scripted.Role(), scripted.Text(s), scripted.Finish("stop"), scripted.Done()}}
		}
		calls := func(n int, command string) scripted.Step {
			return scripted.Call(n, fmt.Sprintf("call_%d_%d", r.N, n), "bash", fmt.Sprintf(`{"command":%q}`, command), 2)
		}
		switch r.N {
		case 1:
			return says("The marmot lives here:\n\n```sh\nls marmot\nls burrow\n```\n")
		case 2, 3: // many events: they push what was said off the page that is read at first
			steps := []scripted.Step{scripted.Role()}
			for n := range 80 {
				steps = append(steps, calls(n, "true"))
			}
			return scripted.Reply{Steps: append(steps, scripted.Finish("tool_calls"), scripted.Done())}
		case 4:
			return scripted.Reply{Steps: []scripted.Step{scripted.Role(), calls(0, "seq 1 15"), scripted.Finish("tool_calls"), scripted.Done()}}
		}
		return says("That is all.")
	})
	x := h.ready("--mode", "full")
	x.says("where is the marmot?")
	x.sees("The marmot lives here")
	x.says("now work")
	x.sees("That is all.")
	x.quits()
	if n := len(h.entries()); n < 400 {
		h.t.Fatalf("%d events are on one page", n)
	}
	x = h.open("--continue")
	x.sees("That is all.", "bash seq 1 15", "earlier lines")
	x.in(keyCtrlO)
	x.sees("Esc back", "\n  7\n", "\n  15\n")
	x.clicks("bash seq 1 15", "bash seq 1 15")
	x.gone("\n  7\n")
	x.clicks("bash seq 1 15", "bash seq 1 15")
	x.sees("\n  7\n")
	x.in(keyEnter) // the same item, by key
	x.gone("\n  7\n")
	x.in(keyEnter)
	x.sees("\n  7\n")
	x.in("c")                                                                                                                // as it was written: no margin, nothing around it
	x.tells("\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n"))) // its exit code behind
	x.in("/")
	x.sees("search:")
	x.in("MARMOT" + keyEnter)
	x.sees("The marmot lives here", "“MARMOT”: 3 of 3")
	x.in("n")
	x.sees("“MARMOT”: 2 of 3")
	x.in("b")
	x.copied("ls marmot\nls burrow")
	x.in("nc")
	x.copied("where is the marmot?")
	x.in("N")
	x.sees("“MARMOT”: 2 of 3")
	x.in("N")
	x.sees("“MARMOT”: 3 of 3")
	x.in("G")
	x.sees("That is all.")
	x.in(keyEsc)
	x.sees("> Say what you want done", "earlier lines")
	x.in("\x1b[H") // once
	x.sees("▌ where is the marmot?")
	x.quits()
	h.whole()
}

// Three messages wait: the last is moved up, one is removed, one is edited; they
// are sent as they stand then.
func playQueue(h *tuiHouse) { // TUI-5
	x := h.ready()
	x.says("story")
	x.sees("Once upon a time")
	for _, w := range []string{"one", "two", "three"} {
		x.says(w)
		x.sees("queued: " + w)
	}
	x.in(keyAltQ)
	x.sees("What waits (3)", "▸ 3. three")
	x.in(keyAltUp + keyAltUp)
	x.sees("▸ 1. three", "2. one", "3. two")
	x.in("\x1b[B")
	x.sees("▸ 2. one")
	x.in(keyDelete)
	x.sees("What waits (2)", "1. three", "▸ 2. two")
	x.in(keyEnter)
	x.sees("A message that waits")
	x.in(" and a half" + keyEnter)
	x.sees("▸ 2. two and a half")
	x.in(keyEsc)
	x.gone("What waits")
	x.sees("2 queued")
	close(h.gate)
	x.sees("You said: three", "You said: two and a half")
	x.quits()
	var said []string
	for _, r := range h.server.Requests() {
		all := r.Get("messages").Array()
		said = append(said, all[len(all)-1].Get("content").String())
	}
	if got := strings.Join(said, "|"); got != "story|three|two and a half" {
		h.t.Errorf("sent were %s", got)
	}
	h.whole()
}

// What was written in another folder is found with Ctrl+R, behind what was written
// in this one.
func playHistoryOfFolders(h *tuiHouse) { // TUI-4
	other := filepath.Join(h.dir, "..", "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		h.t.Fatal(err)
	}
	x := h.in(h.dir)
	x.says("paint it red")
	x.sees("You said: paint it red")
	x.quits()
	x = h.in(other)
	x.says("paint it blue")
	x.sees("You said: paint it blue")
	x.quits()
	x = h.in(h.dir)
	x.in(keyCtrlR)
	x.sees("search:")
	x.in("paint")
	x.sees("> paint it red")
	x.in(keyCtrlR)
	x.sees("> paint it blue")
	x.in(keyEnter)
	x.gone("search:")
	x.in(keyEnter)
	x.sees("You said: paint it blue")
	x.quits()
}

// A megabyte is pasted and more is typed at once: the model gets every byte of it in
// order, and what is typed while it is on its way is not lost.
func playLargePaste(h *tuiHouse) { // TUI-4, case TUI-02
	var text strings.Builder
	for i := 0; text.Len() < 1<<20; i++ {
		fmt.Fprintf(&text, "%06d: 挨拶 a line of what was pasted, with some words in it\n", i)
	}
	text.WriteString("the last line")
	h.server.Handle(func(scripted.Request) scripted.Reply {
		return scripted.Reply{Steps: []scripted.Step{scripted.Role(), scripted.Text("I have all of it."), scripted.Finish("stop"), scripted.Done()}}
	})
	x := h.ready()
	x.in("look: \x1b[200~" + text.String() + "\x1b[201~ and this")
	x.sees("> look: [", "#1] and this")
	x.in(", please")
	x.sees("and this, please")
	if n := len(h.server.Requests()); n != 0 {
		h.t.Fatalf("a paste sent %d messages", n)
	}
	x.in(keyEnter)
	x.gone("#1]")
	x.in("typed after it")
	x.sees("I have all of it.", "> typed after it")
	all := h.server.Requests()
	if len(all) != 1 {
		h.t.Fatalf("%d requests", len(all))
	}
	messages := all[0].Get("messages").Array()
	got := messages[len(messages)-1].Get("content").String()
	if want := "look: " + text.String() + " and this, please"; got != want {
		h.t.Errorf("the model got %d bytes of %d, equal up to byte %d", len(got), len(want), sameUpTo(got, want))
	}
	x.in(keyCtrlU)
	x.gone("typed after it")
	x.quits()
	h.whole()
}

// sameUpTo is where two texts begin to differ.
func sameUpTo(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}
