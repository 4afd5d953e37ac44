package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/internal/session"
)

// fact is an event of a branch with its texts.
func fact(branch string, e session.Event, texts ...string) session.Fact {
	f := session.Fact{Branch: branch, Event: e}
	for _, s := range texts {
		f.Body = append(f.Body, session.Part{Bytes: []byte(s)})
	}
	return f
}

// A chain makes the lines of a file, one after the other.
type chain struct {
	seq  int
	prev string
}

func (c *chain) line(t testing.TB, f session.Fact) string {
	t.Helper()
	if c.prev == "" {
		c.prev = strings.Repeat("0", 32)
	}
	c.seq++
	rest, err := session.EncodeRest(f, time.Date(2026, 11, 30, 12, c.seq, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return c.raw(string(rest))
}

// raw is a line whose rest was not written by us.
func (c *chain) raw(rest string) string {
	line := fmt.Sprintf(`{"seq":%d,"prev":"%s",%s`, c.seq, c.prev, rest)
	sum := sha256.Sum256([]byte(line))
	c.prev = hex.EncodeToString(sum[:16])
	return line + "\n"
}

func linesOf(t testing.TB, facts ...session.Fact) string {
	t.Helper()
	c := &chain{}
	var out strings.Builder
	for _, f := range facts {
		out.WriteString(c.line(t, f))
	}
	return out.String()
}

func put(t testing.TB, dir, id, text string) string {
	t.Helper()
	path := filepath.Join(dir, "sessions", "w", id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func appendTo(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// forge changes bytes of a file and leaves its size and time alone.
func forge(t testing.TB, path, from, to string) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(from) != len(to) || !bytes.Contains(b, []byte(from)) {
		t.Fatalf("%q can't become %q", from, to)
	}
	if err := os.WriteFile(path, bytes.Replace(b, []byte(from), []byte(to), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
}

func price(f float64) *float64 { return &f }

func model(name string) session.ModelChosen {
	return session.ModelChosen{Model: session.Model{Provider: "p", API: "openai-chat", Model: name}, By: "user"}
}

func answer(cost *float64) session.ReplyCompleted {
	return session.ReplyCompleted{
		Finish: "natural", Usage: &session.Usage{Input: 10, Cached: 5, Output: 3, Cost: cost},
		Parts: []session.ReplyPart{{Kind: "assistant"}},
	}
}

// branchy is a session with a fork, a revert, a rollback and a deleted branch.
func branchy() []session.Fact {
	to := func(branch string, at session.Seq) session.Reference {
		return session.Reference{Branch: branch, Seq: at, Select: "before"}
	}
	return []session.Fact{
		fact("main", session.SessionCreated{Format: 1, ID: "x", Workspace: "/w", Program: "test"}),
		fact("main", model("one")),                                                                   // 2
		fact("main", said, "first words"),                                                            // 3
		fact("main", answer(price(0.25)), "an answer"),                                               // 4
		fact("main", session.TurnEnded{Turn: 3}),                                                     // 5
		fact("main", model("two")),                                                                   // 6
		fact("main", said, "second words"),                                                           // 7
		fact("main", answer(nil), "another answer"),                                                  // 8
		fact("main", session.TurnEnded{Turn: 7}),                                                     // 9
		fact("b2", session.BranchCreated{Name: "b2", From: to("main", 7), Purpose: "fork"}),          // 10: the model is two
		fact("b3", session.BranchCreated{Name: "b3", From: to("main", 3), Purpose: "fork"}),          // 11: the model is one
		fact("b2", session.BranchRenamed{}, "the other way"),                                         // 12
		fact("b2", said, "on the branch"),                                                            // 13: left open
		fact("b3", said, "to be deleted"),                                                            // 14
		fact("b3", session.BranchDeleted{}),                                                          // 15
		fact("main", session.BranchReverted{To: to("main", 3), Left: 9, Label: "v1"}, "first words"), // 16: one
		fact("main", session.ShellRan{}, "$ ls"),                                                     // 17
		fact("main", session.BranchRolledBack{Label: "v1", To: 9, Left: 17}),                         // 18: two
		fact("main", session.SessionRenamed{By: "user"}, "A name"),                                   // 19
		fact("main", session.ReplyRejected{Class: "stalled", Usage: &session.Usage{Input: 1}}),       // 20
	}
}
