package session_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	. "varve/internal/session"
)

// dump writes down everything that a value says, through pointers. A view is
// what it shows.
func dump(v any) string {
	var b strings.Builder
	var put func(v reflect.Value)
	put = func(v reflect.Value) {
		switch x := v.Interface().(type) {
		case View:
			fmt.Fprintf(&b, "view of %d, %d tokens{", x.Len(), x.Tokens())
			for it := range x.All {
				put(reflect.ValueOf(it))
			}
			b.WriteString("}")
			return
		case time.Time:
			b.WriteString(x.Format(time.RFC3339Nano))
			return
		}
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				b.WriteString("nil")
				return
			}
			put(v.Elem())
		case reflect.Struct:
			b.WriteString("{")
			for i := range v.NumField() {
				fmt.Fprintf(&b, "%s:", v.Type().Field(i).Name)
				put(v.Field(i))
				b.WriteString(" ")
			}
			b.WriteString("}\n")
		case reflect.Slice:
			b.WriteString("[")
			for i := range v.Len() {
				put(v.Index(i))
				b.WriteString(",")
			}
			b.WriteString("]")
		default:
			fmt.Fprintf(&b, "%#v", v.Interface())
		}
	}
	put(reflect.ValueOf(v))
	return b.String()
}

// sound checks what holds of every view, whatever the log says: the size is
// the sum, and a result stands only behind its reply, in call order (CTX-4).
func sound(t *rapid.T, s State) {
	v := s.Branch.View
	sum := 0
	var reply Seq                // the last reply with calls
	var calls, answered []ItemID // its calls, and those whose result was met
	open := false                // whether a result of it may stand here
	for it := range v.All {
		sum += it.Tokens.N
		switch {
		case it.Kind == ResultItem:
			if !open || !slices.Contains(calls, it.Call) || slices.Contains(answered, it.Call) {
				t.Fatalf("result %v of %v does not stand behind its call:\n%s", it.ID, it.Call, show(v))
			}
			if n := len(answered); n > 0 && !answered[n-1].Before(it.Call) {
				t.Fatalf("results are not in call order:\n%s", show(v))
			}
			answered = append(answered, it.Call)
		case open && it.ID.Seq == reply && len(answered) == 0:
			if it.Kind == CallItem {
				calls = append(calls, it.ID)
			}
		case it.Kind == CallItem:
			reply, calls, answered, open = it.ID.Seq, []ItemID{it.ID}, nil, true
		default:
			open = false
		}
	}
	if sum != v.Tokens() {
		t.Fatalf("%d tokens, the items add up to %d:\n%s", v.Tokens(), sum, show(v))
	}
	if n := s.Occupancy().N; n < 0 {
		t.Fatalf("occupancy %d", n)
	}
	stopped := 0
	for range v.All {
		if stopped++; stopped == 2 {
			break
		}
	}
}

func show(v View) string {
	var b strings.Builder
	for it := range v.All {
		b.WriteString(showItem(it) + "\n")
	}
	return b.String()
}

func fold(t interface{ Fatal(...any) }, entries []Entry) *Fold {
	f := NewFold()
	for _, e := range entries {
		if err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// holds checks the properties of a fold over a history.
func holds(t *rapid.T, entries []Entry) {
	f := NewFold()
	var states []State
	var dumps []string
	keep := func(branch string) {
		s := f.State(branch)
		states, dumps = append(states, s), append(dumps, dump(s))
		sound(t, s)
	}
	for _, e := range entries {
		was := show(f.State(e.Branch).Branch.View)
		if err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Event.(UserSaid); ok {
			before, err := f.Select(Reference{Branch: e.Branch, Seq: e.Seq, Select: "before"})
			if got := show(before.View); err == nil && got != was {
				t.Fatalf("the view before %d is\n%s\nwas\n%s", e.Seq, got, was)
			}
		}
		keep(e.Branch)
	}
	// What was handed out is never written again (architecture rule 7).
	for i, s := range states {
		if got := dump(s); got != dumps[i] {
			t.Fatalf("the state after %d has become\n%s\nwas\n%s", i+1, got, dumps[i])
		}
	}
	if len(entries) == 0 {
		return
	}
	// replay(a) is where the longer replay stood after a.
	cut := rapid.IntRange(1, len(entries)).Draw(t, "cut")
	short := fold(t, entries[:cut])
	last := entries[cut-1]
	if got := dump(short.State(last.Branch)); got != dumps[cut-1] {
		t.Fatalf("a replay of %d events gives\n%s\nthe longer one gave\n%s", cut, got, dumps[cut-1])
	}
	// apply(b, replay(a)) is replay(a+b), also where a and b went over the disk.
	for _, e := range entries[cut:] {
		if err := short.Apply(decoded(t, e)); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(short.Branches(), f.Branches()) {
		t.Fatalf("branches %v, want %v", short.Branches(), f.Branches())
	}
	for _, b := range f.Branches() {
		if got, want := dump(short.State(b)), dump(f.State(b)); got != want {
			t.Fatalf("%s, read from lines, is\n%s\nwant\n%s", b, got, want)
		}
	}
}

// decoded is an entry as a reader meets it.
func decoded(t *rapid.T, e Entry) Entry {
	if _, ok := e.Event.(Unknown); ok {
		return e
	}
	b, err := EncodeRest(Fact{Branch: e.Branch, Event: e.Event}, e.At)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(lineOf(e.Seq, b))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func at(q Seq) time.Time { return time.UnixMilli(1_796_000_000_000 + int64(q)*1000).UTC() }

// Every history that a log can hold has a state, and the state is sound.
func TestFoldOfAnything(t *testing.T) {
	events := rapid.OneOf(anyEvent(), rapid.Just[Event](Unknown{Data: []byte("{}")}))
	rapid.Check(t, func(t *rapid.T) {
		var entries []Entry
		for range rapid.IntRange(0, 24).Draw(t, "n") {
			ev := events.Draw(t, "event")
			e := Entry{
				Seq: Seq(len(entries) + 1), Branch: rapid.SampledFrom([]string{MainBranch, MainBranch, "b2"}).Draw(t, "branch"),
				Type: Name(ev), Must: Must(Name(ev)), Event: ev,
			}
			if e.Type == "" {
				e.Type, e.Must = "newer.happened", rapid.Bool().Draw(t, "must")
			}
			e.At = at(e.Seq)
			entries = append(entries, e)
		}
		holds(t, entries)
	})
}

// A writer makes legal histories: it does what the fold allows next.
type writer struct {
	t       *rapid.T
	fold    *Fold
	entries []Entry
}

func (w *writer) add(branch string, e Event) {
	entry := Entry{Seq: w.fold.Head() + 1, Branch: branch, Type: Name(e), Must: Must(Name(e)), Event: e}
	entry.At = at(entry.Seq)
	w.entries = append(w.entries, entry)
	if err := w.fold.Apply(entry); err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) size() Tokens {
	return Tokens{N: rapid.IntRange(0, 900).Draw(w.t, "size"), By: "est"}
}

// step appends one event that may follow on the branch.
func (w *writer) step(branch string) {
	s := w.fold.State(branch)
	t, b := w.t, s.Branch
	last := b.View.Newest()
	var may []Event
	add := func(e ...Event) { may = append(may, e...) }
	say := rapid.SampledFrom([]string{"steer", "queue"}).Draw(t, "kind")
	add(InputQueued{Kind: say, Tokens: w.size()}, ShellRan{Tokens: w.size()}, ToastPosted{Level: "info", Code: "c"})
	add(PlanChanged{NextID: 2, By: "user", AfterItem: &last, Items: []PlanItem{{ID: "task-1", Status: "pending"}}}, PlanShown{Plan: b.Plan.At, Tokens: w.size()})
	add(CatalogPublished{Key: "skills", Tokens: w.size()})
	for _, q := range b.Queue {
		add(InputEdited{Entry: q.ID, Tokens: w.size()}, InputRemoved{Entry: q.ID}, InputHeld{Entries: []Seq{q.ID}}, InputMoved{Entry: q.ID, Before: b.Queue[0].ID})
	}
	var results, users []ItemID
	for it := range b.View.All {
		switch it.Kind {
		case ResultItem:
			results = append(results, it.ID)
		case UserItem:
			users = append(users, it.ID)
		}
	}
	switch turn := b.Turn; {
	case turn == nil:
		add(UserSaid{Via: "prompt", Text: &Text{}, Tokens: w.size()}, ModelChosen{Model: Model{Model: rapid.SampledFrom([]string{"m", "o"}).Draw(t, "model")}})
		add(InstructionPublished{Key: rapid.SampledFrom([]string{"10", "20"}).Draw(t, "key"), Tokens: w.size()}, InstructionWithdrawn{Key: "10"})
		if len(b.Queue) > 0 {
			add(UserSaid{Via: "queue", Entry: b.Queue[0].ID, Tokens: b.Queue[0].Tokens})
		}
		for _, id := range append(users, results...) {
			add(ItemReplaced{Item: id, Why: "redact", Tokens: Tokens{N: 3, By: "est"}})
		}
		if len(users) > 0 && b.Last.Turn != 0 {
			add(CheckpointCommitted{Kind: "text", Ranges: []Range{{From: Seq(1).Item(), To: b.Last.At.Item()}}, Tokens: w.size()})
		}
	case turn.Open.Seq != 0:
		add(ReplyRejected{Request: turn.Open.Seq, Class: "stalled", Kept: true, Text: &Text{}, Tokens: w.size()}, TurnCancelled{Turn: turn.ID, By: "user"})
		done := ReplyCompleted{Request: turn.Open.Seq, Finish: "natural"}
		for i := range rapid.IntRange(1, 5).Draw(t, "parts") {
			p := ReplyPart{Kind: rapid.SampledFrom([]string{"assistant", "reasoning", "tool_call", "tool_call"}).Draw(t, "part"), B: i, Tokens: w.size()}
			if p.Kind == "tool_call" {
				p.Call, done.Finish = &CallName{ID: fmt.Sprint(i), Name: "bash"}, "tool"
			}
			done.Parts = append(done.Parts, p)
		}
		if rapid.Bool().Draw(t, "usage") {
			done.Usage = &Usage{Input: rapid.IntRange(0, 5000).Draw(t, "input"), Output: 7}
		}
		add(done, done, done)
	default:
		waiting := 0
		for _, c := range turn.Calls {
			if c.Done {
				continue
			}
			waiting++
			add(CallJudged{Call: c.ID, Verdict: "allow"}, ToolStarted{Call: c.ID})
			add(ToolFinished{Call: c.ID, Tokens: w.size()}, ToolFinished{Call: c.ID, Tokens: w.size(), IsError: true}, ToolInterrupted{Call: c.ID, Why: "user", Tokens: w.size()})
		}
		if waiting > 0 {
			break
		}
		sent := RequestSent{Turn: turn.ID, Attempt: 1, Model: b.Model}
		add(sent, sent, TurnEnded{Turn: turn.ID, Status: "completed"})
		if len(b.Queue) > 0 {
			add(UserSaid{Turn: turn.ID, Via: "steer", Entry: b.Queue[0].ID, Tokens: b.Queue[0].Tokens})
		}
		if n := len(results); n > 0 {
			add(ItemMasked{Item: results[n-1], Tokens: Tokens{N: 5, By: "est"}})
		}
	}
	chosen := rapid.SampledFrom(may).Draw(t, "event")
	if done, ok := chosen.(ToolFinished); ok && !done.IsError && rapid.IntRange(0, 2).Draw(t, "todo") == 0 { // one batch
		w.add(branch, PlanChanged{NextID: 2, By: "model", AfterItem: &done.Call, Items: []PlanItem{{ID: "task-1", Status: "pending"}}})
	}
	w.add(branch, chosen)
}

func TestFoldOfLegalHistories(t *testing.T) { // CTX-2, CTX-4
	rapid.Check(t, func(t *rapid.T) {
		w := writer{t: t, fold: NewFold()}
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			w.step(rapid.SampledFrom([]string{MainBranch, MainBranch, "b2"}).Draw(t, "branch"))
		}
		holds(t, w.entries)
		for _, branch := range w.fold.Branches() {
			nothingLost(t, w, branch)
			alone(t, w, branch)
		}
	})
}

// nothingLost checks that every recorded item that is not covered is in the
// view once, replies and inputs in recorded order.
func nothingLost(t *rapid.T, w writer, branch string) {
	v := w.fold.State(branch).Branch.View
	var covered ItemID
	want := map[ItemID]bool{}
	for _, e := range w.entries {
		if e.Branch != branch {
			continue
		}
		if c, ok := e.Event.(CheckpointCommitted); ok {
			covered = c.Ranges[0].To
		}
		for part := 1; ; part++ {
			it, ok := w.fold.Item(ItemID{Seq: e.Seq, Part: part})
			if !ok {
				break
			}
			if it.Kind != InstructionItem && it.Kind != CheckpointItem {
				want[it.ID] = true
			}
		}
	}
	maps.DeleteFunc(want, func(id ItemID, _ bool) bool { return !covered.Before(id) })
	var before ItemID
	for it := range v.All {
		if it.Kind == InstructionItem || it.Kind == CheckpointItem {
			continue
		}
		if !want[it.ID] {
			t.Fatalf("%s: item %v is shown twice, or covered:\n%s", branch, it.ID, show(v))
		}
		delete(want, it.ID)
		if !waitsFor(it) {
			if it.ID.Before(before) {
				t.Fatalf("%s: item %v stands behind %v:\n%s", branch, it.ID, before, show(v))
			}
			before = it.ID
		}
	}
	if len(want) > 0 {
		t.Fatalf("%s: items %v are not shown:\n%s", branch, slices.Collect(maps.Keys(want)), show(v))
	}
}

// waitsFor reports whether an item has its place by another: a result by its
// call, input by the group of calls that was open.
func waitsFor(it Item) bool {
	return it.Kind != AssistantItem && it.Kind != ReasoningItem && it.Kind != CallItem
}

// alone checks that the other branch's lines change nothing of this one.
func alone(t *rapid.T, w writer, branch string) {
	own := slices.DeleteFunc(slices.Clone(w.entries), func(e Entry) bool { return e.Branch != branch })
	if got, want := dump(fold(t, own).State(branch).Branch), dump(w.fold.State(branch).Branch); got != want {
		t.Fatalf("%s alone is\n%s\nwith the other branch\n%s", branch, got, want)
	}
}

// BRN-10: the table has a row for every field of a state, and no other.
func TestFieldsCoverTheState(t *testing.T) {
	want := map[string]bool{}
	for prefix, typ := range map[string]reflect.Type{"Branch.": reflect.TypeFor[Branch](), "Session.": reflect.TypeFor[Growing]()} {
		for i := range typ.NumField() {
			want[prefix+typ.Field(i).Name] = true
		}
	}
	for name, kind := range Fields() {
		if !want[name] {
			t.Errorf("%s is no field", name)
		}
		delete(want, name)
		if kind != Moves && kind != Grows && kind != Idles {
			t.Errorf("%s is of no kind: %q", name, kind)
		}
		if strings.HasPrefix(name, "Session.") && kind != Grows {
			t.Errorf("%s %s: the session's part only grows", name, kind)
		}
	}
	for name := range want {
		t.Errorf("nothing is said about %s", name)
	}
	for name, kind := range map[string]Kind{"Branch.View": Moves, "Branch.Plan": Moves, "Branch.Queue": Moves, "Branch.Model": Moves, "Branch.Turn": Idles, "Session.Usage": Grows, "Session.NextTask": Grows} {
		if got := Fields()[name]; got != kind {
			t.Errorf("%s %s, want %s", name, got, kind)
		}
	}
}

func TestApplyRefusesDisorder(t *testing.T) {
	f := NewFold()
	for _, c := range []struct {
		q  Seq
		ok bool
	}{{0, false}, {3, true}, {3, false}, {2, false}, {7, true}} {
		if err := f.Apply(Entry{Seq: c.q, Branch: MainBranch, Type: "toast.posted", Event: ToastPosted{}}); (err == nil) != c.ok {
			t.Errorf("event %d after %d: %v", c.q, f.Head(), err)
		}
	}
	if n := f.State(MainBranch).Session.Toasts; n != 2 || f.Head() != 7 {
		t.Errorf("%d toasts, head %d", n, f.Head())
	}
}

// What the session last saw at a path, found by the path itself.
func TestFoldFile(t *testing.T) {
	f := NewFold()
	long := strings.Repeat("d/", 600) + "x.go"
	for i, o := range []FileObserved{{Path: "a.go", SHA256: "1"}, {Path: PathKey(long), SHA256: "2"}, {Path: "a.go", SHA256: "3"}} {
		if err := f.Apply(Entry{Seq: Seq(i + 1), Branch: MainBranch, Type: "file.observed", Event: o}); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"a.go": "3", long: "2", "b.go": ""} {
		if o, ok := f.File(path); o.SHA256 != want || ok != (want != "") {
			t.Errorf("%.9s: %+v", path, o)
		}
	}
}

// A result is found by its call, wherever it stands.
func TestFoldResult(t *testing.T) {
	entries := []Event{
		UserSaid{},
		ReplyCompleted{Parts: []ReplyPart{{Kind: "tool_call"}, {Kind: "tool_call"}, {Kind: "tool_call"}}},
		ToolFinished{Call: ItemID{Seq: 2, Part: 2}},
		ToolFinished{Call: Seq(2).Item()},
	}
	f := NewFold()
	for i, e := range entries {
		if err := f.Apply(Entry{Seq: Seq(i + 1), Branch: MainBranch, Type: Name(e), Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	for part, want := range map[int]Seq{1: 4, 2: 3, 3: 0} {
		if it, ok := f.Result(ItemID{Seq: 2, Part: part}); it.ID.Seq != want || ok != (want != 0) {
			t.Errorf("the result of 2.%d is %v", part, it.ID)
		}
	}
	if it, ok := f.Item(ItemID{Seq: 2, Part: 3}); !ok || it.Kind != CallItem {
		t.Errorf("item 2.3 is %+v", it)
	}
	if _, ok := f.Item(ItemID{Seq: 2, Part: 4}); ok {
		t.Error("there is no item 2.4")
	}
}

// LOG-6: what an append must not miss is what changes view, plan or queue.
func TestMovesHead(t *testing.T) {
	moved := map[string]bool{}
	for i, s := range samples() {
		f := NewFold()
		name := Name(s.fact.Event)
		if err := f.Apply(Entry{Seq: Seq(i + 1), Branch: MainBranch, Type: name, Event: s.fact.Event}); err != nil {
			t.Fatal(err)
		}
		b := f.State(MainBranch).Branch
		if (b.Head != 0) != MovesHead(name) {
			t.Errorf("%s: head %d, MovesHead %v", name, b.Head, MovesHead(name))
		}
		if b.View.Len() > 0 || b.View.Tokens() > 0 || b.Plan.At != 0 || len(b.Queue) > 0 {
			moved[name] = true
			if !MovesHead(name) {
				t.Errorf("%s changes view, plan or queue, and is no head", name)
			}
		}
	}
	if len(moved) < 10 {
		t.Errorf("only %v change anything", moved)
	}
	if MovesHead("toast.posted") || MovesHead("newer.happened") {
		t.Error("a toast is no conflict")
	}
}
