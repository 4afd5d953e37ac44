package tools

// Result is what came of a call: the text for the model and the facts for the log.
type Result struct {
	Text    []byte // valid UTF-8, bounded by TOOL-2; of commands without control sequences, of files as they are
	IsError bool

	Interrupted string // "" | ByUser | ByTimeout
	Exit        *int   // exit code of a command that exited
	Signal      string // name of the signal that ended it ("SIGKILL"), when one did
	DurationMS  int64

	LeftOut LeftOut
	Full    *Full // the captured output, when Text is less than it

	Media    []Media
	Changes  []Change
	Watched  bool // of a command: Changes is all that it changed of the watched files (BRN-8)
	Observed []Observed
	Todo     *Todo   // the new plan
	Mask     *Masked // what is replaced in the view
	Job      *Job    // a job that this call left running
	Fault    string  // what to record when the tool itself failed (REL-7)
}

// Who ended a call early.
const (
	ByUser    = "user"
	ByTimeout = "timeout"
)

// LeftOut counts what Text does not carry of the output.
type LeftOut struct{ Bytes, Lines int64 }

// Full is the captured output in Blobs: raw bytes, at most 1 MiB, head and tail when Discarded bytes went between.
type Full struct {
	SHA256    string
	Size      int64
	Discarded int64
}

// Media is a picture or document in Blobs, and the handle that Text names it by (MED-1).
type Media struct {
	Handle    string
	MediaType string
	SHA256    string
	Size      int64
}

// Ops of a Change.
const (
	Created  = "create"
	Modified = "modify"
	Deleted  = "delete"
)

// Change is one file that a call changed. Before and After are blobs, "" where there is none: the file did not
// exist, or MissingWhy says why its bytes were not kept.
type Change struct {
	Path       string // real
	Op         string
	Before     string
	After      string
	Mode       uint32 // permission bits after
	MissingWhy string
}

// Observed is content that the session has now seen (or made), for the stale check.
type Observed struct {
	Path   string // real
	SHA256 string
	Size   int64
}

// Todo is the plan: NextID is the N of the next task-N, so that none is used twice (PLAN-1).
type Todo struct {
	Items  []TodoItem
	NextID int
}

// TodoItem is one line of the plan. Status is pending, in_progress, completed or cancelled.
type TodoItem struct{ ID, Content, ActiveForm, Status string }

// Job is a command in the background. Pid is also its process group.
type Job struct {
	ID  string
	Pid int
}

// JobEnded is the end of a job. Why is exited, killed (job_kill), timeout or closed (the program ends).
type JobEnded struct {
	ID     string
	Call   string
	Exit   *int
	Signal string
	Why    string
}
