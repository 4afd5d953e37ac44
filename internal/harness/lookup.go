package harness

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"varve/internal/session"
)

// What the model reads again of its own conversation (TOOL-2): the rest of a
// result, and what a checkpoint stands for. Nothing of other branches, and nothing
// that was replaced or removed (MR-5, RPR-2).

// mostListed is how many items one list names.
const mostListed = 1000

// Item reads item:<name>: an item's id, that of a call for its result, with .args
// for its arguments; the provider's id of a call; or a range, which is listed.
func (k known) Item(name string) ([]byte, error) {
	view := k.s.Branch.View
	if from, to, ok := strings.Cut(name, "-"); ok {
		a, err := session.ParseItemID(from)
		b, err2 := session.ParseItemID(to)
		if err == nil && err2 == nil {
			if b.Before(a) {
				a, b = b, a
			}
			return k.list(session.Range{From: a, To: b})
		}
	}
	args := strings.HasSuffix(name, ".args")
	id, err := session.ParseItemID(strings.TrimSuffix(name, ".args"))
	if err != nil {
		var ok bool
		if id, ok = k.callNamed(name); !ok {
			return nil, fmt.Errorf("item %s: give the number of an item, such as item:40, the id of a call, or a range, such as item:6-105, which is listed; what was reverted is not there; %s", quoted(name), k.bounds())
		}
	}
	it, ok := view.Find(id)
	if !ok {
		return nil, fmt.Errorf("there is no item %s in this conversation; %s", quoted(name), k.near(id))
	}
	if it.Kind == session.CallItem && !args {
		result, ok := k.sess.Result(id)
		if ok {
			result, ok = view.Find(result.ID)
		}
		if !ok {
			return nil, fmt.Errorf("call %s has no result; item:%s.args are its arguments", id, id)
		}
		it = result
	}
	if it.Masked != nil {
		it = *it.Masked
	}
	if it.Text.Encoding != "" {
		return nil, fmt.Errorf("item %s is %s in the provider's own form, and has no text", it.ID, strings.ReplaceAll(string(it.Kind), "_", " "))
	}
	return k.text(it)
}

// text is an item's text, all of it where its result was bounded.
func (k known) text(it session.Item) ([]byte, error) {
	b, err := k.sess.Text(it)
	if e, eerr := k.sess.Entry(it.ID.Seq); eerr == nil && it.At == it.ID.Seq {
		if ev, ok := e.Event.(session.ToolFinished); ok && ev.Full != nil {
			b, err = k.sess.Load(e.Seq, ev.Full.B)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("item %s can't be read: %w", it.ID, err)
	}
	return b, nil
}

// callNamed is the newest call that has an id of the provider's own.
func (k known) callNamed(name string) (found session.ItemID, ok bool) {
	for it := range k.s.Branch.View.Recorded {
		if it.Kind == session.CallItem && name != "" && it.CallID == name {
			found, ok = it.ID, true
		}
	}
	return found, ok
}

// list is a line for each item of a range.
func (k known) list(r session.Range) ([]byte, error) {
	var b bytes.Buffer
	n := 0
	tools := map[session.ItemID]string{}
	for it := range k.s.Branch.View.Recorded {
		if it.Kind == session.CallItem {
			tools[it.ID] = it.Name
		}
		if it.ID.Before(r.From) || r.To.Before(it.ID) {
			continue
		}
		if n++; n > mostListed {
			fmt.Fprintf(&b, "[more follow: item:%s-%s]\n", it.ID, r.To)
			break
		}
		what := strings.ReplaceAll(string(it.Kind), "_", " ")
		switch {
		case it.Kind == session.CallItem:
			what = "call of " + it.Name
		case it.Kind == session.ResultItem:
			what = "result of " + it.Call.String() + ", " + tools[it.Call]
		}
		if it.Masked != nil {
			it = it.Masked
		}
		fmt.Fprintf(&b, "%s %s, about %d tokens: %s\n", it.ID, what, it.Tokens.N, k.begins(*it))
	}
	if n == 0 {
		return nil, fmt.Errorf("no item lies in %s-%s; %s", r.From, r.To, k.near(r.From))
	}
	b.WriteString("[item:<number> reads one whole: of a call its result, and item:<number>.args its arguments]\n")
	return b.Bytes(), nil
}

// begins is how an item's text begins, on one line.
func (k known) begins(it session.Item) string {
	if it.Text.Encoding != "" {
		return "(in the provider's own form)"
	}
	b, err := k.sess.Text(it)
	if err != nil {
		return "(can't be read)"
	}
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(b[:min(len(b), 1000)]), "\uFFFD")), " ")
	if r := []rune(s); len(r) > 120 {
		s = string(r[:119]) + "…"
	}
	return s
}

func (k known) bounds() string {
	var first, last session.ItemID
	for it := range k.s.Branch.View.Recorded {
		if first.IsZero() {
			first = it.ID
		}
		last = it.ID
	}
	return fmt.Sprintf("they go from %s to %s", first, last)
}

// near names the neighbours of a number that is none: not every number is an
// item's.
func (k known) near(id session.ItemID) string {
	var before, after session.ItemID
	for it := range k.s.Branch.View.Recorded {
		if it.ID.Before(id) {
			before = it.ID
		} else if after.IsZero() {
			after = it.ID
		}
	}
	switch {
	case before.IsZero() || after.IsZero():
		return k.bounds()
	}
	return fmt.Sprintf("not every number is one: its neighbours are %s and %s, %s", before, after, k.bounds())
}

func quoted(name string) string {
	if r := []rune(name); len(r) > 60 {
		name = string(r[:60]) + "…"
	}
	return strconv.Quote(name)
}

// Item finds an item of any branch.
func (s *Session) Item(id session.ItemID) (session.Item, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.fold.Item(id)
}

// Result finds the result of a call.
func (s *Session) Result(call session.ItemID) (session.Item, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.fold.Result(call)
}
