package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"varve/internal/providers/scripted"
	"varve/internal/tui/plain"
)

// clicks presses and lets go of the mouse on a control of the row that holds a text.
func (x *tuiTerm) clicks(row, control string) {
	x.t.Helper()
	x.sees(row, control)
	for y, line := range strings.Split(x.screen(), "\n") {
		if at := strings.Index(line, control); strings.Contains(line, row) && at >= 0 {
			col := plain.Width(line[:at]) + 1
			x.in(fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%d;%dm", col, y+1, col, y+1))
			return
		}
	}
	x.t.Fatalf("%q has no %q:\n%s", row, control, x.screen())
}

// Two models that summarize are added in Settings, and the second is moved up by
// mouse. After a restart /compact asks them in that order.
func playSettings(h *tuiHouse) { // SET-1, SET-2, SET-3, SUM-1, SUM-7
	const down = "\x1b[B"
	h.settings(fmt.Sprintf(`{"model":{"provider":"script","model":"m"},"providers":{"script":{"api":"openai-chat","base_url":%q,"models":{"cut":{},"small":{}}}},"mine":1}`, h.server.URL()+"/v1"))
	says := func(end, text string) scripted.Reply {
		return scripted.Reply{Steps: []scripted.Step{scripted.Role(), scripted.Text(text), scripted.Finish(end), scripted.Done()}}
	}
	h.server.Handle(func(r scripted.Request) scripted.Reply {
		switch r.Get("model").String() {
		case "cut":
			return says("length", "## Objective\nwords that were cut off")
		case "small":
			return says("stop", "## Objective\nSay hello.\n## Work State\n### Completed\nHello was said.\n## Next Action\nThe end of it.")
		}
		if bytes.Contains(r.Body, []byte("tell me much")) && !bytes.Contains(r.Body, []byte("checkpoint")) {
			return says("stop", "Much was told. "+strings.Repeat("It was so. ", 300))
		}
		return h.model(r)
	})
	x := h.ready("--mode", "full")
	x.says("tell me much")
	x.sees("It was so.")
	x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == 1 })
	x.says("/settings")
	x.sees("Summarization models      same as agent")
	x.in(down + down + keyEnter + down)
	x.sees("▸   + Add summarization model")
	x.in(keyEnter)
	x.in("small") // at once: the picker has the keys
	x.sees("Add a summarization model", "▸ small")
	x.in(keyEnter)
	x.sees("▸   1. script/small", "1 configured")
	x.in(down + keyEnter)
	x.in("cut")
	x.sees("▸ cut")
	x.in(keyEnter)
	x.sees("▸   2. script/cut", "2 configured")
	x.clicks("2. script/cut", "↑")
	x.sees("▸   1. script/cut", "  2. script/small", "Saved: script/cut is number 1.")
	x.in(keyEsc)
	x.gone("Summarization models")
	x.quits()
	doc, err := os.ReadFile(filepath.Join(h.dir, "..", "config", "setup.json"))
	if err != nil || !bytes.Contains(doc, []byte(`"mine":1`)) {
		h.t.Errorf("%v: %s", err, doc)
	}
	x = h.open("--continue")
	x.sees("It was so.")
	x.says("/compact")
	x.sees("── Summarized: ", "Say hello.")
	x.says("/toasts")
	x.sees("Summarizing with script/cut (1/2).", "Summarizing with script/small (2/2).")
	x.in(keyEsc)
	x.gone("Summarizing with script/cut (1/2).")
	x.in("\x1bp") // what was chosen last stands first
	x.sees("Used last", "  script/cut", "script · on this machine", "▸ m ")
	x.in(keyEsc)
	x.gone("Used last")
	x.quits()
	h.whole()
}

// A threshold that is changed while a window is open counts from the next turn on,
// and never inside one: in Settings, and by `config set` in another terminal.
func playThreshold(h *tuiHouse) { // CMP-2, SET-1, SUM-7, PFX-1
	h.settings(fmt.Sprintf(`{"model":{"provider":"script","model":"m"},"providers":{"script":{"api":"openai-chat","base_url":%q}},"context":{"input_limit_tokens":50000}}`, h.server.URL()+"/v1"))
	h.server.Handle(func(r scripted.Request) scripted.Reply {
		says := func(text string) scripted.Reply {
			return scripted.Reply{Steps: []scripted.Step{scripted.Role(), scripted.Text(text), scripted.Finish("stop"), scripted.Done()}}
		}
		switch all := r.Get("messages").Array(); {
		case strings.Contains(all[len(all)-1].Get("content").String(), "## Next Action"):
			return says("## Objective\nSay hello.\n## Work State\n### Completed\nHello was said.\n## Next Action\nThe end of it.")
		case strings.Contains(all[len(all)-1].Get("content").String(), "tell me much"):
			return says("Much was told. " + strings.Repeat("It was so. ", 2000))
		}
		return h.model(r)
	})
	x := h.ready("--mode", "full")
	x.says("tell me much")
	x.sees("It was so.")
	x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == 1 })
	x.says("run until test -e go; do sleep 0.02; done")
	x.await("the command", func() bool { return h.kinds()["tool.started"] == 1 })
	if out, err := h.command("config", "set", "context.compaction.threshold_tokens", "6000").CombinedOutput(); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "go"), nil, 0o600); err != nil {
		h.t.Fatal(err)
	}
	x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == 2 })
	if n := h.kinds()["compaction.started"]; n != 0 {
		h.t.Errorf("%d compactions in a turn that began before the change", n)
	}
	x.says("hello")
	x.sees("Hello, friend.", "── Summarized: ")
	x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == 3 })
	if n := h.kinds()["checkpoint.committed"]; n != 1 {
		h.t.Errorf("%d checkpoints", n)
	}
	x.quits()
	h.whole()
}
