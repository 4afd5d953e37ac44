package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// A conversation is summarized by hand: the first of two models is cut off each
// time, the second writes while one looks on. What it wrote is installed and stays
// readable, with all that it stands for; the list that counts is that of setup.json
// as it is now. Then one in a turn, which waits for what runs, and one that hangs.
func playCompaction(h *tuiHouse) { // CMP-9, CMP-12, SUM-7, SUM-8, FIN-4, TUI-7, TUI-8, cases CMP-05, CMP-16, CMP-17, CMP-29
	const list = `,"routing":{"summarization_models":[{"provider":"script","model":"cut"},{"provider":"script","model":"%s"}]}}`
	plain := fmt.Sprintf(`{"model":{"provider":"script","model":"m"},"providers":{"script":{"api":"openai-chat","base_url":%q}}`, h.server.URL()+"/v1")
	says := func(end string, pieces ...scripted.Step) scripted.Reply {
		return scripted.Reply{Steps: append(append([]scripted.Step{scripted.Role()}, pieces...), scripted.Finish(end), scripted.Done())}
	}
	h.server.Handle(func(r scripted.Request) scripted.Reply {
		switch r.Get("model").String() {
		case "cut":
			return says("length", scripted.Text("## Objective\nwords that were cut off"))
		case "small":
			return says("stop", scripted.Text("## Objective\nSay hello.\n"), scripted.Wait(h.gate), scripted.Text("## Work State\n### Completed\nHello was said.\n## Next Action\nThe end of it."))
		case "stuck":
			return says("stop", scripted.Text("## Objective\nIt never"), scripted.Hang())
		}
		if bytes.Contains(r.Body, []byte("tell me much")) && !bytes.Contains(r.Body, []byte("checkpoint")) {
			return says("stop", scripted.Text("Much was told. "+strings.Repeat("It was so. ", 300)))
		}
		return h.model(r)
	})
	x := h.ready("--mode", "full")
	x.says("/compact")
	x.sees("there is nothing to compact yet")
	x.says("tell me much")
	x.sees("It was so.")
	x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == 1 })
	h.settings(plain + fmt.Sprintf(list, "small"))
	x.says("/compact the greeting")
	x.sees("Summarizing with script/cut (1/2).")
	x.sees("Summarizing with script/small (2/2).", "── Summarizing the conversation", "script/small 2/2 · one request", "Say hello.", "Esc stops it")
	if x.shows("words that were cut off") {
		h.t.Errorf("what was cut off is still there:\n%s", x.screen())
	}
	requests := len(h.server.Requests())
	close(h.gate)
	x.sees("── Summarized: ", "Say hello.", "more lines (Ctrl+O)", "Summarized: the next request has ~")
	x.gone("── Summarizing")
	if n := len(h.server.Requests()); n != requests || h.kinds()["turn.ended"] != 1 {
		h.t.Errorf("%d requests after the summary began: it starts nothing", n-requests)
	}
	x.says("hello")
	x.sees("Hello, friend.", "Say hello.") // both above and below it
	all := h.server.Requests()
	if last := all[len(all)-1].Body; !bytes.Contains(last, []byte("Hello was said.")) || bytes.Contains(last, []byte("It was so.")) {
		h.t.Errorf("the next request is %s", last)
	}
	x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == 2 })
	for _, e := range h.entries() { // the list was recorded with the turn that began under it
		if c, ok := e.Event.(session.SessionConfigured); ok && len(c.Summarizers) == 2 && c.Summarizers[1].Model != "small" {
			h.t.Errorf("%v", c.Summarizers)
		}
	}
	if n := h.kinds()["session.configured"]; n != 2 {
		h.t.Errorf("settings were recorded %d times", n)
	}
	x.says("/context")
	x.sees("summary of before", "│ summarized by   1. script/cut")
	x.in(keyEsc)
	x.gone("summary of before")
	x.says("/revert") // a message that a checkpoint covers can be gone back to (BRN-7)
	x.sees("2 · Enter choose", "▸ hello", "  tell me much")
	x.in(keyEsc)
	x.gone("Enter choose")
	// In a turn it waits for the call that runs, and the turn goes on by itself.
	x.says("run until test -e go; do sleep 0.02; done; seq 500")
	x.await("the command", func() bool { return h.kinds()["tool.started"] == 1 })
	x.says("/compact")
	x.sees("▸ queued: summarize the conversation, after what runs now; Esc takes it back")
	if err := os.WriteFile(filepath.Join(h.dir, "go"), nil, 0o600); err != nil {
		h.t.Fatal(err)
	}
	x.await("a second checkpoint", func() bool { return h.kinds()["checkpoint.committed"] == 2 })
	x.sees("I have the result.")
	x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == 3 })
	// One that hangs is stopped by Esc, and not begun again.
	h.settings(plain + strings.Replace(fmt.Sprintf(list, "x"), `"cut"`, `"stuck"`, 1))
	x.says("/compact")
	x.sees("It never")
	x.in(keyEsc)
	x.sees("Summarizing was stopped.")
	x.says("/tree") // BRW-2
	x.sees("◆ checkpoint  ## Objective Say hello.", "· tell me much")
	x.in(keyEsc)
	x.gone("◆ checkpoint")
	x.says("once more")
	x.sees("You said: once more")
	x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == 4 })
	if n := h.kinds(); n["compaction.started"] != 3 || n["compaction.failed"] != 1 {
		h.t.Errorf("%v", n)
	}
	x.quits()
	x = h.open("--continue")
	x.sees("── Summarized: ", "You said: once more", "Summarizing was stopped.")
	x.quits()
	h.whole()
}
