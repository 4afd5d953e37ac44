package session

// Turn, input and requests.
type (
	// Media names an attachment by its handle. Body entry B is its reference.
	Media struct {
		Handle string `json:"handle"`
		B      int    `json:"b"`
	}

	// InputQueued is what a person typed while it could not be taken yet
	// (CTX-3). Its seq is the entry's id.
	InputQueued struct {
		Kind   string  `json:"kind"` // steer, queue
		Media  []Media `json:"media,omitempty"`
		Text   Text    `json:"text"`
		Tokens Tokens  `json:"tokens"`
	}

	InputEdited struct {
		Entry  Seq    `json:"entry"`
		Text   Text   `json:"text"`
		Tokens Tokens `json:"tokens"`
	}

	// InputMoved puts an entry before another, or last where Before is 0.
	InputMoved struct {
		Entry  Seq `json:"entry"`
		Before Seq `json:"before,omitzero"`
	}

	InputRemoved struct {
		Entry Seq `json:"entry"`
	}

	// InputHeld keeps entries back until the user sends them (BRN-5).
	InputHeld struct {
		Entries []Seq `json:"entries"`
	}

	// UserSaid introduces a user item. Without Turn it opens one, whose id is
	// its own seq. With Entry it has no body: its text is that of the entry, as
	// last edited.
	UserSaid struct {
		Turn   Seq     `json:"turn,omitzero"`
		Via    string  `json:"via"` // prompt, queue, steer, handoff
		Entry  Seq     `json:"entry,omitzero"`
		Media  []Media `json:"media,omitempty"`
		Text   *Text   `json:"text,omitempty"`
		Tokens Tokens  `json:"tokens"`
	}

	// ShellRan is a command of the user's own (`!`). Watched is as in
	// [ToolFinished].
	ShellRan struct {
		Exit       int    `json:"exit"`
		DurationMS int64  `json:"duration_ms"`
		Watched    bool   `json:"watched,omitzero"`
		Text       Text   `json:"text"`
		Tokens     Tokens `json:"tokens"`
	}

	TurnCancelled struct {
		Turn Seq    `json:"turn"`
		By   string `json:"by"` // user, signal, branch
	}

	TurnResumed struct {
		Turn Seq    `json:"turn"`
		Run  string `json:"run"`
	}

	// TurnEnded closes a turn. Answer is the item of its final answer (CTX-8).
	TurnEnded struct {
		Turn     Seq        `json:"turn"`
		Status   string     `json:"status"` // completed, interrupted, failed, limit
		Answer   ItemID     `json:"answer,omitzero"`
		Error    *TurnError `json:"error,omitempty"`
		Requests int        `json:"requests"`
	}

	TurnError struct {
		Kind string `json:"kind"`
		Hint string `json:"hint,omitempty"` // a code that words knows
	}

	// Capacity is what a model accepts, and who says so.
	Capacity struct {
		N      int    `json:"n"`
		Source string `json:"source"` // setting, reported, catalogue, learned, estimate, none
	}

	// RequestSent freezes what is sent, before it is sent (CTX-3, PFX-3).
	RequestSent struct {
		Job         string   `json:"job"`
		Purpose     string   `json:"purpose"` // agent, one_shot, map, reduce, audit, correct, native, handoff
		Turn        Seq      `json:"turn,omitzero"`
		Compaction  Seq      `json:"compaction,omitzero"`
		Unit        string   `json:"unit,omitempty"` // of a compaction: what it asks for, as map/3
		Attempt     int      `json:"attempt"`
		I           int      `json:"i,omitzero"`
		N           int      `json:"n,omitzero"`
		Model       Model    `json:"model"`
		Endpoint    string   `json:"endpoint"`
		Reasoning   string   `json:"reasoning,omitempty"`
		Revision    Seq      `json:"revision"`
		Capacity    Capacity `json:"capacity"`
		Occupancy   Tokens   `json:"occupancy"`
		OutputLimit int      `json:"output_limit,omitzero"`
		SHA256      string   `json:"sha256"`
		Size        int64    `json:"size"`
		Shared      int64    `json:"shared"`
		Broke       *Break   `json:"broke,omitempty"`
		Recipe      []Step   `json:"recipe,omitempty"`
		Spilled     *Text    `json:"spilled,omitempty"` // the recipe, where it is long
	}

	// Break names what changed the prefix of the request before (PFX-1).
	Break struct {
		Cause string `json:"cause"` // mask, replacement, instruction, tools, catalog, media, checkpoint, branch, model
		Item  ItemID `json:"item,omitzero"`
	}

	// A Step is one piece of a sent body, in order. Exactly one shape is used:
	// the first Take bytes of the body sent at From; literal L of this line's
	// body; or body entry B of the event at Seq, raw or escaped as the inside
	// of a JSON string.
	Step struct {
		From Seq    `json:"from,omitzero"`
		Take int64  `json:"take,omitzero"`
		L    *int   `json:"l,omitempty"`
		Seq  Seq    `json:"seq,omitzero"`
		B    int    `json:"b,omitzero"`
		As   string `json:"as,omitempty"` // raw, str
	}

	// Usage is one request's, normalized (PRV-10). Input is what was neither
	// read from nor written to a cache; a nil *Usage is unknown, never zero.
	Usage struct {
		Input      int      `json:"input"`
		Cached     int      `json:"cached,omitzero"`
		CacheWrite int      `json:"cache_write,omitzero"`
		Output     int      `json:"output"`
		Reasoning  int      `json:"reasoning,omitzero"`
		Cost       *float64 `json:"cost,omitempty"` // US dollars; nil is unknown
	}

	// ReplyCompleted is a whole reply with all its parts, one item each.
	ReplyCompleted struct {
		Request   Seq         `json:"request"`
		Finish    string      `json:"finish"` // natural, tool, length, ...
		RawFinish string      `json:"raw_finish,omitempty"`
		Usage     *Usage      `json:"usage,omitempty"`
		Parts     []ReplyPart `json:"parts,omitempty"`
		Spilled   *Text       `json:"spilled,omitempty"` // the parts, where they are many
	}

	// ReplyPart becomes item seq.k, k from 1 in order.
	ReplyPart struct {
		Kind      string    `json:"kind"` // assistant, reasoning, tool_call, native
		B         int       `json:"b"`
		MediaType string    `json:"media_type,omitempty"`
		Encoding  string    `json:"encoding,omitempty"`
		Tokens    Tokens    `json:"tokens"`
		Call      *CallName `json:"call,omitempty"`
	}

	// CallName is what the provider called a tool call.
	CallName struct {
		ID     string `json:"id"`
		Name   string `json:"name"`
		Beside bool   `json:"beside,omitzero"` // its tool only reads: it may run beside others (TOOL-6)
	}

	// ReplyRejected is an attempt that gave nothing to go on with. Where Kept,
	// the text so far is an assistant item, marked.
	ReplyRejected struct {
		Request   Seq            `json:"request"`
		Class     string         `json:"class"` // length, refusal, missing, stalled, error, cancelled, lost, ...
		RawFinish string         `json:"raw_finish,omitempty"`
		Error     *ProviderError `json:"error,omitempty"`
		Usage     *Usage         `json:"usage,omitempty"`
		Kept      bool           `json:"kept"`
		Text      *Text          `json:"text,omitempty"`
		Tokens    Tokens         `json:"tokens,omitzero"`
	}

	// ProviderError is a typed error (PRV-6). NotBefore is when the provider
	// says that it may be asked again.
	ProviderError struct {
		Kind      string `json:"kind"`
		Sub       string `json:"sub,omitempty"` // of context_length: input, budget, bytes
		Status    int    `json:"status,omitzero"`
		Limit     int    `json:"limit,omitzero"` // tokens
		Used      int    `json:"used,omitzero"`
		NotBefore string `json:"not_before,omitempty"` // RFC 3339, UTC
		Retry     bool   `json:"retry,omitzero"`
		Message   *Text  `json:"message,omitempty"`
	}

	// WindowLearned is a limit that a provider reported (PRV-8).
	WindowLearned struct {
		Model    Model  `json:"model"`
		Endpoint string `json:"endpoint"`
		Role     string `json:"role"` // agent, summarizer
		Limit    int    `json:"limit"`
		Kind     string `json:"kind"` // input, total
		Source   string `json:"source"`
		Dropped  bool   `json:"dropped,omitzero"`
	}

	// EndpointLearned is a quirk that an endpoint showed.
	EndpointLearned struct {
		Endpoint string `json:"endpoint"`
		Model    string `json:"model"`
		Quirk    string `json:"quirk"`
		Value    string `json:"value"`
	}
)

func (InputQueued) event() string     { return "input.queued" }
func (InputEdited) event() string     { return "input.edited" }
func (InputMoved) event() string      { return "input.moved" }
func (InputRemoved) event() string    { return "input.removed" }
func (InputHeld) event() string       { return "input.held" }
func (UserSaid) event() string        { return "user.said" }
func (ShellRan) event() string        { return "shell.ran" }
func (TurnCancelled) event() string   { return "turn.cancelled" }
func (TurnResumed) event() string     { return "turn.resumed" }
func (TurnEnded) event() string       { return "turn.ended" }
func (RequestSent) event() string     { return "request.sent" }
func (ReplyCompleted) event() string  { return "reply.completed" }
func (ReplyRejected) event() string   { return "reply.rejected" }
func (WindowLearned) event() string   { return "window.learned" }
func (EndpointLearned) event() string { return "endpoint.learned" }
