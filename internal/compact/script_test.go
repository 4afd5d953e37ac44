package compact_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"varve/internal/compact"
	"varve/internal/session"
)

func init() {
	if os.Getenv("UPDATE") != "" {
		_ = flag.Set("rewrite", "true")
	}
}

// TestScripts plays the stories of testdata/stories: what is covered, asked for and
// judged after events that are given line by line. Rewrite what they print
// with UPDATE=1 and read the diff. The commands stand at [story.handle].
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		s := story{fold: session.NewFold(), branch: session.MainBranch}
		datadriven.RunTest(t, path, s.handle)
	})
}

type story struct {
	fold   *session.Fold
	branch string
	groups [][]session.Item
	cut    compact.Cut
	out    strings.Builder
}

func (s *story) state() session.State { return s.fold.State(s.branch) }
func (s *story) view() session.View   { return s.state().Branch.View }

func (s *story) say(format string, args ...any) { fmt.Fprintf(&s.out, format, args...) }

func (s *story) handle(t *testing.T, d *datadriven.TestData) string {
	s.out.Reset()
	num := func(name string) (n int) {
		d.MaybeScanArgs(t, name, &n)
		return n
	}
	str := func(name string) (v string) {
		d.MaybeScanArgs(t, name, &v)
		return v
	}
	switch d.Cmd {
	case "log": // folds lines: type key=value…; n=5 is a size, count=5 a number, parts are kind:size or name#id:size
		for line := range strings.Lines(d.Input) {
			if err := s.line(strings.TrimSpace(line)); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		s.say("%d events\n", s.fold.Head())
	case "branch": // the branch that is spoken of from here on
		s.branch = d.CmdArgs[0].Key
	case "view":
		s.list(s.view().All)
	case "plan": // plan older|responded [tail=] [trigger=]
		reach := compact.Older
		if d.HasArg("responded") {
			reach = compact.Responded
		}
		var ok bool
		s.cut, ok = compact.Plan(s.state(), compact.Budget{Tail: num("tail"), Trigger: num("trigger")}, reach)
		if !ok {
			return "nothing to cover\n"
		}
		s.plan()
	case "severed": // the message of the turn that what the plan keeps begins in the middle of
		s.say("%v\n", compact.Severed(s.view(), s.cut.Ranges))
	case "begun": // the message that the plan keeps though work on it is covered
		s.say("%v\n", compact.Begun(s.view(), s.cut.Ranges))
	case "start": // start [route=] [chain=a,b]: the plan is begun
		var chain []session.Model
		for m := range strings.SplitSeq(str("chain"), ";") {
			chain = append(chain, session.Model{Model: m})
		}
		s.add(session.CompactionStarted{Reason: "trigger", Route: str("route"), Ranges: s.cut.Ranges, Source: s.cut.Source, Replaces: s.cut.Replaces, Chain: chain})
		s.add(session.SummarizerTried{Compaction: s.fold.Head(), I: 1, N: len(chain), Model: chain[0], Outcome: "started"})
	case "commit": // commit n=: the plan is committed
		s.add(session.CheckpointCommitted{Kind: "text", Ranges: s.cut.Ranges, Replaces: s.cut.Replaces, Tokens: est(num("n"))})
	case "pack": // pack target=: what is planned
		s.groups = compact.Pack(s.cut.Items(), num("target"))
		s.packed()
	case "repack": // repack target= [of=group;group]
		if of := str("of"); of != "" {
			var some [][]session.Item
			for w := range strings.SplitSeq(of, ";") {
				i, _ := strconv.Atoi(w)
				some = append(some, s.groups[i])
			}
			s.groups = some
		}
		var smaller bool
		s.groups, smaller = compact.Repack(s.groups, num("target"))
		s.packed()
		s.say("smaller: %v\n", smaller)
	case "segments": // segments [first=]
		for _, g := range compact.Segments(s.view(), s.groups, num("first")) {
			s.say("%d: %s (%d)", g.Ordinal, ranges(g.Ranges), g.Tokens.N)
			for _, it := range compact.ItemsOf(s.view(), g.Ranges) {
				s.say(" %v", it.ID)
			}
			s.say("\n")
		}
	case "stage": // stage [window=]: the groups are recorded
		segs := compact.Segments(s.view(), s.groups, 0)
		var all []session.Range
		for _, g := range segs {
			all = append(all, g.Ranges...)
		}
		slices.SortFunc(all, func(a, b session.Range) int { return a.From.Compare(b.From) })
		s.add(session.StagingCreated{
			Version: compact.Version, Compaction: s.compaction(), N: len(segs), Ranges: all, Source: session.Fingerprint(s.view(), all),
			Window: session.Capacity{N: num("window"), Source: "reported"},
		})
	case "mapped": // mapped ordinal n= first=: a map is accepted
		o, _ := strconv.Atoi(d.CmdArgs[0].Key)
		c := s.state().Branch.Compaction
		s.add(session.StagingMapped{Staging: s.state().Branch.Staging.At, Ordinal: o, Model: c.Started.Chain[max(c.Entry, 0)], First: session.Seq(num("first")).Item(), Tokens: est(num("n"))})
	case "reduced": // reduced n= [final]: the unit that is missing is accepted
		for _, u := range s.units(t, "reduce") {
			if u.Final != d.HasArg("final") {
				t.Fatalf("%s: final is %v", u.Name(), u.Final)
			}
			s.add(session.StagingReduced{Staging: s.state().Branch.Staging.At, Level: u.Level, Group: u.Group, Inputs: u.Inputs, Final: u.Final, Tokens: est(num("n"))})
		}
	case "audited": // audited pass|objects
		for _, u := range s.units(t, "audit") {
			s.add(session.StagingAudited{Staging: s.state().Branch.Staging.At, Candidate: u.Texts[0], Maps: u.Inputs, Pass: d.HasArg("pass")})
		}
	case "corrected":
		for _, u := range s.units(t, "correct") {
			s.add(session.StagingCorrected{Staging: s.state().Branch.Staging.At, Round: u.Round, Tokens: est(num("n"))})
		}
	case "asked": // asked unit…: they are sent
		c := s.state().Branch.Compaction
		for _, a := range d.CmdArgs {
			s.add(session.RequestSent{Compaction: c.At, Unit: a.Key, Model: c.Started.Chain[c.Entry]})
		}
	case "failed": // failed unit class= [kind=] [sub=] [retry] [in=30s]: its request gives nothing
		var e *session.ProviderError
		if kind := str("kind"); kind != "" {
			e = &session.ProviderError{Kind: kind, Sub: str("sub"), Retry: d.HasArg("retry")}
			if in := str("in"); in != "" {
				after, err := time.ParseDuration(in)
				if err != nil {
					t.Fatal(err)
				}
				e.NotBefore = at(s.fold.Head() + 1).Add(after).Format(time.RFC3339Nano)
			}
		}
		s.add(session.ReplyRejected{Request: s.open(t, d.CmdArgs[0].Key), Class: str("class"), Error: e})
	case "replied": // replied unit [rejected=why] [lacks]: its reply is whole; it may be no handoff
		q := s.open(t, d.CmdArgs[0].Key)
		s.add(session.ReplyCompleted{Request: q, Finish: "natural"})
		if why := str("rejected"); why != "" {
			r := session.HandoffRejected{Compaction: s.compaction(), Request: q, Why: why}
			if d.HasArg("lacks") {
				r.Missing = []string{"Objective"}
			}
			s.add(r)
		}
	case "tried": // tried i [outcome=] [why=]
		i, _ := strconv.Atoi(d.CmdArgs[0].Key)
		s.add(session.SummarizerTried{Compaction: s.compaction(), I: i, Outcome: str("outcome"), Why: str("why")})
	case "next":
		s.need(s.next())
	case "chain": // chain [unit…]: what is spent, and when the units may be asked again
		c := *s.state().Branch.Compaction
		s.say("entry %d, spent %q, over %d, open %d, failing %q", c.Entry, compact.Spent(c), c.Over, len(c.Open), compact.Failing(c, s.state().Branch.Staging))
		if g := s.state().Branch.Staging; g != nil {
			s.say(", refused %v", compact.Refused(c, *g))
		}
		s.say("\n")
		for _, a := range d.CmdArgs {
			n, when := compact.Attempt(c, a.Key)
			s.say("%s: attempt %d", a.Key, n)
			if !when.IsZero() {
				s.say(" at %s", when.Format("15:04:05.999"))
			}
			if compact.Reminded(c, a.Key) {
				s.say(", reminded")
			}
			s.say(", lacking: %s", compact.Lacks(c, a.Key))
			s.say("\n")
		}
	case "stale":
		s.say("%q\n", compact.Stale(s.view(), s.state().Branch.Compaction.Started))
	case "voids": // of the staging, for what was planned last
		g := s.state().Branch.Staging
		if g == nil {
			return "no staging\n"
		}
		s.say("%q\n", compact.Voids(g, s.view(), s.cut))
	case "over": // over kind=: the compaction has failed
		s.add(session.CompactionFailed{Compaction: s.compaction(), Kind: str("kind")})
	case "goes": // goes [hand] [focus] chain=a;b: what becomes of the staging, for what was planned last
		var chain []session.Model
		for m := range strings.SplitSeq(str("chain"), ";") {
			chain = append(chain, session.Model{Model: m})
		}
		on := compact.Goes(s.state(), compact.Budget{Trigger: num("trigger")}, s.cut, chain, d.HasArg("hand"), d.HasArg("focus"))
		switch {
		case on.Voids != "":
			s.say("void: %s\n", on.Voids)
		case on.Ends:
			s.say("refused: %s are spent\n", on.Stuck)
		default:
			s.say("goes on with %s (%d), spent %q\n", ranges(on.Cut.Ranges), on.Cut.Covers, on.Stuck)
		}
	case "due":
		var b compact.Budget
		b.Trigger = num("trigger")
		s.say("%v at %d\n", compact.Due(s.state(), b), s.state().Occupancy().N)
	default:
		s.text(t, d)
	}
	return s.out.String()
}

// text are the commands that need no session.
func (s *story) text(t *testing.T, d *datadriven.TestData) {
	switch d.Cmd {
	case "budget": // lines: capacity source [threshold]
		for line := range strings.Lines(d.Input) {
			var set session.SessionConfigured
			var c session.Capacity
			f := strings.Fields(line)
			c.N, _ = strconv.Atoi(f[0])
			c.Source = f[1]
			if len(f) > 2 {
				n, _ := strconv.Atoi(f[2])
				set.Compaction.Threshold = &n
			}
			b := compact.BudgetOf(set, c)
			s.say("%-26s window %6d, trigger %6d, tail %5d\n", strings.TrimSpace(line), b.Window, b.Trigger, b.Tail)
		}
	case "finished": // lines: class calls text
		for line := range strings.Lines(d.Input) {
			f := strings.SplitN(strings.TrimSpace(line), " ", 3)
			calls, _ := strconv.Atoi(f[1])
			text, err := strconv.Unquote(f[2])
			if err != nil {
				t.Fatal(err)
			}
			s.say("%-32s %q\n", strings.TrimSpace(line), compact.Finished(f[0], calls, []byte(text)))
		}
	case "route": // lines: own native masked
		for line := range strings.Lines(d.Input) {
			var own, native, masked bool
			if _, err := fmt.Sscan(line, &own, &native, &masked); err != nil {
				t.Fatal(err)
			}
			s.say("%-18s %s\n", strings.TrimSpace(line), compact.Route(own, native, masked))
		}
	case "native-end": // lines: class items calls
		for line := range strings.Lines(d.Input) {
			var class string
			var items, calls int
			if _, err := fmt.Sscan(line, &class, &items, &calls); err != nil {
				t.Fatal(err)
			}
			s.say("%-18s %q\n", strings.TrimSpace(line), compact.FinishedNative(class, items, calls))
		}
	case "measure": // lines: covers handoff before after trigger
		for line := range strings.Lines(d.Input) {
			var m compact.Measure
			if _, err := fmt.Sscan(line, &m.Covers, &m.Handoff, &m.Before, &m.After, &m.Trigger); err != nil {
				t.Fatal(err)
			}
			s.say("%-30s %q\n", strings.TrimSpace(line), m.Reject())
		}
	case "fit": // lines: window
		for line := range strings.Lines(d.Input) {
			n, _ := strconv.Atoi(strings.TrimSpace(line))
			size := compact.Sizing(n)
			s.say("%7d: sizing %7d, reserve %4d, maps %7d, reductions %7d, whole %v, one more %v\n", n, size, compact.Reserve(n), compact.Payload(size, "map"),
				compact.Payload(size, "reduce"), compact.Fits(size-1000-64, 1000, n), compact.Fits(size-1000-63, 1000, n))
		}
	case "missing":
		s.say("%q\n", compact.Missing([]byte(d.Input)))
	case "omitted":
		s.say("%q\n", compact.Omitted([]byte(d.Input)))
	case "fill":
		s.say("%s\n", compact.Fill([]byte(d.Input)))
	case "annotate": // annotate [stale=a;b] [gone=a;b] [ranges=2-7;9] [read] [asked=2]
		var n compact.Notes
		list := func(name string) []string {
			var v string
			if d.MaybeScanArgs(t, name, &v); v == "" {
				return nil
			}
			return strings.Split(v, ";")
		}
		n.Stale, n.Gone, n.Read = list("stale"), list("gone"), d.HasArg("read")
		for _, asked := range list("asked") {
			n.Asked = id(t, asked)
		}
		for _, r := range list("ranges") {
			from, to, two := strings.Cut(r, "-")
			if !two {
				to = from
			}
			n.Ranges = append(n.Ranges, session.Range{From: id(t, from), To: id(t, to)})
		}
		for _, begun := range list("begun") {
			n.Begun = id(t, begun)
		}
		n.Left = list("left")
		s.say("%s\n", compact.Annotate([]byte(d.Input), n))
	case "reread":
		want, asked, why := compact.Reread([]byte(d.Input), s.view())
		s.say("asked %v, %q:", asked, why)
		for _, it := range compact.RawOf(s.view(), want) {
			s.say(" %v", it.ID)
		}
		s.say("\n")
	case "render": // render stage [final] [remind] [level=] [reread=2-7]: what is planned
		u := compact.Unit{Stage: d.CmdArgs[0].Key, Final: d.HasArg("final"), Level: 1}
		src := compact.Source{Items: s.cut.Items(), Prompt: session.Piece{At: 90, B: 1}, Texts: []session.Piece{{At: 91}, {At: 92, B: 2}}, Names: []string{"first", "second"}}
		var reread string
		if d.MaybeScanArgs(t, "reread", &reread); reread != "" {
			u.Reread, _, _ = compact.Reread([]byte("REREAD: "+reread), s.view())
			src.Items = compact.RawOf(s.view(), u.Reread)
		}
		if d.HasArg("bare") {
			src.Items = nil
		}
		if d.HasArg("remind") {
			src.Remind = []string{"Objective", "Next Action"}
		}
		for _, p := range compact.Render(u, src) {
			if p.At == 0 {
				s.out.WriteString(p.Lit)
				continue
			}
			s.say("{%d:%d}", p.At, p.B)
		}
		s.say("\n")
	case "prompt": // prompt [focus=] [target=]: what stands behind the text
		var focus string
		var target *int
		d.MaybeScanArgs(t, "focus", &focus)
		if d.HasArg("target") {
			var n int
			d.ScanArgs(t, "target", &n)
			target = &n
		}
		plain := compact.Prompt("", nil)
		if got := compact.Prompt(focus, target); strings.HasPrefix(got, plain) {
			s.say("%s\n", strings.TrimSpace(got[len(plain):]))
		}
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
}

func (s *story) compaction() session.Seq {
	if c := s.state().Branch.Compaction; c != nil {
		return c.At
	}
	return 0
}

func (s *story) open(t *testing.T, unit string) session.Seq {
	for _, a := range s.state().Branch.Compaction.Open {
		if a.Unit == unit {
			return a.Seq
		}
	}
	t.Fatalf("no request of %s is open", unit)
	return 0
}

func (s *story) next() compact.Need {
	return compact.Next(*s.state().Branch.Compaction, s.state().Branch.Staging)
}

func (s *story) units(t *testing.T, stage string) []compact.Unit {
	n := s.next()
	if len(n.Units) != 1 || n.Units[0].Stage != stage {
		t.Fatalf("%+v is missing, not one %s", n, stage)
	}
	return n.Units
}

func (s *story) need(n compact.Need) {
	for _, u := range n.Units {
		s.say("%s", u.Name())
		if len(u.Texts) > 0 {
			s.say(" inputs %v texts %v", u.Inputs, u.Texts)
		}
		if u.Handoff() {
			s.say(" (handoff)")
		}
		if len(u.Reread) > 0 {
			s.say(" reread %s", ranges(u.Reread))
		}
		s.say("\n")
	}
	if n.Repack || n.Commit || n.Failed != "" {
		s.say("repack %v, commit %v, failed %q\n", n.Repack, n.Commit, n.Failed)
	}
}

func (s *story) plan() {
	s.say("covers %s (%d), keeps %d", ranges(s.cut.Ranges), s.cut.Covers, s.cut.Kept)
	if !s.cut.Replaces.IsZero() {
		s.say(", replaces %v", s.cut.Replaces)
	}
	s.say("\n")
	for _, it := range s.cut.Items() {
		s.say("  %v %s (%d)\n", it.ID, it.Kind, it.Tokens.N)
	}
}

func (s *story) packed() {
	for _, g := range s.groups {
		n := 0
		for i, it := range g {
			if i > 0 {
				s.say(" ")
			}
			s.say("%v", it.ID)
			n += it.Tokens.N
		}
		s.say(": %d\n", n)
	}
}

func (s *story) list(items func(func(session.Item) bool)) {
	for it := range items {
		s.say("%v %s (%d)\n", it.ID, it.Kind, it.Tokens.N)
	}
}

func ranges(all []session.Range) string {
	var out []string
	for _, r := range all {
		w := r.From.String()
		if r.To != r.From {
			w += "-" + r.To.String()
		}
		out = append(out, w)
	}
	return strings.Join(out, ",")
}

func id(t *testing.T, s string) session.ItemID {
	v, err := session.ParseItemID(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func est(n int) session.Tokens { return session.Tokens{N: n, By: "est"} }

func at(q session.Seq) time.Time { return time.Date(2026, 11, 30, 12, 0, int(q), 0, time.UTC) }

func (s *story) add(e session.Event) {
	q := s.fold.Head() + 1
	err := s.fold.Apply(session.Entry{Seq: q, Branch: s.branch, At: at(q), Type: session.Name(e), Event: e})
	if err != nil {
		panic(err)
	}
}

// line folds a line as a file would have it.
func (s *story) line(line string) error {
	words := strings.Fields(line)
	data := map[string]jsontext.Value{}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		v := jsontext.Value(value)
		switch {
		case key == "n":
			key, v = "tokens", fmt.Appendf(nil, `{"n":%s,"by":"est"}`, value)
		case key == "count":
			key = "n"
		case key == "parts":
			v = replyParts(value)
		case !v.IsValid() || slices.Contains([]string{"item", "call", "answer"}, key):
			v = session.AppendQuoted(nil, v)
		}
		data[key] = v
	}
	b, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		return err
	}
	q := s.fold.Head() + 1
	e, err := session.Decode(fmt.Appendf(nil, `{"seq":%d,"prev":"%032d","branch":%q,"at":%q,"type":%q,"data":%s}`,
		q, 0, s.branch, at(q).Format("2006-01-02T15:04:05.000Z"), words[0], b))
	if err != nil {
		return err
	}
	return s.fold.Apply(e)
}

func replyParts(s string) jsontext.Value {
	var parts []session.ReplyPart
	for i, w := range strings.Split(s, ",") {
		kind, size, _ := strings.Cut(w, ":")
		n, _ := strconv.Atoi(size)
		p := session.ReplyPart{Kind: kind, B: i, Tokens: est(n)}
		if name, call, ok := strings.Cut(kind, "#"); ok {
			p.Kind, p.Call = "tool_call", &session.CallName{ID: call, Name: name}
		}
		if kind == "native" {
			p.Encoding = "openai-responses/item"
		}
		parts = append(parts, p)
	}
	b, _ := json.Marshal(parts)
	return b
}
