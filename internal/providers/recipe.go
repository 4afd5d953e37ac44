package providers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"varve/internal/session"
)

// A Block is one piece of a request body (the frame's head, tools, one
// message, the frame's tail), encoded once, with the steps that make it
// again. It is never changed after it was made.
type Block struct {
	Item  session.ItemID // the item it stands for, zero for the frame
	Bytes []byte
	steps []piece
}

// A piece is a step whose literal has no number yet.
type piece struct {
	lit  []byte
	step session.Step
}

// A Builder makes a block. Its zero value is ready to use.
type Builder struct{ b Block }

// Lit appends bytes that are recorded as they are. Keep them short.
func (w *Builder) Lit(s string) *Builder {
	w.b.Bytes = append(w.b.Bytes, s...)
	if n := len(w.b.steps); n > 0 && w.b.steps[n-1].lit != nil {
		w.b.steps[n-1].lit = append(w.b.steps[n-1].lit, s...)
		return w
	}
	w.b.steps = append(w.b.steps, piece{lit: []byte(s)})
	return w
}

// Raw appends body entry b of the event at q as it is.
func (w *Builder) Raw(q session.Seq, b int, content []byte) *Builder {
	w.b.Bytes = append(w.b.Bytes, content...)
	w.b.steps = append(w.b.steps, piece{step: session.Step{Seq: q, B: b, As: "raw"}})
	return w
}

// Str appends body entry b of the event at q, escaped as the inside of a JSON
// string: the quotes around it are literals.
func (w *Builder) Str(q session.Seq, b int, content []byte) *Builder {
	w.b.Bytes = session.AppendEscaped(w.b.Bytes, content)
	w.b.steps = append(w.b.steps, piece{step: session.Step{Seq: q, B: b, As: "str"}})
	return w
}

// Block returns what was built, for an item or, with a zero id, the frame.
func (w *Builder) Block(item session.ItemID) Block {
	w.b.Item = item
	return w.b
}

// A Body is a whole request, and how to make it again from the log.
type Body struct {
	Bytes    []byte
	SHA256   string
	Shared   int64 // bytes that it begins with as the one before did
	Recipe   []session.Step
	Literals [][]byte
	Whole    bool // it shares all of the one before, but for the frame's tail
}

// Join makes a body of blocks. before is the body sent at from, or nil for
// none. The last block is the frame's tail.
func Join(blocks []Block, before []byte, from session.Seq) Body {
	return new(Joiner).Join(blocks, before, from)
}

// A Joiner makes one body after another. It remembers how far the last one's
// blocks were hashed and compared, so that what a request shares with the one
// before is copied and not looked at again.
type Joiner struct {
	blocks []Block
	body   []byte
	starts []int     // where blocks begin in body, and where it ends
	sum    hash.Hash // of the body up to its last block, nil where not kept
}

// same is how many leading blocks are the very blocks of the last body.
func (j *Joiner) same(blocks []Block) int {
	n := 0
	for n < len(blocks) && n < len(j.blocks) {
		a, b := blocks[n].Bytes, j.blocks[n].Bytes
		if len(a) != len(b) || len(a) == 0 || &a[0] != &b[0] {
			break
		}
		n++
	}
	return n
}

// Join is [Join], for the body after the last one that this Joiner made.
func (j *Joiner) Join(blocks []Block, before []byte, from session.Seq) Body {
	var out Body
	size := 0
	for _, b := range blocks {
		size += len(b.Bytes)
	}
	out.Bytes = make([]byte, 0, size)
	known := j.same(blocks)
	first, shared := 0, 0
	if known > 0 && len(before) > 0 && len(before) == len(j.body) && &before[0] == &j.body[0] {
		first, shared = known, j.starts[known]
	}
	for first < len(blocks) && bytes.HasPrefix(before[shared:], blocks[first].Bytes) {
		shared += len(blocks[first].Bytes)
		first++
	}
	sum, summed := hash.Hash(sha256.New()), 0
	if known > 0 && known == len(j.blocks)-1 && j.sum != nil {
		// It is not asked for again: the next body has more in front of its tail.
		sum, summed = j.sum, j.starts[known]
	}
	starts := j.starts[:min(known, len(j.starts))]
	j.sum = nil
	for i, b := range blocks {
		if i >= known {
			starts = append(starts, len(out.Bytes))
		}
		if i == len(blocks)-1 && summed < len(out.Bytes) {
			// Everything but the tail, which the next body replaces.
			_, _ = sum.Write(out.Bytes[summed:])
			summed = len(out.Bytes)
			if c, ok := sum.(hash.Cloner); ok {
				if kept, err := c.Clone(); err == nil {
					j.sum = kept
				}
			}
		}
		out.Bytes = append(out.Bytes, b.Bytes...)
	}
	_, _ = sum.Write(out.Bytes[summed:])
	if shared > 0 {
		out.Recipe = append(out.Recipe, session.Step{From: from, Take: int64(shared)})
	}
	out.steps(blocks[first:])
	tail := 0
	if n := len(blocks); n > 0 {
		tail = len(blocks[n-1].Bytes)
	}
	out.Whole = shared >= len(before)-tail
	out.Shared = int64(shared)
	out.SHA256 = hex.EncodeToString(sum.Sum(nil))
	j.blocks, j.body, j.starts = blocks, out.Bytes, append(starts, len(out.Bytes))
	return out
}

// steps adds the steps of blocks to the recipe. Literals that stand next to
// each other are one.
func (out *Body) steps(blocks []Block) {
	var lit []byte
	flush := func() {
		if lit != nil {
			n := len(out.Literals)
			out.Recipe = append(out.Recipe, session.Step{L: &n})
			out.Literals = append(out.Literals, lit)
			lit = nil
		}
	}
	for _, b := range blocks {
		for _, p := range b.steps {
			if p.lit != nil {
				lit = append(lit, p.lit...)
				continue
			}
			flush()
			out.Recipe = append(out.Recipe, p.step)
		}
	}
	flush()
}

// ErrRecipe is the kind of a recipe that does not give the recorded body.
var ErrRecipe = errors.New("request can't be rebuilt")

// Rebuild makes the body of a recorded request from the log, in any version
// of the program. sent returns a request's facts and the literals of its body.
func Rebuild(q session.Seq, sent func(session.Seq) (session.RequestSent, [][]byte, error), load Load) ([]byte, error) {
	// The requests that it stands on, newest first; each refers to an earlier
	// one at most.
	type need struct {
		req  session.RequestSent
		lits [][]byte
	}
	var chain []need
	for at := q; at != 0; {
		r, lits, err := sent(at)
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", at, err)
		}
		chain = append(chain, need{r, lits})
		next := session.Seq(0)
		if len(r.Recipe) > 0 && r.Recipe[0].From != 0 {
			next = r.Recipe[0].From
			if next >= at {
				return nil, fmt.Errorf("request %d: recipe refers to %d, which is not earlier: %w", at, next, ErrRecipe)
			}
		}
		at = next
	}
	var body []byte
	for i := len(chain) - 1; i >= 0; i-- {
		var err error
		if body, err = replay(body, chain[i].req.Recipe, chain[i].lits, load); err != nil {
			return nil, err
		}
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != chain[0].req.SHA256 {
		return nil, fmt.Errorf("request %d: hash differs from the recorded one: %w", q, ErrRecipe)
	}
	return body, nil
}

func replay(before []byte, recipe []session.Step, lits [][]byte, load Load) ([]byte, error) {
	var body []byte
	for _, s := range recipe {
		switch {
		case s.From != 0:
			if s.Take > int64(len(before)) {
				return nil, fmt.Errorf("recipe takes %d of %d bytes: %w", s.Take, len(before), ErrRecipe)
			}
			// The one before is not needed any more: go on in its place.
			body = before[:s.Take]
		case s.L != nil:
			if *s.L >= len(lits) {
				return nil, fmt.Errorf("recipe names literal %d of %d: %w", *s.L, len(lits), ErrRecipe)
			}
			body = append(body, lits[*s.L]...)
		default:
			content, err := load(s.Seq, s.B)
			if err != nil {
				return nil, err
			}
			if s.As == "str" {
				body = session.AppendEscaped(body, content)
			} else {
				body = append(body, content...)
			}
		}
	}
	return body, nil
}
