package providers

import (
	"bytes"
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
