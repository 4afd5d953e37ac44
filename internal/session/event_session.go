package session

// Session, settings and runs.
type (
	// SessionCreated is line 1 of every file.
	SessionCreated struct {
		Format    int     `json:"format"`
		ID        string  `json:"id"`
		Workspace string  `json:"workspace"` // PathKey of the directory
		Program   string  `json:"program"`
		From      *Origin `json:"from,omitempty"`
	}

	// Origin says what an imported, purged or exported session was made from.
	Origin struct {
		Session string `json:"session"`
		Seq     Seq    `json:"seq"`
		Why     string `json:"why"` // import, purge, export
		Gaps    bool   `json:"gaps,omitzero"`
	}

	SessionRenamed struct {
		Title Text   `json:"title"`
		By    string `json:"by"`
	}

	// SessionConfigured records the settings that decisions are made from. An
	// absent key was omitted, which is not the same as its default (CMP-3).
	SessionConfigured struct {
		Run            string     `json:"run,omitempty"`
		Compaction     Compaction `json:"compaction,omitzero"`
		InputLimit     *int       `json:"input_limit,omitempty"`
		OutputLimit    *int       `json:"output_limit,omitempty"`
		MaxRequests    *int       `json:"max_requests,omitempty"`
		Summarizers    []Model    `json:"summarizers,omitempty"`
		Auto           []Model    `json:"auto,omitempty"`
		PermissionMode string     `json:"permission_mode"`
		DisabledTools  []string   `json:"disabled_tools,omitempty"`
		Cache          Cache      `json:"cache,omitzero"`
		Fingerprint    string     `json:"fingerprint"`
	}

	// Compaction is the compaction part of the settings.
	Compaction struct {
		Mode      *string `json:"mode,omitzero"`
		Threshold *int    `json:"threshold,omitempty"`
		Target    *int    `json:"target,omitempty"`
	}

	// Cache is the prompt-cache part of the settings.
	Cache struct {
		AnthropicTTL    string `json:"anthropic_ttl,omitempty"`
		OpenAIRetention string `json:"openai_retention,omitempty"`
	}

	// ToolsDefined freezes the tools: their names, and the bytes that every
	// request of this API kind carries (TOOL-4).
	ToolsDefined struct {
		API         string `json:"api"`
		Names       Text   `json:"names"`
		Definitions Text   `json:"definitions"`
		Tokens      Tokens `json:"tokens"`
	}

	// ToolsExtended adds tools behind the frozen ones.
	ToolsExtended struct {
		API         string `json:"api"`
		Names       Text   `json:"names"`
		Definitions Text   `json:"definitions"`
		Tokens      Tokens `json:"tokens"`
	}

	// RunStarted is one process taking hold of a branch.
	RunStarted struct {
		Run       string `json:"run"`
		PID       int    `json:"pid"`
		Host      string `json:"host"`
		Program   string `json:"program"`
		Interface string `json:"interface"`
	}

	// RunEnded closes a run: closed by its owner, or lost and said so by the
	// next one.
	RunEnded struct {
		Run string `json:"run"`
		How string `json:"how"` // closed, lost
	}

	// LogRepaired closes off bytes that are no event (LOG-7).
	LogRepaired struct {
		Kind   string `json:"kind"` // torn, foreign, gap, chain
		From   int64  `json:"from"`
		To     int64  `json:"to"`
		SHA256 string `json:"sha256"`
		Line   int    `json:"line"`
	}

	// ToastPosted is a short notice. Its words are made from code and
	// arguments where it is shown.
	ToastPosted struct {
		Level   string            `json:"level"` // info, success, warning, error
		Code    string            `json:"code"`
		Args    map[string]string `json:"args,omitempty"`
		About   Seq               `json:"about,omitzero"`
		Actions []string          `json:"actions,omitempty"`
	}

	// FaultRecorded is a fault of our own that was caught at a border (REL-7).
	FaultRecorded struct {
		Where string `json:"where"`
		Kind  string `json:"kind"`
		Job   string `json:"job,omitempty"`
		Text  Text   `json:"text"`
	}

	// SessionPurged is line 2 of a file that a purge wrote. It tells of all purges
	// so far: the lines that are not there as they were, and the requests whose
	// bytes can't be made again for that.
	SessionPurged struct {
		Removed  []Removed `json:"removed"`
		Requests []Seq     `json:"requests,omitempty"`
	}

	// ContentCarried holds a piece of content that an export takes along: the
	// bytes from At on, which are the body's entries joined. Pieces of one content
	// stand in order. MissingWhy says that it could not be had: then it has none.
	ContentCarried struct {
		SHA256     string `json:"sha256"`
		Size       int64  `json:"size"`
		At         int64  `json:"at,omitzero"`
		MissingWhy string `json:"missing_why,omitempty"`
	}

	// SessionExported is the last line of an export, and has the time of its first.
	// SHA256 is over all bytes before it.
	SessionExported struct {
		Branch string `json:"branch"`
		Events int    `json:"events"` // but for carried content and this one
		SHA256 string `json:"sha256"`
	}

	// Removed names one line that a purge changed or left out, as it was.
	Removed struct {
		Seq    Seq    `json:"seq"`
		SHA256 string `json:"sha256"`
	}
)

// Branches, models and the plan.
type (
	// A Reference pins a place in a branch. Seq is earlier than the line that
	// holds it.
	Reference struct {
		Branch string `json:"branch"`
		Seq    Seq    `json:"seq"`
		Select string `json:"select"` // head, before, through, empty
	}

	BranchCreated struct {
		Name    string    `json:"name"`
		From    Reference `json:"from"`
		Plan    Seq       `json:"plan,omitzero"`
		Purpose string    `json:"purpose"` // fork, task, handoff, import
		Call    ItemID    `json:"call,omitzero"`
		Depth   int       `json:"depth,omitzero"`
		API     string    `json:"api,omitempty"`
	}

	BranchRenamed struct {
		Title Text `json:"title"`
	}

	BranchDeleted struct{}

	BranchReverted struct {
		To      Reference `json:"to"`
		Left    Seq       `json:"left"`
		Label   string    `json:"label"`
		Preview Text      `json:"preview"`
		Plan    Seq       `json:"plan,omitzero"`
	}

	BranchRolledBack struct {
		Label string `json:"label"`
		To    Seq    `json:"to"`
		Left  Seq    `json:"left"`
	}

	ModelChosen struct {
		Model     Model     `json:"model"`
		Reasoning string    `json:"reasoning,omitempty"`
		By        string    `json:"by"` // user, router, flag, handoff
		Skipped   []Skipped `json:"skipped,omitempty"`
	}

	Skipped struct {
		Model Model  `json:"model"`
		Why   string `json:"why"`
	}

	// PlanChanged carries the whole list (PLAN-1). AfterItem is the last item
	// at that moment; nil only in the legacy shape, a zero id before any.
	PlanChanged struct {
		Items     []PlanItem `json:"items,omitempty"`
		Spilled   *Text      `json:"spilled,omitempty"` // the items, where they are many
		AfterItem *ItemID    `json:"after_item,omitempty"`
		NextID    int        `json:"next_id"`
		By        string     `json:"by"` // model, user
	}

	// PlanItem is one task. Its words stand in the body: content, active form.
	PlanItem struct {
		ID         string `json:"id"`
		Status     string `json:"status"` // pending, in_progress, completed, cancelled
		Content    int    `json:"b"`
		ActiveForm int    `json:"active_b"`
	}

	PlanShown struct {
		Plan   Seq    `json:"plan"`
		Text   Text   `json:"text"`
		Tokens Tokens `json:"tokens"`
	}
)

func (SessionCreated) event() string    { return "session.created" }
func (SessionRenamed) event() string    { return "session.renamed" }
func (SessionConfigured) event() string { return "session.configured" }
func (ToolsDefined) event() string      { return "tools.defined" }
func (ToolsExtended) event() string     { return "tools.extended" }
func (RunStarted) event() string        { return "run.started" }
func (RunEnded) event() string          { return "run.ended" }
func (LogRepaired) event() string       { return "log.repaired" }
func (ToastPosted) event() string       { return "toast.posted" }
func (FaultRecorded) event() string     { return "fault.recorded" }
func (SessionPurged) event() string     { return "session.purged" }
func (SessionExported) event() string   { return "session.exported" }
func (ContentCarried) event() string    { return "content.carried" }
func (BranchCreated) event() string     { return "branch.created" }
func (BranchRenamed) event() string     { return "branch.renamed" }
func (BranchDeleted) event() string     { return "branch.deleted" }
func (BranchReverted) event() string    { return "branch.reverted" }
func (BranchRolledBack) event() string  { return "branch.rolled_back" }
func (ModelChosen) event() string       { return "model.chosen" }
func (PlanChanged) event() string       { return "plan.changed" }
func (PlanShown) event() string         { return "plan.shown" }
