package openaichat

import (
	"strings"
	"testing"

	"varve/internal/providers"
	"varve/internal/session"
)

// The encoder gives nothing out that a vendor would refuse, should it ever make it: not
// the frame, not a message, not their order. // PRV-4
func TestEncoderChecksItself(t *testing.T) {
	read := providers.ToolSpec{Name: "read", Schema: []byte(`{"type":"object"}`)}
	twice, err := Adapter{}.Tools([]providers.ToolSpec{read, read})
	if err != nil {
		t.Fatal(err)
	}
	load := func(session.Seq, int) ([]byte, error) { return twice, nil }
	p, _ := Named("generic")
	user := []session.Item{{ID: session.ItemID{Seq: 7, Part: 1}, Kind: session.UserItem}}
	adds := func(c checker, st style) error {
		e := &encoder{kept: map[key]*kept{}, style: st, load: load}
		return e.add(&c, partSaid, user, nil)
	}
	open, strict := newChecker(p), newChecker(p)
	open.open = []string{"c1"}
	strict.p.Role = "developer"
	_, frame := Adapter{}.NewEncoder().Encode(providers.Ask{Model: session.Model{Model: "m"}, Tools: []session.Tools{{At: 1}}, View: func(func(session.Item) bool) {}}, load)
	e := &encoder{kept: map[key]*kept{}, style: style{role: "system"}, load: load}
	for what, c := range map[string]struct {
		err  error
		want string
	}{
		"nothing":   {adds(newChecker(p), style{}), ""},
		"the frame": {frame, "would be refused: tools: a name stands twice"},
		"an order":  {adds(open, style{}), "would be refused: user message before the result of call c1"},
		"a message": {e.add(&strict, partSystem, user, nil), "encoded as no valid message: role system: "},
	} {
		if (c.err == nil) != (c.want == "") || c.err != nil && !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v", what, c.err)
		}
	}
}
