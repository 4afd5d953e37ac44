package session

// Tools, approvals and files.
type (
	// CallJudged is what the rules say about a call. Effects are read, write,
	// exec, net; Paths stand in the body as one JSON list.
	CallJudged struct {
		Call        ItemID   `json:"call"`
		Verdict     string   `json:"verdict"` // allow, ask, deny
		Rule        string   `json:"rule,omitempty"`
		Effects     []string `json:"effects,omitempty"`
		Beside      bool     `json:"beside,omitzero"` // may run beside other calls (TOOL-6)
		Paths       *Text    `json:"paths,omitempty"`
		ShownSHA256 string   `json:"shown_sha256,omitempty"`
	}

	// ApprovalRequested asks a person. Its seq is the question's id.
	ApprovalRequested struct {
		Call        ItemID `json:"call,omitzero"`
		What        string `json:"what"` // command, diff, fetch, question, mode, trust
		ShownSHA256 string `json:"shown_sha256"`
		Text        Text   `json:"text"`
	}

	// ApprovalAnswered is history; it grants only inside Run (PERM-2).
	ApprovalAnswered struct {
		Request Seq    `json:"request"`
		Answer  string `json:"answer"` // once, run, always, deny
		Rule    string `json:"rule,omitempty"`
		Run     string `json:"run"`
		By      string `json:"by"` // user, headless
		Text    *Text  `json:"text,omitempty"`
	}

	PermissionChanged struct {
		Mode  string `json:"mode,omitempty"`
		Rule  string `json:"rule,omitempty"`
		Op    string `json:"op"`    // granted, revoked, mode
		Scope string `json:"scope"` // run, user
	}

	ToolStarted struct {
		Call    ItemID   `json:"call"`
		Run     string   `json:"run"`
		Effects []string `json:"effects,omitempty"`
	}

	// LeftOut is what a bounded result does not show (TOOL-2).
	LeftOut struct {
		Bytes     int64 `json:"bytes,omitzero"`
		Lines     int64 `json:"lines,omitzero"`
		Discarded int64 `json:"discarded,omitzero"` // bytes that were not even kept
	}

	ToolFinished struct {
		Call       ItemID  `json:"call"`
		IsError    bool    `json:"is_error"`
		Exit       *int    `json:"exit,omitempty"`
		Signal     string  `json:"signal,omitempty"`
		DurationMS int64   `json:"duration_ms"`
		LeftOut    LeftOut `json:"left_out,omitzero"`
		Full       *Text   `json:"full,omitempty"`
		Media      []Media `json:"media,omitempty"`
		Watched    bool    `json:"watched,omitzero"` // of a command: see [FilesChanged]
		Text       Text    `json:"text"`
		Tokens     Tokens  `json:"tokens"`
	}

	// ToolInterrupted closes a call that did not run to its end. The model
	// gets the text as the call's result.
	ToolInterrupted struct {
		Call    ItemID `json:"call"`
		Why     string `json:"why"` // user, timeout, lost, denied
		Watched bool   `json:"watched,omitzero"`
		Text    Text   `json:"text"`
		Tokens  Tokens `json:"tokens"`
	}

	JobStarted struct {
		Call ItemID `json:"call"`
		Job  string `json:"job"`
		PID  int    `json:"pid"`
	}

	JobEnded struct {
		Job  string `json:"job"`
		Exit *int   `json:"exit,omitempty"`
		Why  string `json:"why"` // exited, killed, timeout, closed, lost
		Text *Text  `json:"text,omitempty"`
	}

	HookRan struct {
		Hook    string `json:"hook"`
		On      string `json:"event"`
		Exit    int    `json:"exit"`
		Blocked bool   `json:"blocked"`
		Text    *Text  `json:"text,omitempty"`
	}

	ServerChanged struct {
		Server string `json:"server"`
		State  string `json:"state"`
		Tools  int    `json:"tools"`
		Text   *Text  `json:"text,omitempty"`
	}

	// FileObserved is the content that the session last saw at a path.
	FileObserved struct {
		Path   string `json:"path"` // PathKey
		SHA256 string `json:"sha256"`
		Size   int64  `json:"size"`
		By     string `json:"by"`
	}

	// FilesChanged lists what a call, a command or a restore changed. The list
	// stands in the body as JSON ([]FileChange). Of a command it is known to be
	// complete, or not needed, where the command's end is marked watched.
	FilesChanged struct {
		By      string `json:"by"` // tool, shell, user, restore
		Call    ItemID `json:"call,omitzero"`
		N       int    `json:"n"`
		Changes Text   `json:"changes"`
	}

	// FileChange is an element of [FilesChanged]. Before and After name the body
	// entries that refer to the content; nil means that there was no file, or,
	// with MissingWhy, that its content was not kept.
	FileChange struct {
		Path       string `json:"path"`
		Op         string `json:"op"` // create, modify, delete
		Before     *int   `json:"before,omitempty"`
		After      *int   `json:"after,omitempty"`
		Mode       uint32 `json:"mode,omitzero"`
		MissingWhy string `json:"missing_why,omitempty"`
	}

	// RestorePlanned lists what a restore is going to do ([]RestoreEntry in
	// the body), before it does it.
	RestorePlanned struct {
		To      Seq  `json:"to"`
		UndoOf  Seq  `json:"undo_of,omitzero"`
		N       int  `json:"n"`
		Entries Text `json:"entries"`
	}

	RestoreEntry struct {
		Path string `json:"path"`
		Want *int   `json:"want,omitempty"` // body entry; nil: no file
		Have string `json:"have"`
		Act  string `json:"act"` // write, delete, leave
		Why  string `json:"why,omitempty"`
	}

	RestoreFinished struct {
		Plan   Seq  `json:"plan"`
		Done   Text `json:"done"`
		Failed Text `json:"failed"`
	}
)

func (CallJudged) event() string        { return "call.judged" }
func (ApprovalRequested) event() string { return "approval.requested" }
func (ApprovalAnswered) event() string  { return "approval.answered" }
func (PermissionChanged) event() string { return "permission.changed" }
func (ToolStarted) event() string       { return "tool.started" }
func (ToolFinished) event() string      { return "tool.finished" }
func (ToolInterrupted) event() string   { return "tool.interrupted" }
func (JobStarted) event() string        { return "job.started" }
func (JobEnded) event() string          { return "job.ended" }
func (HookRan) event() string           { return "hook.ran" }
func (ServerChanged) event() string     { return "server.changed" }
func (FileObserved) event() string      { return "file.observed" }
func (FilesChanged) event() string      { return "files.changed" }
func (RestorePlanned) event() string    { return "restore.planned" }
func (RestoreFinished) event() string   { return "restore.finished" }
