// Package export shows a conversation outside of the program: as Markdown, or as
// one HTML page that needs nothing else (BRN-9).
//
// Both are made of the same blocks (blocks.go). What a model, a tool or a person
// wrote is cleaned first (package plain), so that no control, bidi or escape
// character is left in it, and can neither end a fence nor open a tag.
package export

import (
	"io"
	"time"

	"varve/internal/session"
)

// A Conversation is one branch, as it is to be shown.
type Conversation struct {
	Session, Branch string
	Title           string // "": the first message
	Workspace       string // its path; only its last element is shown, and paths below it from there
	Entries         []session.Entry
	Load            func(session.Part) ([]byte, error)
	Missing         string // a sentence on what could not be read, or ""
}

// Markdown writes a conversation as Markdown.
func Markdown(w io.Writer, c Conversation) error {
	_, err := io.WriteString(w, markdownOf(blocksOf(c)))
	return err
}

// HTML writes a conversation as one page without scripts, that loads nothing.
func HTML(w io.Writer, c Conversation) error {
	_, err := io.WriteString(w, htmlOf(blocksOf(c)))
	return err
}

// A page is what both are made of. All of its text is clean.
type page struct {
	title   string
	facts   [][2]string
	missing string
	days    bool // it took more than one
	blocks  []*block
}

type kind string

const (
	said    kind = "said"    // by the user
	answer  kind = "answer"  // text of the model
	thought kind = "thought" // its reasoning
	called  kind = "call"
	shell   kind = "shell"   // a command of the user's own
	summary kind = "summary" // a checkpoint
	todo    kind = "todo"
	changed kind = "changed" // files, and no call did it
	notice  kind = "notice"
)

// A block is one thing in the conversation.
type block struct {
	kind  kind
	at    time.Time
	text  string // Markdown of an answer and a summary, else plain
	lost  string // why the text can't be shown
	final bool   // the answer of its turn (CTX-8)
	mark  string // a word or two: steering, cut off
	media []medium
	tasks []task
	call
	changes []change
}

// A call is a tool call, or a command.
type call struct {
	name, gist string
	args       string // "" where the gist says it all
	state      string // done, failed, refused, stopped, open
	tail       string // how it ended
	out        string
	left       string // what the output does not show
}

type task struct{ status, text string }

// A medium is an attachment. Data are its bytes, nil where they can't be shown.
type medium struct {
	handle, name, media string
	size                int64
	data                []byte
	lost                string
}

// A change is one file that was changed, with its diff where there is one.
type change struct {
	op, path       string
	diff           string
	note           string
	added, removed int
}

// told reports whether a call's line says already which file was changed.
func (x *block) told() bool {
	return len(x.changes) == 1 && x.gist == x.changes[0].path && x.changes[0].diff != ""
}
