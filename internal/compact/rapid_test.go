package compact_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve/internal/compact"
	"varve/internal/session"
)

// CMP-4, CMP-5, CMP-8: what may not be covered is not, pairs stay together, and a commit hides the source and nothing else,
// in any number of checkpoints and forks.
func TestPlanAndCommit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := write(t, rapid.IntRange(0, 60).Draw(t, "n"))
		for range rapid.IntRange(1, 3).Draw(t, "checkpoints") {
			planned(t, w)
			if w.state().Branch.Turn == nil && rapid.Bool().Draw(t, "fork") {
				w.fork()
			}
			for range rapid.IntRange(0, 25).Draw(t, "more") {
				w.step()
			}
		}
	})
}

func planned(t *rapid.T, w *writer) {
	before := w.state()
	cut, ok := w.plan()
	if !ok {
		return
	}
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf(format+"\ncovers %s of\n%s", append(args, ranges(cut.Ranges), show(before.Branch.View))...)
	}
	source, covers := map[session.ItemID]bool{}, 0
	for i, it := range cut.Items() {
		if source[it.ID] {
			fail("%v is covered twice", it.ID)
		}
		source[it.ID] = true
		if it.Kind == session.CheckpointItem && (i > 0 || it.ID != cut.Replaces) {
			fail("checkpoint %v is item %d, replaced is %v", it.ID, i, cut.Replaces)
		}
		if it.Masked != nil {
			fail("%v is masked", it.ID)
		}
	}
	if old, ok := before.Branch.View.Checkpoint(); ok && !source[old.ID] {
		fail("the checkpoint %v is no source", old.ID)
	}
	results, catalogs, plan := map[session.ItemID]session.ItemID{}, map[string]session.ItemID{}, session.ItemID{}
	for it := range before.Branch.View.All {
		switch it.Kind {
		case session.ResultItem:
			results[it.Call] = it.ID
		case session.CatalogItem:
			catalogs[it.Key] = it.ID
		case session.PlanKind:
			plan = it.ID
		}
	}
	var want []session.ItemID
	for it := range before.Branch.View.All {
		if !source[it.ID] {
			want = append(want, it.ID)
			continue
		}
		covers += it.Tokens.N
		switch {
		case it.Kind == session.InstructionItem, it.Kind == session.PlanKind && it.ID == plan && it.ID.Seq > before.Branch.Plan.At, it.Kind == session.CatalogItem && catalogs[it.Key] == it.ID,
			it.Kind == session.UserItem && before.Branch.Turn != nil && it.Turn == before.Branch.Turn.ID:
			fail("%v %s may not be covered", it.ID, it.Kind)
		case it.Kind == session.CallItem && !source[results[it.ID]]:
			fail("call %v is covered without its result", it.ID)
		case it.Kind == session.ResultItem && !source[it.Call]:
			fail("result %v is covered without its call", it.ID)
		}
	}
	if covers != cut.Covers || cut.Covers+cut.Kept != before.Branch.Occupied() {
		fail("covers %d and %d, keeps %d, of %d", covers, cut.Covers, cut.Kept, before.Branch.Occupied())
	}
	hidden := hiddenOf(before.Branch.View)
	handoff := w.size()
	m := compact.MeasureOf(before, session.CompactionStarted{Ranges: cut.Ranges, Covers: est(cut.Covers)}, handoff.N)
	at := w.add(session.CheckpointCommitted{Kind: "text", Ranges: cut.Ranges, Replaces: cut.Replaces, Tokens: handoff})
	// CMP-7: before and after are by one measure, and what is taken is smaller.
	if now := w.state().Branch.Occupied(); m.After != now || m.Before != before.Branch.Occupied() || m.Reject() == "" && now >= m.Before {
		fail("measured %+v, %d became %d", m, before.Branch.Occupied(), now)
	}
	n := 1 // instructions, here one
	want = slices.Insert(want, n, at.Item())
	if got := ids(shown(w.view())); !slices.Equal(got, want) {
		fail("the view is %v, want %v", got, want)
	}
	now := hiddenOf(w.view())
	for id := range hidden {
		if !now[id] {
			fail("%v is covered no more", id)
		}
	}
	for it := range before.Branch.View.All { // BRN-7: what is covered is there, and comes back with an earlier state
		if source[it.ID] && it.Kind != session.CheckpointItem && !now[it.ID] {
			fail("%v is lost", it.ID)
		}
	}
}

// hiddenOf are the recorded items that a checkpoint covers.
func hiddenOf(v session.View) map[session.ItemID]bool {
	out := map[session.ItemID]bool{}
	for it, shown := range v.Recorded {
		if !shown {
			out[it.ID] = true
		}
	}
	return out
}

// MR-2, MR-4, MR-5: groups hold each item once, in order and whole; a reply stays with its results until it is divided because
// it was too much; the ranges of segments name exactly their items.
func TestPackingCoversTheSource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := write(t, rapid.IntRange(5, 60).Draw(t, "n"))
		cut, ok := w.plan()
		if !ok {
			return
		}
		source := cut.Items()
		target := rapid.IntRange(0, 300).Draw(t, "target")
		groups := compact.Pack(source, target)
		home := map[session.ItemID]int{}
		for i, g := range groups {
			n, replies := 0, map[session.Seq]bool{}
			for _, it := range g {
				home[it.ID] = i
				n += it.Tokens.N
				of := it.ID.Seq
				if it.Kind == session.ResultItem {
					of = it.Call.Seq
				}
				replies[of] = true
			}
			if n > target && len(replies) > 1 {
				t.Fatalf("group %d of %d tokens, target %d: %v", i, n, target, ids(g))
			}
		}
		for _, it := range source {
			if it.Kind == session.ResultItem && home[it.ID] != home[it.Call] {
				t.Fatalf("result %v is in group %d, its call in %d", it.ID, home[it.ID], home[it.Call])
			}
		}
		for range 3 {
			if got := ids(slices.Concat(groups...)); !slices.Equal(got, ids(source)) {
				t.Fatalf("groups hold %v, the source is %v", got, ids(source))
			}
			owner := map[session.ItemID]int{}
			for i, s := range compact.Segments(w.view(), groups, 5) {
				if s.Ordinal != 5+i || !slices.Equal(ids(compact.ItemsOf(w.view(), s.Ranges)), ids(groups[i])) {
					t.Fatalf("segment %d is %s, its group %v", s.Ordinal, ranges(s.Ranges), ids(groups[i]))
				}
				for it := range w.view().Recorded {
					if session.Within(s.Ranges, it.ID) {
						if other, ok := owner[it.ID]; ok {
							t.Fatalf("%v is in segments %d and %d", it.ID, other, i)
						}
						owner[it.ID] = i
					}
				}
			}
			was := len(groups)
			var smaller bool
			groups, smaller = compact.Repack(groups, rapid.IntRange(0, 200).Draw(t, "smaller"))
			single := !slices.ContainsFunc(groups, func(g []session.Item) bool { return len(g) > 1 })
			if smaller != (len(groups) > was) || !smaller && !single {
				t.Fatalf("%d groups became %d, smaller %v", was, len(groups), smaller)
			}
		}
	})
}

// CMP-8, MR-9, RPR-3: the fingerprint of a source is another one when, and only when, an item of it is replaced, masked or
// removed.
func TestFingerprint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := write(t, rapid.IntRange(5, 50).Draw(t, "n"))
		cut, ok := w.plan()
		if !ok {
			return
		}
		started := session.CompactionStarted{Ranges: cut.Ranges, Source: cut.Source, Replaces: cut.Replaces}
		source := ids(cut.Items())
		for range rapid.IntRange(0, 8).Draw(t, "more") {
			if w.state().Branch.Turn == nil {
				w.add(session.UserSaid{Via: "prompt", Text: &session.Text{}, Tokens: w.size()})
			}
			turn := w.state().Branch.Turn.ID
			w.add(session.RequestSent{Turn: turn, Attempt: 1})
			w.add(session.ReplyCompleted{Request: w.fold.Head(), Parts: []session.ReplyPart{{Kind: "tool_call", Tokens: w.size(), Call: &session.CallName{ID: "a", Name: "b"}}}})
			w.add(session.ToolFinished{Call: w.fold.Head().Item(), Tokens: w.size()})
		}
		if why := compact.Stale(w.view(), started); why != "" {
			t.Fatalf("what was appended made it %s", why)
		}
		v := w.view()
		var all []session.Item
		for it := range v.All {
			if it.Kind != session.InstructionItem && it.Kind != session.CheckpointItem {
				all = append(all, it)
			}
		}
		it := rapid.SampledFrom(all).Draw(t, "item")
		w.add(rapid.SampledFrom([]session.Event{
			session.ItemReplaced{Item: it.ID, Tokens: it.Tokens}, session.ItemRemoved{Item: it.ID}, session.ItemMasked{Item: it.ID, Tokens: est(1)},
		}).Draw(t, "change"))
		if got := compact.Stale(w.view(), started) != ""; got != slices.Contains(source, it.ID) {
			t.Fatalf("a change of %v, stale %v; covers %s of\n%s", it.ID, got, ranges(cut.Ranges), show(v))
		}
		if compact.Stale(v, started) != "" {
			t.Fatal("the view of before has changed")
		}
	})
}

// BRN-7: staging survives a selection if all that it was made from does, as it was, and only then.
func TestStagingSurvivesWithItsSource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := write(t, rapid.IntRange(5, 60).Draw(t, "n"))
		cut, ok := w.plan()
		if !ok {
			return
		}
		segs := compact.Segments(w.view(), compact.Pack(cut.Items(), 50), 0)
		all := make([]session.Range, 0)
		for _, s := range segs {
			all = append(all, s.Ranges...)
		}
		slices.SortFunc(all, func(a, b session.Range) int { return a.From.Compare(b.From) })
		w.add(session.StagingCreated{Version: compact.Version, N: len(segs), Ranges: all, Source: session.Fingerprint(w.view(), all)})
		if why := compact.Voids(w.state().Branch.Staging, w.view(), cut); why != "" {
			t.Fatalf("voided at once: %s", why)
		}
		made := map[session.ItemID]session.Seq{}
		for _, it := range shown(w.view()) {
			if slices.Contains(ids(cut.Items()), it.ID) {
				made[it.ID] = it.At
			}
		}
		w.fork()
		for _, it := range shown(w.view()) {
			if at, ok := made[it.ID]; ok && at == it.At {
				delete(made, it.ID)
			}
		}
		if w.on == session.MainBranch { // there was no message
			return
		}
		if got := w.state().Branch.Staging != nil; got != (len(made) == 0) {
			t.Fatalf("staging %v, missing %v; ranges %s; view\n%s", got, made, ranges(all), show(w.view()))
		}
	})
}

// MR-4, MR-7, MR-8, MR-9: whatever order the maps come in, whatever fails, overflows or is killed meanwhile, a MapReduce comes
// to its end, asks for nothing that was accepted, and joins the maps by first covered item.
func TestMapReduceComesToItsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{t: t, fold: session.NewFold(), on: session.MainBranch}
		w.add(session.ToolsDefined{API: "a"})
		n := rapid.IntRange(1, 12).Draw(t, "items")
		for range n {
			turn := w.add(session.UserSaid{Via: "prompt", Text: &session.Text{}, Tokens: est(100)})
			w.add(session.TurnEnded{Turn: turn, Status: "completed"})
		}
		w.add(session.ReplyRejected{Class: "cancelled", Kept: true, Text: &session.Text{}, Tokens: est(100)}) // they were responded to
		cut, ok := compact.Plan(w.state(), compact.Budget{}, compact.Responded)
		if !ok {
			t.Fatal("nothing to cover")
		}
		source := ids(cut.Items())
		w.add(session.CompactionStarted{Route: "map_reduce", Ranges: cut.Ranges, Source: cut.Source, Chain: []session.Model{{}}})
		begun := w.fold.Head()
		w.add(session.SummarizerTried{Compaction: begun, I: 1, N: 1, Outcome: "started"})
		size := rapid.IntRange(1, 3).Draw(t, "of")
		groups := compact.Pack(cut.Items(), 100*size)
		staging := w.add(session.StagingCreated{Compaction: begun, Version: compact.Version, N: len(groups), Ranges: cut.Ranges, Source: cut.Source, Window: session.Capacity{N: rapid.IntRange(300, 2000).Draw(t, "window")}})
		group := map[int][]session.Item{} // by ordinal
		for i, g := range groups {
			group[i] = g
		}
		accepted := map[string]bool{}
		var joined []session.Seq // the maps, as the first level took them
		for step := 0; ; step++ {
			if step > 500 {
				t.Fatal("it does not end")
			}
			c, g := *w.state().Branch.Compaction, w.state().Branch.Staging
			need := compact.Next(c, g)
			switch {
			case need.Failed == "repartitions" || need.Failed == "too_long" || need.Failed == "audit" || need.Failed == "summaries_too_large":
				return
			case need.Failed != "":
				t.Fatalf("failed: %s", need.Failed)
			case need.Commit:
				finished(t, g, group, source, joined)
				return
			case need.Repack:
				repacked(w, g, group)
				continue
			}
			if g.Sequential && len(g.Missing) > 0 && len(need.Units) != 1 || len(need.Units) > compact.MaxMaps {
				t.Fatalf("%d units at once", len(need.Units))
			}
			for _, u := range need.Units {
				if accepted[u.Name()] {
					t.Fatalf("%s was accepted already", u.Name())
				}
			}
			u := rapid.SampledFrom(need.Units).Draw(t, "unit") // the one that ends first
			sent := w.add(session.RequestSent{Compaction: begun, Unit: u.Name()})
			switch rapid.SampledFrom([]string{"whole", "whole", "whole", "whole", "whole", "lost", "error", "overflow"}).Draw(t, "end") {
			case "lost":
				w.add(session.ReplyRejected{Request: sent, Class: "lost"})
				continue
			case "error":
				w.add(session.ReplyRejected{Request: sent, Class: "error", Error: &session.ProviderError{Kind: "server", Retry: true}})
				if compact.Failing(*w.state().Branch.Compaction, g) != "" {
					w.add(session.StagingSequenced{Staging: staging, Missing: g.Missing})
				}
				continue
			case "overflow":
				w.add(session.ReplyRejected{Request: sent, Class: "overflow", Error: &session.ProviderError{Kind: "context_length", Sub: "input"}})
				continue
			}
			w.add(session.ReplyCompleted{Request: sent, Finish: "natural"})
			tokens := est(rapid.IntRange(1, 200).Draw(t, "tokens"))
			if u.Stage == "reduce" && u.Level == 1 {
				joined = append(joined, u.Texts...)
			}
			switch u.Stage {
			case "map":
				w.add(session.StagingMapped{Staging: staging, Ordinal: u.Ordinal, First: group[u.Ordinal][0].ID, Tokens: tokens})
			case "reduce":
				w.add(session.StagingReduced{Staging: staging, Level: u.Level, Group: u.Group, Inputs: u.Inputs, Final: u.Final, Tokens: tokens})
			case "audit":
				pass := rapid.IntRange(0, 3).Draw(t, "pass") > 0
				w.add(session.StagingAudited{Staging: staging, Candidate: u.Texts[0], Maps: u.Inputs, Pass: pass})
			case "correct":
				w.add(session.StagingCorrected{Staging: staging, Round: u.Round, Tokens: tokens})
			}
			accepted[u.Name()] = true
		}
	})
}

// repacked divides the maps that are missing into single items.
func repacked(w *writer, g *session.Staging, group map[int][]session.Item) {
	var missing [][]session.Item
	for _, o := range g.Missing {
		missing = append(missing, group[o])
	}
	slices.SortFunc(missing, func(a, b []session.Item) int { return a[0].ID.Compare(b[0].ID) })
	missing, _ = compact.Repack(missing, 100)
	for i, m := range missing {
		group[g.Next+i] = m
	}
	w.add(session.StagingRepartitioned{Staging: g.At, Round: g.Round + 1, Dropped: g.Missing, N: len(missing), Target: 100})
}

// finished checks that the maps are of the whole source, each once, and were
// joined in order.
func finished(t *rapid.T, g *session.Staging, group map[int][]session.Item, source []session.ItemID, joined []session.Seq) {
	var got []session.ItemID
	var maps []session.Seq
	for _, m := range g.Maps {
		got = append(got, ids(group[m.Ordinal])...)
		maps = append(maps, m.At)
	}
	if !slices.Equal(got, source) {
		t.Fatalf("the maps are of %v, the source is %v", got, source)
	}
	if !slices.Equal(joined, maps) {
		t.Fatalf("joined %v, the maps in order are %v", joined, maps)
	}
	if len(g.Audited) != len(g.Maps) {
		t.Fatalf("audited %v of %d maps", g.Audited, len(g.Maps))
	}
}

// MR-7: eight levels at most, however little shorter each is.
func TestReductionsEnd(t *testing.T) {
	g := &session.Staging{Version: compact.Version, Window: session.Capacity{N: 1000}}
	for i := range 64 {
		g.Maps = append(g.Maps, session.Mapped{Ordinal: i, At: session.Seq(100 + i), Tokens: est(400)})
	}
	c := session.Compacting{Route: "map_reduce"}
	for at, level := session.Seq(1000), 1; ; at++ {
		n := compact.Next(c, g)
		if n.Failed != "" {
			if n.Failed != "levels" || level != compact.MaxLevels {
				t.Fatalf("%q at level %d", n.Failed, level)
			}
			return
		}
		u := n.Units[0]
		if u.Final || u.Level < level || u.Level > compact.MaxLevels {
			t.Fatalf("%+v after level %d", u, level)
		}
		level = u.Level
		g.Reduced = append(g.Reduced, session.Reduction{At: at, Level: u.Level, Group: u.Group, Inputs: u.Inputs, Tokens: est(400 - level)})
	}
}

func ExampleUnit_Name() {
	fmt.Println(compact.Unit{Stage: "map", Ordinal: 3}.Name(), compact.Unit{Stage: "audit", Round: 1, Group: 2}.Name(), compact.Unit{Stage: "one_shot"}.Name())
	// Output: map/3 audit/1/2 one_shot
}

// Whatever a log says of a staging, there is one thing that is missing of it, or a reason.
func TestNextOfAnything(t *testing.T) {
	small := rapid.IntRange(-2, 9)
	ints := rapid.SliceOfN(small, 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		w := write(t, 8)
		begun := w.add(session.CompactionStarted{Route: rapid.SampledFrom([]string{"one_shot", "map_reduce", "?"}).Draw(t, "route")})
		of := w.add(session.StagingCreated{Compaction: begun, Version: compact.Version, N: small.Draw(t, "n"), Window: session.Capacity{N: 500 * small.Draw(t, "window")}})
		for range rapid.IntRange(0, 20).Draw(t, "events") {
			w.add(rapid.SampledFrom([]session.Event{
				session.SummarizerTried{Compaction: begun, I: small.Draw(t, "i"), Outcome: "started"},
				session.RequestSent{Compaction: begun, Unit: "map/1"},
				session.ReplyRejected{Request: w.fold.Head(), Class: rapid.SampledFrom([]string{"overflow", "error", "lost"}).Draw(t, "class")},
				session.StagingMapped{Staging: of, Ordinal: small.Draw(t, "ordinal"), First: session.Seq(small.Draw(t, "first") + 2).Item(), Tokens: w.size()},
				session.StagingReduced{Staging: of, Level: small.Draw(t, "level"), Group: small.Draw(t, "group"), Inputs: ints.Draw(t, "inputs"), Final: rapid.Bool().Draw(t, "final"), Tokens: w.size()},
				session.StagingReread{Staging: of, Level: small.Draw(t, "level"), Group: small.Draw(t, "group")},
				session.StagingAudited{Staging: of, Candidate: w.fold.Head(), Maps: ints.Draw(t, "maps"), Pass: rapid.Bool().Draw(t, "pass")},
				session.StagingCorrected{Staging: of, Round: small.Draw(t, "round")},
				session.StagingRepartitioned{Staging: of, Round: small.Draw(t, "round"), Dropped: ints.Draw(t, "dropped"), N: small.Draw(t, "n")},
				session.StagingRenewed{Staging: of},
			}).Draw(t, "event"))
			c := *w.state().Branch.Compaction
			n := compact.Next(c, w.state().Branch.Staging)
			said := len(n.Units)
			for _, is := range []bool{n.Repack, n.Commit, n.Failed != ""} {
				if is {
					said++
				}
			}
			if said == 0 || said > 1 && len(n.Units) != said {
				t.Fatalf("%+v", n)
			}
			compact.Spent(c)
			compact.Attempt(c, "map/1")
			compact.Voids(w.state().Branch.Staging, w.view(), compact.Cut{})
		}
	})
}
