package tui

import (
	"context"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// browsing is what the session browser asks of all sessions (BRW). A session is
// named by its id.
type browsing interface {
	// Browse lists the sessions: at once as far as they are known, and again
	// whenever more is known. The channel is closed when all is, or ctx is done.
	Browse(ctx context.Context) <-chan Browsed
	// Said finds the sessions in which a text was said, newest first, and says
	// what could not be looked at, "" for nothing.
	Said(ctx context.Context, text string) ([]Saying, string, error)
	// Tree reads the branches of a session, "" for the one on the screen.
	Tree(ctx context.Context, id string) (Tree, error)
	// Peek reads the last messages at a point, oldest first.
	Peek(ctx context.Context, at Point) ([]Message, error)
	// PlanAt is PlanFiles for any session. The error is also why the operation
	// can't be done now: a turn runs there.
	PlanAt(ctx context.Context, id string, op drive.Operation) (FilePlan, error)
	// OperateAt is Operate for any session; nothing else is gone to. Identity is
	// that of the session on the screen.
	OperateAt(ctx context.Context, id string, op drive.Operation) (Operated, error)
	// RestoreAt is RestoreFiles for any session and branch.
	RestoreAt(ctx context.Context, id, branch string, to drive.FilesTo) (FilePlan, error)
	// RenameAt gives a session a title.
	RenameAt(ctx context.Context, id, branch, title string) error
	// ExportAt writes a branch to a file, and says what is where. The file's name
	// says the format.
	ExportAt(ctx context.Context, id, branch, file string) (string, error)
	// RemoveAt removes the file of a session of which every branch was deleted.
	RemoveAt(ctx context.Context, id string) error
	// OpenAt opens a branch of any session in place of the one on the screen; ""
	// is the one that was used last.
	OpenAt(ctx context.Context, id, branch string) (Identity, error)
}

// Browsed is a list of sessions, as it is known now.
type Browsed struct {
	Sessions []SessionInfo // newest first
	Waiting  int           // large ones that are still to be read whole
	Err      error         // the folders can't be read
}

// SessionInfo is what the browser shows of a session's file.
type SessionInfo struct {
	ID, Title, Workspace, Age, Size string
	Bytes                           int64
	Changed                         time.Time
	Here                            bool   // of this workspace
	Shown                           bool   // it is the one on the screen
	Damage                          string // why not all of it can be read, "" if it can
	Whole                           bool   // Messages and Branches are known
	Model, Spent                    string
	Messages                        int
	Turn                            string       // what is to be known of a turn that has no end
	Branches                        []BranchInfo // that were not deleted, in the order they were made
}

// BranchInfo is what the browser shows of a branch: of its own, without what it
// took over.
type BranchInfo struct {
	Name, Title string // Title: its name, or its first message, or ""
	Age, Model  string
	Spent       string // money where all of it is known, else tokens; "" for nothing
	Changed     time.Time
	Messages    int    // that it has now
	Reverted    string // the revert with which it ends, "" for none
	Turn        string // as of the session
	Shown       bool   // it is the one on the screen
}

// A Saying is the newest message of a session that holds a text, on one line.
type Saying struct{ Session, Branch, Before, Match, After string }

// A Tree is the branches of a session, oldest first.
type Tree struct {
	Session, Title, Damage string
	Limbs                  []Limb
	Restores               []Restore // newest first
}

// A Mark is a place in a branch that can be gone to: a message of the user's, or
// a checkpoint.
type Mark struct {
	Seq        session.Seq
	Checkpoint bool
	Text, Age  string
}

// A Point is a place in a session.
type Point struct {
	Session string
	Branch  string            // "" is the one that was used last
	At      session.Reference // of that branch; the zero value is its end
}

// A Message is what was said, by whom.
type Message struct{ Who, Text string }
