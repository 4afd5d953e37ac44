package tui

import (
	"strings"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui/markdown"
	"varve/internal/tui/plain"
)

// A look is how the transcript is drawn.
type look struct {
	ink       func(role, s string) string
	markdown  markdown.Theme
	now       func() time.Time // of the frame, for what is running
	workspace string           // files in it are called by their path from there
	sides     bool             // changes are drawn side by side where there is room
	full, end string           // the keys that show everything, and go to the end
}

// path is how a file is called.
func (l look) path(s string) string {
	if l.workspace == "" {
		return s
	}
	return strings.TrimPrefix(s, l.workspace+"/")
}

// keyed is what is said with the key for it behind, where there is one.
func keyed(says, key string) string {
	if key == "" {
		return says
	}
	return says + " (" + key + ")"
}

// The roles that rows are drawn in.
const (
	inkDim    = "dim"
	inkAccent = "accent"
	inkUser   = "user"
	inkOK     = "ok"
	inkWarn   = "warn"
	inkError  = "error"
)

type rowKind int

const (
	rowUser rowKind = iota
	rowAssistant
	rowReasoning
	rowCall
	rowShell
	rowNotice // a sentence, and a text that folds
	rowModel  // another model was chosen
	rowTry    // an attempt that gave nothing
	rowFault  // a fault of our own
	rowLost   // a run that nobody closed
	rowEnded  // a turn that ended badly
	rowLive   // what passes
	rowCheckpoint
)

// A row is one thing in the conversation.
type row struct {
	kind   rowKind
	at     session.Seq // of the entry that made it
	n      int         // its number: neighbours have consecutive ones
	item   session.ItemID
	entry  session.Seq // of a message: the queue entry that has its words
	src    source      // what was written; of a call, its arguments as they are
	mark   string      // sent while it worked, interrupted
	media  []string
	head   string // of a notice: its sentence
	ink    string
	hidden bool

	event session.Event // of a row that is linked: what happened
	told  bool          // another row says it
	toolRow
	pulse drive.Pulse
	sum   *summing // of the box of a compaction

	open  bool // unfolded
	shut  bool // folded where everything is in full
	full  bool // drawn was made where everything is
	doc   *markdown.Doc
	seen  int // bytes of the pulse that doc has
	drawn []string
	width int // that drawn is for, 0 for none
	gen   int
	clock int // the second that drawn is for

	stable   int // lines of the document that won't change
	docWidth int // that they are for
}

// toolRow is what a row of a call has.
type toolRow struct {
	name    string
	gist    string
	gisted  bool
	state   callState
	asking  bool
	gone    bool               // it has no end, and its program has
	asks    string             // why, where that is a place
	moved   session.Seq        // the event that state is of
	facts   [facts]session.Seq // the newest event of each kind about it
	began   time.Time
	took    time.Duration
	why     string
	exit    *int
	signal  string
	out     source // its result
	plan    []planTask
	planned bool
	files   []session.FileChange
	sides   *sides // what became of the one file, nil where that is not known
	left    int64  // lines of the output that are not in out: the model did not get them
	job     string
}

type planTask struct{ status, text string }

type callState int

const (
	callWaiting callState = iota
	callRunning
	callDone
	callFailed
	callDenied
	callStopped
)

// A source is a text, and where it stands.
type source struct {
	text    string // clean, with its tabs
	at      session.Seq
	b       int
	size    int64 // where it is missing
	missing bool  // in the content store, or on an older page
	asked   bool
	broken  string // why it can't be read
}

// readPart takes body entry b of e.
func readPart(e session.Entry, b int) source {
	p, err := e.Part(b)
	return sourceOf(e.Seq, b, p, err).clean()
}

// sourceOf is a body entry, as it is.
func sourceOf(at session.Seq, b int, p session.Part, err error) source {
	s := source{at: at, b: b}
	switch {
	case err != nil:
		s.broken = err.Error()
	case p.Ref != nil:
		s.missing, s.size = true, p.Ref.Size
	default:
		s.text = string(p.Bytes)
	}
	return s
}

// clean makes the text one that can be drawn and copied. What is decoded
// before it is drawn, such as a call's arguments, is cleaned after that.
func (s source) clean() source {
	s.text = plain.CleanTabs(s.text, 0)
	return s
}

// give takes a text that was missing, and reports whether it was this one.
func (s *source) give(w want, b []byte, err error, raw bool) bool {
	if !s.missing || s.at != w.at || s.b != w.b {
		return false
	}
	s.missing = false
	switch {
	case err != nil:
		s.broken = err.Error()
	case raw:
		s.text = string(b)
	default:
		s.text = plain.CleanTabs(string(b), 0)
	}
	return true
}

// size is about how many bytes of text the row holds.
func (r *row) size() int {
	n := len(r.src.text) + len(r.out.text) + len(r.head) + 200
	if r.sides != nil {
		n += len(r.sides.before.text) + len(r.sides.after.text)
	}
	return n
}

// forget makes the row be drawn anew.
func (r *row) forget() { r.width = 0 }

// retext is forget where the text is another one.
func (r *row) retext() {
	r.doc, r.gisted = nil, false
	r.forget()
}

// folds reports whether a click unfolds the row.
func (r *row) folds() bool {
	switch r.kind {
	case rowCall, rowReasoning, rowShell:
		return true
	case rowUser:
		return strings.Count(r.src.text, "\n") >= foldUser
	case rowLive:
		return r.pulse.Kind == "reasoning" || r.pulse.Kind == "summary"
	case rowCheckpoint:
		return true
	}
	return r.src.text != "" && r.head != ""
}

// over reports whether a call has its result.
func (r *row) over() bool { return r.state > callRunning }

// counts reports whether the row shows a clock.
func (r *row) counts() bool {
	switch r.kind {
	case rowCall:
		return r.state == callRunning && r.pulse.Kind == "tool"
	case rowLive:
		return r.pulse.Kind == "retry" || r.pulse.Kind == "waiting" || r.pulse.Kind == "shell" ||
			r.pulse.Kind == "summary" && !r.pulse.Began.IsZero()
	}
	return false
}

// time is what the clock of the row says: passed since it began, or left.
func (r *row) time(now time.Time) time.Duration {
	switch {
	case r.pulse.Kind == "retry":
		return r.pulse.Until.Sub(now)
	case r.pulse.Kind == "waiting", r.pulse.Kind == "shell", r.pulse.Kind == "summary":
		return now.Sub(r.pulse.Began)
	}
	return now.Sub(r.began)
}

// flow takes what a pulse has that was not seen yet.
func (r *row) flow(p drive.Pulse) {
	if len(p.Text) != len(r.pulse.Text) || p.Until != r.pulse.Until || p.Why != r.pulse.Why {
		r.forget()
	}
	r.pulse = p
}

// running shows what a tool prints while it runs, if it does.
func (r *row) running(p drive.Pulse) bool {
	if r.over() {
		return false
	}
	if r.state != callRunning || r.pulse.Kind != "tool" || r.pulse.Last != p.Last || len(r.pulse.Text) != len(p.Text) {
		r.forget()
	}
	r.state, r.began, r.pulse = callRunning, p.Began, p
	return true
}

// becomes makes a live row the row of what it announced. What is drawn of a
// text stays, where the text goes on from what was seen.
func (r *row) becomes(k rowKind) {
	r.kind = k
	if k != rowAssistant {
		r.doc = nil
	}
	r.forget()
}

// finish gives a live document the rest of the text that it is a document of.
func (r *row) finish(text string) {
	if r.doc == nil {
		return
	}
	if r.seen > len(text) || text[:r.seen] != string(r.pulse.Text[:r.seen]) {
		r.doc = nil
		return
	}
	r.doc.Append(text[r.seen:])
	r.doc.Finish()
}
