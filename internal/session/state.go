package session

import "time"

// A State is one branch at one moment: what a branch operation moves, and
// what only grows (BRN-10; the table is [Fields]). It is a value; nothing that
// it points to is ever written again.
type State struct {
	Branch  Branch
	Session Growing
}

// Branch is the first kind of state: revert, fork and rollback move it.
type Branch struct {
	Name     string
	Head     Seq // the last event that changed view, plan or queue
	View     View
	Plan     Plan
	Queue    []Queued
	Model    Model
	Reason   string // the reasoning choice
	ChosenBy string // who chose Model: as model.chosen says
	Tools    Tools
	Assembly string // fingerprint of the last assembly
	Sent     Sent   // the newest request whose body the next one may begin with
	Size     Size
	Turn     *Turn // nil when idle
	// Asked is a compaction that waits for a safe boundary, Compaction one that
	// is under way, Staging what a MapReduce has come to so far, Checkpoint the
	// newest one: its text is the view's.
	Asked      *Asked
	Compaction *Compacting
	Staging    *Staging
	Checkpoint Checkpointed
	Deferred   bool  // the message that waits begins a turn in which the trigger begins none
	Last       Ended // the turn that ended last
	Run        string
	ReadOnly   string // why this program may not write the branch, or ""
}

// Plan is the model's todo list.
type Plan struct {
	At    Seq // the plan.changed that applies, 0 for none
	Items []PlanItem
	Next  int // the number of the next task id
	Shown bool
	Copy  ItemID // that shows it, where Shown
}

// Queued is an input that waits (CTX-3).
type Queued struct {
	ID     Seq
	Kind   string // steer, queue
	At     Seq    // the event that holds its text
	Text   Text
	Tokens Tokens
	Media  []Media
	Held   bool
}

// Tools are the frozen tool definitions.
type Tools struct {
	At          Seq
	API         string
	Definitions Text
	Tokens      Tokens
	More        []Tools
}

// Sent is a recorded request.
type Sent struct {
	Seq      Seq
	Size     int64
	Model    Model
	Recorded int      // the recorded size of what it carries, as [Branch.Occupied] has it
	Room     Capacity // of the model it was sent to
	Endpoint string
	Limit    int    // of output, as it was sent
	Cut      *Break // what has changed since, so that the next one can't begin with it
}

// Size is how full the window is (CTX-6): what the provider reported for the
// view up to an item, and the recorded sizes of what came since.
type Size struct {
	Reported int // tokens of the view at Seq, 0 when unknown
	Seq      Seq
	Since    int // recorded tokens of items added after it
}

// A Turn is an open turn. Its id is the seq of its first user item.
type Turn struct {
	ID          Seq
	Run         string // the run that works on it
	Cancelled   string // by whom, "" while it goes on
	CancelledAt Seq
	Assembled   bool      // instructions were looked for
	Requests    int       // requests that were sent
	Failed      int       // attempts in a row without a reply
	FailedSince time.Time // when the first of them was rejected
	Open        Open      // the request without an answer, zero for none
	Rejection   *Rejection
	Deferred    bool // no compaction is begun by the trigger any more (CMP-10)
	GaveUp      bool // no shorter request could be made
	Recovered   int  // compactions since the last reply because a request was too long (CMP-14)
	Reply       ReplyCompleted
	ReplyAt     Seq
	Calls       []Call // of the last reply, in order
}

// Open is a request that was sent and not answered yet.
type Open struct {
	Seq     Seq
	Attempt int
}

// Rejection is the last answer, where it was none.
type Rejection struct {
	At    Seq
	Time  time.Time
	Class string
	Error *ProviderError
}

// A Call is a tool call of the last reply, and how far it has come.
type Call struct {
	ID       ItemID
	Name     string
	Judged   bool
	Verdict  string
	Beside   bool // may run beside other calls: as the reply named it, then as judged
	Effects  []string
	Shown    string // hash of what an approval shows
	Question Seq    // the approval that was asked for
	Answer   string
	Started  bool
	Done     bool
}

// Ended is a turn that is over.
type Ended struct {
	Turn   Seq
	At     Seq
	Since  Seq // what ended it: its cancelling, or At
	Status string
	Answer ItemID
	Error  *TurnError
}

// Growing is the second kind of state: it only grows, whatever branch
// operations do.
type Growing struct {
	ID          string
	Format      int
	Workspace   string
	Title       Seq               // the event that holds it, 0 for none
	Settings    SessionConfigured // of this branch's runs
	Configured  Seq
	Mode        string // of permissions, on this branch
	Grants      []Grant
	Usage       []UsageOf
	Windows     []WindowLearned
	Quirks      []EndpointLearned
	Calibration []Ratio
	NextTask    int
	UserItems   int
	Toasts      int
	Jobs        int      // background jobs that were started
	Running     []string // of this branch: those of them whose end is not recorded
}

// A Grant is a rule that a person allowed. Those of scope run hold inside
// their run only (PERM-2).
type Grant struct {
	Rule string
	Run  string
}

// UsageOf is what one model was used for so far.
type UsageOf struct {
	Model    Model
	Requests int
	Unknown  int // requests without a report
	Sum      Usage
}

// A Ratio corrects the size estimate for a model: reported tokens for each
// 1,000 estimated ones (CTX-6).
type Ratio struct {
	Model    Model
	PerMille int
}

// Occupancy is the size of the next request, in tokens. Where the provider
// has reported nothing yet it is an estimate of ours: the recorded sizes of
// view and tools, corrected by what this model reported before.
func (s State) Occupancy() Tokens {
	b := s.Branch
	ratio := s.Session.ratio(b.Model)
	if b.Size.Reported > 0 {
		t := Tokens{N: b.Size.Reported, By: "provider"}
		if b.Size.Since != 0 {
			t = Tokens{N: max(t.N+b.Size.Since*ratio/1000, 0), By: "est"}
		}
		return t
	}
	n := b.View.Tokens() + b.Tools.Tokens.N
	for _, m := range b.Tools.More {
		n += m.Tokens.N
	}
	return Tokens{N: max(n*ratio/1000, 0), By: "est"}
}

// Ratio is how a model's tokens compare with our estimate: reported ones for
// each 1,000 estimated.
func (s State) Ratio(m Model) int { return s.Session.ratio(m) }

// Scaled is a recorded size, corrected by what the branch's model reported
// before.
func (s State) Scaled(tokens int) int { return tokens * s.Session.ratio(s.Branch.Model) / 1000 }

func (g Growing) ratio(m Model) int {
	for _, r := range g.Calibration {
		if r.Model == m {
			return r.PerMille
		}
	}
	return 1000
}

// Kind tells the two kinds of state apart.
type Kind string

// Moves is state that a branch operation sets back; Grows is state that it
// leaves alone; Idles is state that it closes.
const (
	Moves Kind = "moves"
	Grows Kind = "grows"
	Idles Kind = "idles"
)

// Fields says for each field of a state which kind it is (BRN-10).
func Fields() map[string]Kind {
	return map[string]Kind{
		"Branch.Name": Grows, "Branch.Head": Grows, "Branch.View": Moves, "Branch.Plan": Moves,
		"Branch.Queue": Moves, "Branch.Model": Moves, "Branch.Reason": Moves, "Branch.ChosenBy": Moves, "Branch.Tools": Moves,
		"Branch.Assembly": Moves, "Branch.Sent": Grows, "Branch.Size": Moves, "Branch.Turn": Idles,
		"Branch.Asked": Idles, "Branch.Deferred": Idles, "Branch.Compaction": Idles, "Branch.Staging": Moves, "Branch.Checkpoint": Moves,
		"Branch.Last": Grows, "Branch.Run": Grows, "Branch.ReadOnly": Grows,
		"Session.ID": Grows, "Session.Format": Grows, "Session.Workspace": Grows, "Session.Title": Grows,
		"Session.Settings": Grows, "Session.Configured": Grows, "Session.Mode": Grows, "Session.Grants": Grows,
		"Session.Usage": Grows, "Session.Windows": Grows, "Session.Quirks": Grows, "Session.Calibration": Grows,
		"Session.NextTask": Grows, "Session.UserItems": Grows, "Session.Toasts": Grows,
		"Session.Jobs": Grows, "Session.Running": Grows,
	}
}
