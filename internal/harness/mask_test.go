package harness

import (
	"strings"
	"testing"

	"varve/internal/session"
)

// The model has its newest result replaced by a reference, and nothing else:
// not one that something stands behind, not the task list, not what it has not
// seen. The payload stays, the next request shares all before it. // CTX-5, PFX-1
func TestMask(t *testing.T) {
	w := newWorld(t,
		calls("bash", `{"command":"printf '%s' a-long-output"}`), calls("mask_tool_result", `{}`), text("One."),
		calls("mask_tool_result", `{}`), text("Two."), // the user's message is the tail
		calls("ls", `{}`, "mask_tool_result", `{}`), text("Three."), // its own reply's result was not seen
		calls("todo", `{"items":[{"content":"look","status":"pending"}]}`), calls("mask_tool_result", `{}`), text("Four."),
		calls("ls", `{}`), calls("mask_tool_result", `{}`, "mask_tool_result", `{}`), text("Five."), // twice
	)
	l := w.start()
	for i, what := range []string{"one", "two", "three", "four", "five"} {
		say(t, l, what)
		ended(t, l, i+1)
	}
	masked, texts := events[session.ItemMasked](t, l)
	if len(masked) != 2 || !strings.Contains(texts[0][0], "the result of call "+masked[0].Call.String()+" of bash, about 12 tokens. The payload is kept") {
		t.Fatalf("%+v %q", masked, texts)
	}
	view := shownView(t, l)
	if strings.Contains(view, "tool_result: a-long-output") || !strings.Contains(view, "tool_result: [masked: item ") {
		t.Error(view)
	}
	if n := strings.Count(view, "not masked: only a tool result that nothin"); n != 2 {
		t.Errorf("%d refusals\n%s", n, view)
	}
	if !strings.Contains(view, "that result is the task list") {
		t.Error(view)
	}
	if !strings.Contains(view, "that result is masked already") {
		t.Error(view)
	}
	raw, _ := known{l.Session, l.State()}.Item(masked[0].Item.String())
	if !strings.HasPrefix(string(raw), "a-long-output") {
		t.Errorf("%q", raw)
	}
	sent, _ := events[session.RequestSent](t, l)
	if b := sent[2].Broke; b == nil || b.Cause != "mask" || b.Item != masked[0].Item {
		t.Errorf("%+v", b)
	}
	for _, body := range w.sent() {
		before, _, _ := strings.Cut(body, "user one")
		if strings.Contains(strings.ReplaceAll(before, `"mask_tool_result"`, ""), "mask") {
			t.Errorf("the prompt speaks of it: %q", before)
		}
	}
}
