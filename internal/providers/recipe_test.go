package providers

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"varve/internal/session"
)

// PFX-3: whatever one body after another shares, each can be made again byte
// for byte from recipes, and a Joiner that remembers says what one that does
// not remember says.
func TestBodiesAreRebuilt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringMatching(`[a-z"\n\\]{1,9}`), 1, 12).Draw(t, "texts")
		load := func(q session.Seq, b int) ([]byte, error) { return []byte(texts[int(q)-1]), nil }
		made := map[int]Block{}
		block := func(i int) Block {
			if b, ok := made[i]; ok && !rapid.Bool().Draw(t, "anew") {
				return b
			}
			var w Builder
			w.Lit(",").Str(session.Seq(i+1), 0, []byte(texts[i]))
			if i%3 == 0 {
				w.Lit("|").Raw(session.Seq(i+1), 0, []byte(texts[i]))
			}
			made[i] = w.Block(session.Seq(i + 1).Item())
			return made[i]
		}
		head, tail := (&Builder{}).Lit("{").Block(session.ItemID{}), (&Builder{}).Lit("]}").Block(session.ItemID{})
		var j Joiner
		sent := map[session.Seq]session.RequestSent{}
		lits := map[session.Seq][][]byte{}
		var before []byte
		for n := range rapid.IntRange(1, 8).Draw(t, "requests") {
			blocks := []Block{head}
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(texts)-1), 0, 10).Draw(t, "view") {
				blocks = append(blocks, block(i))
			}
			blocks = append(blocks, tail)
			plain := Join(blocks, before, session.Seq(n))
			b := j.Join(blocks, before, session.Seq(n))
			if b.SHA256 != plain.SHA256 || b.Shared != plain.Shared || b.Whole != plain.Whole || !bytes.Equal(b.Bytes, plain.Bytes) {
				t.Fatalf("a Joiner that remembers differs: %+v, %+v", b, plain)
			}
			q := session.Seq(n + 1)
			sent[q] = session.RequestSent{SHA256: b.SHA256, Recipe: b.Recipe}
			lits[q] = b.Literals
			got, err := Rebuild(q, func(q session.Seq) (session.RequestSent, [][]byte, error) { return sent[q], lits[q], nil }, load)
			if err != nil || !bytes.Equal(got, b.Bytes) {
				t.Fatalf("rebuilt %q, %v; sent %q", got, err, b.Bytes)
			}
			before = b.Bytes
		}
	})
}

// PRV-2
func TestSameFamily(t *testing.T) {
	m := func(provider, api, model string) session.Model {
		return session.Model{Provider: provider, API: api, Model: model}
	}
	home := m("p", "openai-chat", "Acme-4.5-mini")
	for _, c := range []struct {
		said session.Model
		want bool
	}{
		{home, true},
		{m("p", "openai-chat", "acme-5"), true},
		{m("p", "openai-chat", "acme4"), true},
		{m("p", "openai-chat", "acme-pro-5"), false},
		{m("p", "openai-chat", "acme"), true},
		{m("p", "openai-chat", "other"), false},
		{m("q", "openai-chat", "Acme-4.5-mini"), false},
		{m("p", "anthropic-messages", "Acme-4.5-mini"), false},
		{session.Model{}, true}, // not recorded
	} {
		if got := SameFamily(c.said, home); got != c.want {
			t.Errorf("%v: %v", c.said, got)
		}
	}
	if SameFamily(m("p", "", "4o"), m("p", "", "5o")) {
		t.Error("a name that begins with a figure has no family but itself")
	}
}

// PFX-3: a recipe that does not give the recorded bytes is an error of its own, never another request.
func TestRebuildChecks(t *testing.T) {
	sha := func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }
	lit := func(i int) *int { return &i }
	sent := map[session.Seq]session.RequestSent{
		2: {SHA256: sha("one two"), Recipe: []session.Step{{L: lit(0)}, {Seq: 1}}},
		3: {SHA256: sha("one three"), Recipe: []session.Step{{From: 2, Take: 4}, {L: lit(1)}}},
		4: {SHA256: sha("another"), Recipe: []session.Step{{From: 2, Take: 4}, {L: lit(1)}}},
		5: {SHA256: sha(""), Recipe: []session.Step{{From: 2, Take: 99}}},
		6: {SHA256: sha(""), Recipe: []session.Step{{L: lit(2)}}},
		7: {SHA256: sha(""), Recipe: []session.Step{{From: 7, Take: 1}}},
		8: {SHA256: sha(""), Recipe: []session.Step{{From: 9, Take: 1}}},
	}
	rebuild := func(q session.Seq) (string, error) {
		b, err := Rebuild(q, func(q session.Seq) (session.RequestSent, [][]byte, error) {
			r, ok := sent[q]
			if !ok {
				return r, nil, errors.New("no such request")
			}
			return r, [][]byte{[]byte("one "), []byte("three")}, nil
		}, func(session.Seq, int) ([]byte, error) { return []byte("two"), nil })
		return string(b), err
	}
	for q, want := range map[session.Seq]string{2: "one two", 3: "one three"} {
		if got, err := rebuild(q); got != want || err != nil {
			t.Errorf("%d: %q %v", q, got, err)
		}
	}
	for q := session.Seq(4); q < 9; q++ {
		if got, err := rebuild(q); !errors.Is(err, ErrRecipe) || got != "" {
			t.Errorf("%d: %q %v", q, got, err)
		}
	}
	if _, err := rebuild(1); err == nil {
		t.Error("a request that was never sent is rebuilt")
	}
}
