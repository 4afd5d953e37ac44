package main

import (
	"fmt"
	"strings"
)

// A message is written with the keys of vi, left, edited and sent; from the normal
// mode Esc Esc opens what can be done with a message.
func playVim(h *tuiHouse) { // TUI-4, TUI-12, SET-1
	h.settings(fmt.Sprintf(`{"model":{"provider":"script","model":"m"},"providers":{"script":{"api":"openai-chat","base_url":%q}},"appearance":{"vim":true}}`, h.server.URL()+"/v1"))
	x := h.ready()
	x.types("please say two words")
	x.in(keyEsc)
	x.sees("N please say two words")
	x.in("0dw")
	x.sees("N say two words")
	x.in("A, no more")
	x.sees("> say two words, no more")
	x.in(keyEsc)
	x.sees("N say two words, no more")
	x.in(keyEnter)
	x.sees("You said: say two words, no more", "> Say what you want done")
	x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == 1 })
	last := h.server.Requests()
	if body := string(last[len(last)-1].Body); !strings.Contains(body, `"say two words, no more"`) || strings.Contains(body, "please") {
		h.t.Errorf("the model was sent %s", body)
	}
	x.in(keyEsc)
	x.sees("N Say what you want done")
	x.in(keyEsc)
	x.sees("Esc again: go back to")
	x.in(keyEsc)
	x.sees("Act on a message of yours")
	x.in(keyEsc)
	x.gone("Act on a message of yours")
	x.in("i")
	x.sees("> Say what you want done")
	x.quits()
	h.whole()
}
