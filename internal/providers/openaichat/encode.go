package openaichat

import (
	"errors"
	"fmt"
	"slices"

	"varve/internal/providers"
	"varve/internal/session"
)

// An encoder keeps what it encoded, message by message. A message is made
// again only when its items, its place as the first, its ids or the profile
// changed. It also keeps its last walk: what a grown view has in common with
// the one before is compared, and not walked again.
type encoder struct {
	kept   map[key]*kept
	style  style
	head   head
	round  int            // of full walks
	items  []session.Item // of the view at hand
	blocks []providers.Block
	walk   walk
	load   providers.Load
}

// A walk is where the last unit of a view began: a reply with its results, or
// another item. Only that unit can be another one when the view grows.
type walk struct {
	whole  bool
	system []session.Item
	items  []session.Item
	at     int // index of the unit's first item
	blocks int // how many came before it
	check  checker
	seen   ids
}

// A key names a message: the item it begins with, and its part in the
// protocol (a call has a reply's message and, where unanswered, a result's).
type key struct {
	id   session.ItemID
	part byte
}

const (
	partSystem = 's'
	partSaid   = 'u'
	partReply  = 'a'
	partResult = 'r'
	partClosed = 'x' // the result that an unanswered call gets
	partGoOn   = 'c' // what stands between two replies in a row
)

type kept struct {
	items []session.Item
	ids   []string
	first bool
	block providers.Block // no bytes: nothing to send
	shape shape
	round int // the last Encode that used it
}

// A style is what of a profile shows in messages, and whose they are to be.
type style struct {
	asked                            session.Model
	role, reasoning, takes, ids      string
	nullText, toolName, notes, refus bool
}

func (p Profile) style(asked session.Model) style {
	return style{asked, p.Role, p.Reasoning, p.Takes, p.IDs, p.NullText, p.ToolName, p.Notes, p.Refusal}
}

// keepRounds is for how many calls of Encode an unused message is kept: a
// compaction asks about other views in between.
const keepRounds = 8

// Encode makes the blocks of a request: the frame's head, the instructions,
// one block per message, the frame's tail. Where a reply is to follow a reply,
// a literal user message stands between: some servers take a last assistant
// message for a prefill, others refuse it.
func (e *encoder) Encode(ask providers.Ask, load providers.Load) ([]providers.Block, error) {
	if ask.Compact {
		return nil, errors.New("openai-chat has no compaction of its own")
	}
	p, ok := Named(ask.Profile)
	if !ok {
		p = ProfileFor(ask.Model.Provider, "")
	}
	p, drop := p.with(ask.Quirks)
	if s := p.style(ask.Model); s != e.style {
		e.kept, e.style, e.walk = map[key]*kept{}, s, walk{}
	}
	e.load = load
	head, err := e.head.encode(ask, p, drop, load)
	if err != nil {
		return nil, err
	}
	before, prior, spare := e.blocks, e.walk, e.items
	system, grown := e.take(ask)
	e.walk.whole = false
	e.blocks = append(make([]providers.Block, 0, len(before)+16), head)
	from := 0
	if grown || prior.whole && len(e.items) >= prior.at && slices.EqualFunc(system, prior.system, same) &&
		slices.EqualFunc(e.items[:prior.at], prior.items[:prior.at], same) {
		e.blocks = append(e.blocks, before[1:prior.blocks]...)
		for _, id := range e.walk.seen.fresh {
			delete(e.walk.check.used, id)
		}
		e.walk.seen.forget()
		e.walk.check.p = p
		from = prior.at
	} else {
		e.round++
		e.walk = walk{check: newChecker(p), seen: ids{form: p.IDs, used: map[string]bool{}}, items: prior.items}
		if len(system) > 0 {
			if err := e.add(&e.walk.check, partSystem, system, nil); err != nil {
				return nil, err
			}
		}
	}
	if err := e.messages(from, ask.Prompt); err != nil {
		return nil, err
	}
	e.walk.whole, e.walk.system = true, system
	if !grown {
		spare = e.walk.items
	}
	e.items, e.walk.items = spare, e.items
	for k, m := range e.kept {
		if from > 0 {
			break
		}
		if e.round-m.round > keepRounds {
			delete(e.kept, k)
		}
	}
	e.load = nil
	return e.blocks, nil
}

// take reads the view into items, and returns the instructions. Where the view
// is the one before with items behind it, only what may be new is read.
func (e *encoder) take(ask providers.Ask) (system []session.Item, grown bool) {
	if w := &e.walk; w.whole && w.at < len(w.items) && ask.Since != nil {
		if since := ask.Since(w.items[w.at].ID); since != nil {
			e.items = w.items[:w.at]
			for it := range since {
				e.items = append(e.items, it)
			}
			return w.system, true
		}
	}
	e.items = e.items[:0]
	for it := range ask.View {
		if it.Kind == session.InstructionItem {
			system = append(system, it)
		} else {
			e.items = append(e.items, it)
		}
	}
	return system, false
}

// messages walks the view and repairs its pairing (wire.md §1.5): each call
// has its result next to it, and a result without its call is a person's text.
func (e *encoder) messages(from int, prompt []session.Piece) error {
	check, seen := e.walk.check, &e.walk.seen
	items := e.items
	var names []string
	mark := func(i int) { e.walk.at, e.walk.blocks, e.walk.check = i, len(e.blocks), check }
	mark(from)
	for i := from; i < len(items); {
		mark(i)
		seen.fresh = seen.fresh[:0]
		if !ofReply(items[i].Kind) {
			if err := e.add(&check, partSaid, items[i:i+1], nil); err != nil {
				return err
			}
			i++
			continue
		}
		end := i + 1
		for end < len(items) && ofReply(items[end].Kind) && items[end].ID.Seq == items[i].ID.Seq {
			end++
		}
		reply := items[i:end]
		names = names[:0]
		for _, it := range reply {
			if it.Kind == session.CallItem {
				names = append(names, seen.of(it))
			}
		}
		if err := e.add(&check, partReply, reply, names); err != nil {
			return err
		}
		answers := end
		for end < len(items) && items[end].Kind == session.ResultItem {
			end++
		}
		if err := e.results(&check, reply, names, items[answers:end]); err != nil {
			return err
		}
		i = end
	}
	if len(prompt) > 0 {
		if err := e.ask(&check, prompt); err != nil {
			return err
		}
	}
	if check.last == "assistant" || check.last == "" || check.last == check.p.Role {
		if err := e.add(&check, partGoOn, []session.Item{{ID: e.lastItem()}}, nil); err != nil {
			return err
		}
	}
	if err := check.end(); err != nil {
		return err
	}
	e.blocks = append(e.blocks, new(providers.Builder).Lit("]}").Block(session.ItemID{}))
	return nil
}

// ask appends what a summarizer is asked: a message that is made once.
func (e *encoder) ask(check *checker, prompt []session.Piece) error {
	w := new(providers.Builder)
	if len(e.blocks) > 1 {
		w.Lit(",")
	}
	skip := len(w.Block(session.ItemID{}).Bytes)
	w.Lit(`{"role":"user","content":"`)
	for _, p := range prompt {
		if p.At == 0 {
			w.Lit(escaped(p.Lit))
			continue
		}
		b, err := e.load(p.At, p.B)
		if err != nil {
			return fmt.Errorf("text %d of event %d: %w", p.B, p.At, err)
		}
		w.Str(p.At, p.B, b)
	}
	w.Lit(`"}`)
	block := w.Block(session.ItemID{})
	shape, err := shapeOf(block.Bytes[skip:], check.p)
	if err == nil {
		err = check.add(shape)
	}
	if err != nil {
		return fmt.Errorf("internal error: the request would be refused: %w", err)
	}
	e.blocks = append(e.blocks, block)
	return nil
}

// results puts one result behind each call, in call order, then what answers
// no call of the reply.
func (e *encoder) results(check *checker, reply []session.Item, names []string, answers []session.Item) error {
	n := 0
	for i, call := range reply {
		if call.Kind != session.CallItem {
			continue
		}
		id := names[n : n+1]
		n++
		at := slices.IndexFunc(answers, func(r session.Item) bool { return r.Call == call.ID })
		var err error
		if at < 0 {
			err = e.add(check, partClosed, reply[i:i+1], id)
		} else {
			it := answers[at]
			it.Name = call.Name // some vendors want it beside the result
			err = e.add(check, partResult, []session.Item{it}, id)
		}
		if err != nil {
			return err
		}
	}
	for i, r := range answers {
		called := slices.ContainsFunc(reply, func(c session.Item) bool { return c.Kind == session.CallItem && c.ID == r.Call })
		again := slices.ContainsFunc(answers[:i], func(o session.Item) bool { return o.Call == r.Call })
		if !called || again {
			if err := e.add(check, partSaid, answers[i:i+1], nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func ofReply(k session.ItemKind) bool {
	switch k {
	case session.AssistantItem, session.ReasoningItem, session.CallItem, session.NativeItem:
		return true
	}
	return false
}

// add appends one message, kept or new.
func (e *encoder) add(check *checker, part byte, items []session.Item, names []string) error {
	k := key{items[0].ID, part}
	first := len(e.blocks) == 1
	m := e.kept[k]
	if m == nil || m.first != first || !slices.Equal(m.ids, names) || !slices.EqualFunc(m.items, items, same) {
		m = &kept{items: slices.Clone(items), ids: slices.Clone(names), first: first}
		w := writer{Builder: new(providers.Builder), style: e.style, load: e.load}
		if !first {
			w.Lit(",")
		}
		written, err := w.message(part, items, names)
		if err != nil {
			return err
		}
		if written {
			m.block = w.Block(items[0].ID)
			raw := m.block.Bytes
			if !first {
				raw = raw[1:]
			}
			if m.shape, err = shapeOf(raw, check.p); err != nil {
				return fmt.Errorf("item %s: internal error: encoded as no valid message: %w", items[0].ID, err)
			}
		}
		e.kept[k] = m
	}
	m.round = e.round
	if len(m.block.Bytes) == 0 {
		return nil
	}
	if part == partReply && check.last == "assistant" {
		if err := e.add(check, partGoOn, []session.Item{{ID: e.lastItem()}}, nil); err != nil {
			return err
		}
	}
	e.blocks = append(e.blocks, m.block)
	if err := check.add(m.shape); err != nil {
		return fmt.Errorf("item %s: internal error: the request would be refused: %w", items[0].ID, err)
	}
	return nil
}

// lastItem is the item of the block added last.
func (e *encoder) lastItem() session.ItemID { return e.blocks[len(e.blocks)-1].Item }

// same reports whether two items are encoded alike.
func same(a, b session.Item) bool {
	return a.ID == b.ID && a.Kind == b.Kind && a.At == b.At && a.Text == b.Text && a.Call == b.Call && a.CallID == b.CallID &&
		a.Name == b.Name && a.Model == b.Model && a.Marked == b.Marked && a.Failed == b.Failed && slices.Equal(a.Media, b.Media)
}
