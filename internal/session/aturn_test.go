package session_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"varve/internal/session"
)

// docs/a-turn.md tells a turn by its log lines: they are a session, whole and
// in order, and end idle.
func TestATurnReplays(t *testing.T) {
	page, err := os.ReadFile("../../docs/a-turn.md")
	if err != nil {
		t.Fatal(err)
	}
	fold, prev, n := session.NewFold(), strings.Repeat("0", 32), 0
	for _, block := range strings.Split(string(page), "```jsonl\n")[1:] {
		lines, _, _ := strings.Cut(block, "```")
		for _, l := range strings.Split(strings.TrimSpace(lines), "\n") {
			e, err := session.Decode([]byte(l))
			if err != nil {
				t.Fatalf("%s: %v", l, err)
			}
			if !strings.Contains(l, `"prev":"`+prev+`"`) {
				t.Errorf("event %d: prev is not the line before", e.Seq)
			}
			sum := sha256.Sum256([]byte(l))
			prev = hex.EncodeToString(sum[:16])
			if err := fold.Apply(e); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	s := fold.State(session.MainBranch)
	if n != 17 || s.Branch.Turn != nil || s.Branch.Last.Status != "completed" || s.Branch.Last.Answer.String() != "15" || s.Branch.Run != "" {
		t.Errorf("after %d lines: %+v", n, s.Branch.Last)
	}
	var kinds []string
	for it := range s.Branch.View.All {
		kinds = append(kinds, it.ID.String()+" "+string(it.Kind))
	}
	want := "7 instruction, 6 user, 10 assistant, 10.2 tool_call, 13 tool_result, 15 assistant"
	if got := strings.Join(kinds, ", "); got != want {
		t.Errorf("view: %s, want %s", got, want)
	}
}
