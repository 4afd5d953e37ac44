package session

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
)

// A Fold adds the entries of one session up. It has one owner; the states and
// views that it hands out are values that anyone may keep.
type Fold struct {
	head     Seq
	table    table
	branches map[string]*branch
	names    []string // in the order of creation
	growing  Growing
	files    map[string]FileObserved // by path
	copies   map[Seq][]ItemID        // of a plan: the items that show it to the model
}

// A branch is its place in the family, its own items, and where it stands.
type branch struct {
	list   []int32 // indexes into the table, in recorded order
	state  Branch
	marks  []mark // in order of at
	limb   Limb
	labels []Label
	parts  []*stretch // at least one
	mine   mine
	asks   []Asking              // requests to summarizers without an answer, also of a compaction that is over
	files  map[string][]observed // that its model has seen, by path, the newest last
}

// observed is what a branch has seen of a file, and when.
type observed struct {
	at Seq
	FileObserved
}

// mine is what only grows and is yet each branch's own: two branches may be
// worked on at once, and a mode that was switched on in one holds there alone.
type mine struct {
	settings   SessionConfigured
	configured Seq
	mode       string
	running    []string
}

// MainBranch is the first branch of every session.
const MainBranch = "main"

// NewFold returns the fold of nothing.
func NewFold() *Fold {
	return &Fold{branches: map[string]*branch{}, files: map[string]FileObserved{}, copies: map[Seq][]ItemID{}}
}

// Head is the seq of the last entry applied.
func (f *Fold) Head() Seq { return f.head }

// Branches lists the names of all branches, oldest first.
func (f *Fold) Branches() []string { return slices.Clone(f.names) }

// State returns where a branch stands. A branch that does not exist yet
// stands nowhere: its state is empty but for the name.
func (f *Fold) State(name string) State {
	b, ok := f.branches[name]
	if !ok {
		return State{Branch: Branch{Name: name}, Session: f.growing}
	}
	g := f.growing
	g.Settings, g.Configured, g.Mode, g.Running = b.mine.settings, b.mine.configured, b.mine.mode, b.mine.running
	return State{Branch: b.state, Session: g}
}

// Item finds a recorded item of any branch.
func (f *Fold) Item(id ItemID) (Item, bool) {
	i := f.table.after(id) - 1
	if i < 0 || f.table.at(i).ID != id {
		return Item{}, false
	}
	return f.table.at(i), true
}

// Result finds the result of a call. It is recorded soon after the call.
func (f *Fold) Result(call ItemID) (Item, bool) {
	for i := f.table.after(call); i < f.table.n; i++ {
		if it := f.table.at(i); it.Call == call {
			return it, true
		}
	}
	return Item{}, false
}

// File returns the content that the session last saw at a path.
func (f *Fold) File(path string) (FileObserved, bool) {
	o, ok := f.files[PathKey(path)]
	return o, ok
}

// FileOn returns the content that the conversation of a branch last saw at a path:
// what another branch has written there since is no news to its model, and what a
// revert left is none any more.
func (f *Fold) FileOn(branch, path string) (FileObserved, bool) {
	b := f.branches[branch]
	if b == nil {
		return FileObserved{}, false
	}
	path = PathKey(path)
	for in, upTo := b.now(), f.head; in != nil; in, upTo = in.base.in, min(upTo, in.base.upTo) {
		for _, o := range slices.Backward(in.of.files[path]) {
			if o.at <= upTo && in.of.during(o.at) == in {
				return o.FileObserved, true
			}
		}
	}
	return FileObserved{}, false
}

// Files lists what the session last saw of each file, by path.
func (f *Fold) Files() []FileObserved {
	return slices.SortedFunc(maps.Values(f.files), func(a, b FileObserved) int { return strings.Compare(a.Path, b.Path) })
}

// Apply folds one entry. Entries come in order of seq; gaps are jsonl's
// business. An entry that contradicts what came before changes nothing: every
// history that a log can hold has a state.
func (f *Fold) Apply(e Entry) error {
	if e.Seq <= f.head {
		return fmt.Errorf("apply event %d after %d: out of order", e.Seq, f.head)
	}
	f.head = e.Seq
	b := f.branches[e.Branch]
	if b == nil {
		b = &branch{state: Branch{Name: e.Branch}}
		b.parts = []*stretch{{of: b}}
		f.branches[e.Branch] = b
		f.names = append(f.names, e.Branch)
	}
	if u, ok := e.Event.(Unknown); ok && u.event() == "" {
		if e.Must && b.state.ReadOnly == "" {
			b.state.ReadOnly = e.Type
		}
		return nil
	}
	f.grow(e)
	if o, ok := e.Event.(FileObserved); ok {
		if b.files == nil {
			b.files = map[string][]observed{}
		}
		// The same again says nothing new, unless there was a revert between them.
		if seen := b.files[o.Path]; len(seen) == 0 || seen[len(seen)-1].FileObserved != o || seen[len(seen)-1].at < b.now().start {
			b.files[o.Path] = append(seen, observed{e.Seq, o})
		}
	}
	f.applyMine(b, e)
	f.applySession(b, e)
	f.applyTurn(b, e)
	f.applyTool(b, e)
	f.applyContext(b, e)
	f.applyCompaction(b, e)
	f.applyBranch(b, e)
	if MovesHead(e.Type) {
		b.state.Head = e.Seq
	}
	if lasts(e.Event) {
		f.keep(b, e.Seq+1)
	}
	return nil
}

// add records an item behind the others of its branch.
func (f *Fold) add(b *branch, it Item) {
	if it.At == 0 {
		it.At = it.ID.Seq
	}
	f.table.add(it)
	b.list = append(b.list, int32(f.table.n-1))
	was := b.state.View.tokens
	b.state.View = b.state.View.with(f.table, b)
	b.state.Size.Since += b.state.View.tokens - was
}

// grow folds what only grows, whatever the branch.
func (f *Fold) grow(e Entry) {
	g := &f.growing
	switch ev := e.Event.(type) {
	case SessionCreated:
		g.ID, g.Format, g.Workspace = ev.ID, ev.Format, ev.Workspace
	case SessionRenamed:
		g.Title = e.Seq
	case PermissionChanged:
		switch ev.Op {
		case "granted":
			g.Grants = append(slices.Clip(g.Grants), Grant{Rule: ev.Rule})
		case "revoked":
			g.Grants = slices.DeleteFunc(slices.Clone(g.Grants), func(x Grant) bool { return x.Rule == ev.Rule })
		}
	case ApprovalAnswered:
		if (ev.Answer == "run" || ev.Answer == "always") && ev.Rule != "" {
			g.Grants = append(slices.Clip(g.Grants), Grant{Rule: ev.Rule, Run: ev.Run})
		}
	case ToastPosted:
		g.Toasts++
	case UserSaid:
		g.UserItems++
	case WindowLearned:
		rest := slices.DeleteFunc(slices.Clone(g.Windows), func(w WindowLearned) bool {
			return w.Model == ev.Model && w.Endpoint == ev.Endpoint && w.Role == ev.Role
		})
		if !ev.Dropped {
			rest = append(rest, ev)
		}
		g.Windows = rest
	case EndpointLearned:
		g.Quirks = append(slices.Clip(g.Quirks), ev)
	case PlanChanged:
		g.NextTask = max(g.NextTask, ev.NextID)
	case FileObserved:
		f.files[ev.Path] = ev
	}
}

func (f *Fold) applyMine(b *branch, e Entry) {
	m := &b.mine
	switch ev := e.Event.(type) {
	case SessionConfigured:
		if ev.PermissionMode != m.settings.PermissionMode { // else one that was switched on stays
			m.mode = ev.PermissionMode
		}
		m.settings, m.configured = ev, e.Seq
	case RunStarted:
		m.mode = m.settings.PermissionMode // another was for the run before it
	case PermissionChanged:
		if ev.Op == "mode" {
			m.mode = ev.Mode
		}
	case JobStarted:
		m.running = append(slices.Clip(m.running), ev.Job)
	case JobEnded:
		m.running = slices.DeleteFunc(slices.Clone(m.running), func(j string) bool { return j == ev.Job })
	}
}

func (f *Fold) applySession(b *branch, e Entry) {
	s := &b.state
	switch ev := e.Event.(type) {
	case ToolsDefined:
		s.Tools = Tools{At: e.Seq, API: ev.API, Definitions: ev.Definitions, Tokens: ev.Tokens}
		s.cut("tools", ItemID{})
	case ToolsExtended:
		s.Tools.More = append(slices.Clip(s.Tools.More), Tools{At: e.Seq, API: ev.API, Definitions: ev.Definitions, Tokens: ev.Tokens})
		s.cut("tools", ItemID{})
	case RunStarted:
		s.Run = ev.Run
	case RunEnded:
		if s.Run == ev.Run {
			s.Run = ""
		}
	case ModelChosen:
		if s.Model != ev.Model {
			s.cut("model", ItemID{})
			s.Size.Reported = 0
		}
		s.Model, s.Reason, s.ChosenBy = ev.Model, ev.Reasoning, ev.By
	case PlanChanged:
		s.Plan = Plan{At: e.Seq, Items: ev.Items, Next: ev.NextID}
		in := b.now()
		in.plans = append(in.plans, planned{at: e.Seq, plan: s.Plan, after: ev.AfterItem, todo: ev.By == "model"})
	case PlanShown:
		if ev.Plan != 0 {
			f.copies[ev.Plan] = append(f.copies[ev.Plan], e.Seq.Item())
			if s.Plan.At == ev.Plan {
				s.Plan.Shown, s.Plan.Copy = true, e.Seq.Item()
			}
		}
		f.add(b, Item{ID: e.Seq.Item(), Kind: PlanKind, Source: FromRuntime, Text: ev.Text, Tokens: ev.Tokens})
	}
}

// lasts reports an event whose effect selection can't make anew from items.
func lasts(e Event) bool {
	switch e.(type) {
	case ToolsDefined, ToolsExtended, ModelChosen, AssemblyReported, InstructionPublished, InstructionWithdrawn, CatalogPublished, CatalogDropped,
		ItemMasked, ItemReplaced, ItemRemoved, MediaNoted, CheckpointCommitted:
		return true
	}
	return false
}

// cut records that the next request can't begin with the one before. The
// first cause stands.
func (s *Branch) cut(cause string, item ItemID) {
	if s.Sent.Seq != 0 && s.Sent.Cut == nil {
		s.Sent.Cut = &Break{Cause: cause, Item: item}
	}
}

func (f *Fold) applyContext(b *branch, e Entry) {
	s := &b.state
	switch ev := e.Event.(type) {
	case InstructionPublished:
		it := Item{ID: e.Seq.Item(), At: e.Seq, Kind: InstructionItem, Source: FromRuntime, Text: ev.Text, Tokens: ev.Tokens, Key: ev.Key}
		f.table.add(it)
		s.View.table = f.table
		s.instruct(ev.Key, &it)
	case InstructionWithdrawn:
		s.instruct(ev.Key, nil)
	case AssemblyReported:
		s.Assembly = ev.Fingerprint
		if s.Turn != nil {
			t := *s.Turn
			t.Assembled = true
			s.Turn = &t
		}
	case CatalogPublished:
		f.add(b, Item{ID: e.Seq.Item(), Kind: CatalogItem, Source: FromRuntime, Text: ev.Text, Tokens: ev.Tokens, Key: ev.Key})
	case CatalogDropped:
		s.remove(f, ev.Item)
		s.cut("catalog", ev.Item)
	case ItemMasked:
		s.edit(f, ev.Item, e.Seq, ev.Text, ev.Tokens, true)
		s.cut("mask", ev.Item)
	case ItemReplaced:
		s.edit(f, ev.Item, e.Seq, ev.Text, ev.Tokens, false)
		s.cut("replacement", ev.Item)
	case ItemRemoved:
		s.remove(f, ev.Item)
		s.cut("replacement", ev.Item)
	case MediaNoted:
		s.cut("media", ItemID{})
	case CheckpointCommitted:
		it := Item{ID: e.Seq.Item(), At: e.Seq, Kind: CheckpointItem, Source: FromRuntime, Text: ev.Text, Tokens: ev.Tokens}
		f.table.add(it)
		s.View.table = f.table
		s.View.checkpoint, s.View.covered = &it, inOrder(ev.Ranges)
		s.recount()
		s.Size = Size{}
		s.cut("checkpoint", it.ID)
		f.showsPlan(s)
	}
}

// instruct puts an instruction under its key, or withdraws it where it is nil.
func (s *Branch) instruct(key string, it *Item) {
	old := s.View.instructions
	i := sort.Search(len(old), func(i int) bool { return old[i].Key >= key })
	next := slices.Clone(old[:i])
	if it != nil {
		next = append(next, *it)
	}
	if i < len(old) && old[i].Key == key {
		i++
		s.cut("instruction", ItemID{})
	} else if it != nil {
		s.cut("instruction", it.ID)
	}
	s.View.instructions = append(next, old[i:]...)
	s.recount()
}

// edit puts another text in an item's place. What is masked keeps what it was;
// what is replaced keeps nothing.
func (s *Branch) edit(f *Fold, id ItemID, at Seq, text Text, size Tokens, mask bool) {
	it, ok := f.Item(id)
	if !ok {
		return
	}
	next := slices.Clone(s.View.edited)
	i, again := s.View.edit(id)
	if !again {
		next = slices.Insert(next, i, it)
	}
	was := next[i]
	next[i].At, next[i].Text, next[i].Tokens, next[i].Masked = at, text, size, nil
	next[i].Media = nil // those that it names stand in the body of before (MED-3)
	if mask {
		next[i].Masked = cmp.Or(was.Masked, &was)
	}
	s.View.edited = next
	s.recount()
	f.showsPlan(s)
}

func (s *Branch) remove(f *Fold, id ItemID) {
	i, _ := slices.BinarySearchFunc(s.View.removed, id, ItemID.Compare)
	s.View.removed = slices.Insert(slices.Clone(s.View.removed), i, id)
	s.recount()
	f.showsPlan(s)
}

// recount sums the view up anew, after a change that is not an addition.
func (s *Branch) recount() {
	was := s.View.tokens
	s.View.tokens = 0
	s.View.All(func(it Item) bool { s.View.tokens += it.Tokens.N; return true })
	s.Size.Since += s.View.tokens - was
}
