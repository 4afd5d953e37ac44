// Package tui draws a session and turns keys into commands.
//
// It decides nothing about a session: what to show comes from the log and
// from pulses, what to do goes to an [Agent]. Update does no I/O and View is a
// function of what was received; whatever waits is a tea.Cmd.
//
//	root.go        the one model: window, log, top overlay, screen, in that order
//	chat.go        the conversation: transcript, what passes, composer, status
//	transcript*.go finished items, drawn once for a width
//	composer*.go   what is being written; complete*.go what it offers
//	approve.go     questions that wait for a person
//	status.go      the line at the bottom; toast.go  short notices
//	overlay.go     what lies on top; picker, palette, help, confirm
//	keys.go        the one table of keys and commands
//	theme.go       roles and their looks
//	linear*.go     lines in place of a screen: the plain mode
package tui

import (
	"context"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// An Agent is what the screens ask of a session, wherever it runs. Its calls
// may wait; they are made in commands only.
type Agent interface {
	// Tail returns the newest entries, at most n, oldest first. It is quick
	// also for a session that is still being folded.
	Tail(ctx context.Context, n int) ([]session.Entry, error)
	// Before returns at most n entries before an event, oldest first.
	Before(ctx context.Context, q session.Seq, n int) ([]session.Entry, error)
	// Follow waits for what comes after an event and a version of the pulses.
	// Version 0 has seen nothing, and is answered at once; an answer's is more.
	Follow(ctx context.Context, after session.Seq, version uint64) (drive.Update, error)
	// Submit asks for cmd. Nil means accepted, not finished.
	Submit(ctx context.Context, cmd drive.Command) error
	// Body returns the bytes of body entry b of the event at q, stored content
	// included.
	Body(ctx context.Context, q session.Seq, b int) ([]byte, error)
	// Shell runs a command of the user's own and records it.
	Shell(ctx context.Context, command string) error
	// Files lists paths of the workspace for completion, best known first.
	Files(ctx context.Context) ([]string, error)
	browsing
	// Switch opens another session, or with "" a new one, in place of this
	// one, and says who it is.
	Switch(ctx context.Context, id string) (Identity, error)
	// Turns lists the user's messages of this branch, newest first.
	Turns(ctx context.Context) ([]Turn, error)
	// Limbs lists the branches of this session, oldest first.
	Limbs(ctx context.Context) ([]Limb, error)
	// Branched reports that this session has more than one branch that was not
	// deleted.
	Branched(ctx context.Context) bool
	// Gaps are the places of the session's file that can't be read.
	Gaps(ctx context.Context) []Gap
	// Restores lists the restores of files of this session, newest first.
	Restores(ctx context.Context) ([]Restore, error)
	// PlanFiles says what an operation, or a [FilesBack], would do to files if
	// they came along. Nothing is done. The error is why the operation itself
	// can't be done.
	PlanFiles(ctx context.Context, op drive.Operation) (FilePlan, error)
	// Operate does a branch operation on the conversation. A fork is gone to; one
	// on another branch leaves this one on the screen.
	Operate(ctx context.Context, op drive.Operation) (Operated, error)
	// RestoreFiles does to files what was planned, as far as they are still as
	// the session left them, and records it on the branch that is on the screen.
	// With an error the plan says what was done before it.
	RestoreFiles(ctx context.Context, to drive.FilesTo) (FilePlan, error)
	// Branch goes to another branch of this session.
	Branch(ctx context.Context, name string) (Identity, error)
	// Models lists what can be chosen.
	Models(ctx context.Context) ([]ModelInfo, error)
	// UseModel makes a model the user's choice for new sessions, and the first
	// model of this one where it has none.
	UseModel(ctx context.Context, m session.Model) (Identity, error)
	// Offers lists what a first run can do: a key for a provider, a server that
	// was found on this machine, the demo.
	Offers(ctx context.Context) ([]Offer, error)
	// Take takes an offer up. Identity.Setup stays true where a model is still
	// to be chosen.
	Take(ctx context.Context, id, secret string) (Identity, error)
	// Rule is the narrow rule that "always" would keep for a call, "" where
	// there is none.
	Rule(ctx context.Context, call session.ItemID) (string, error)
	// Allow keeps a rule in the user's settings.
	Allow(ctx context.Context, rule string) error
	// Remember keeps a line of the composer's history.
	Remember(ctx context.Context, line string) error
	// History returns earlier lines, oldest first; those of this folder come last,
	// whenever they were written.
	History(ctx context.Context) ([]string, error)
	// SaveDraft keeps what is written and not sent, "" for nothing, so that it
	// is there after a crash (TUI-4).
	SaveDraft(ctx context.Context, text string) error
	// Lost reports that the session's file is gone: nothing that is done here is
	// kept any more.
	Lost(ctx context.Context) bool
	Reporter
	// Context is what fills the window, for /context.
	Context(ctx context.Context) (ContextInfo, error)
	SettingsStore
	// Editor says how the user's editor is started on a file, program first.
	Editor() []string
	// Identity says who this session is. It never waits.
	Identity() Identity
	noticeReader
}

// Identity is what the screen shows of who and where.
type Identity struct {
	Session   string
	Workspace string
	Home      string // for ~
	GitBranch string
	Model     session.Model // of a session that has chosen none yet
	Mode      string        // of permissions, before the session says
	Script    bool          // the model is a script or a puppet: said on screen (PRV-11)
	Puppet    string        // the folder of pages by which a person plays it, "" for none
	Program   string
	Notice    string // to be said once, at the start
	Draft     string // to be put into the composer, once
	Setup     bool   // there is no model yet: the set-up screen opens (CLI-3)
	// Price is what the use of a model costs in US dollars, where its prices are
	// known and the provider did not say; nil knows none.
	Price func(session.UsageOf) (dollars float64, known bool)
}

// A Gap is a place where events are missing, or, with Changed, one that was
// changed after it was written.
type Gap struct {
	First, Last session.Seq
	Changed     bool
}

// An Offer is a way to begin.
type Offer struct {
	ID, Title, Detail string
	NeedsKey          bool
}

// ModelInfo is a row of the model picker, or with no model a provider that has
// none to choose.
type ModelInfo struct {
	Model     session.Model
	Window    int    // tokens, 0 for unknown
	By        string // who says so: setting, reported, catalogue
	Price     string // in and out
	Can       string // beyond text
	Key       string // where the provider's key is
	State     string // why it can't be chosen, and what to do
	NeedsKey  bool   // that is all it needs
	Unasked   bool   // the provider did not list its models: others may be there
	Favourite bool
	Recent    int // 1 is the newest, 0 none
}
