package session

// Compaction and staging. Lists that can outgrow a line's facts (ranges,
// fingerprints, segments) stand in the body as JSON.
type (
	// CompactionRequested asks for one at the next safe boundary.
	CompactionRequested struct {
		By    string `json:"by"` // user, trigger, overflow
		Focus *Text  `json:"focus,omitempty"`
	}

	// CompactionStarted says what is going to be covered, and by whom. Source is
	// the fingerprint of the items in Ranges as they were then.
	CompactionStarted struct {
		Reason       string   `json:"reason"` // trigger, manual, overflow, handoff, switch
		Mode         string   `json:"mode"`
		Route        string   `json:"route"` // one_shot, map_reduce, native
		Ranges       []Range  `json:"ranges"`
		Source       string   `json:"source"`
		Covers       Tokens   `json:"covers"` // what is replaced, an older checkpoint included
		Replaces     ItemID   `json:"replaces,omitzero"`
		BaseRevision Seq      `json:"base_revision"`
		Capacity     Capacity `json:"capacity"`
		Trigger      int      `json:"trigger,omitzero"`
		Tail         int      `json:"tail,omitzero"`
		Chain        []Model  `json:"chain"`
		Own          bool     `json:"own,omitzero"` // the agent's model is asked, with its prefix (SUM-10)
		Turn         Seq      `json:"turn,omitzero"`
		Staging      Seq      `json:"staging,omitzero"` // that it goes on with
		Prompt       Text     `json:"prompt"`           // what the summarizer is asked to do
	}

	SummarizerTried struct {
		Compaction Seq    `json:"compaction"`
		I          int    `json:"i"`
		N          int    `json:"n"`
		Model      Model  `json:"model"`
		Outcome    string `json:"outcome"` // started, unbuildable, spent
		Why        string `json:"why,omitempty"`
	}

	HandoffRejected struct {
		Compaction Seq      `json:"compaction"`
		Request    Seq      `json:"request"`
		Why        string   `json:"why"`
		Missing    []string `json:"missing,omitempty"`
		Next       string   `json:"next,omitempty"` // what follows: again, model, none; "" in older logs
	}

	CheckpointCommitted struct {
		Compaction   Seq      `json:"compaction"`
		Kind         string   `json:"kind"` // text, native
		Ranges       []Range  `json:"ranges"`
		Fingerprints Text     `json:"fingerprints"`
		BaseRevision Seq      `json:"base_revision"`
		Replaces     ItemID   `json:"replaces,omitzero"`
		Stale        []string `json:"stale,omitempty"`
		ToolsGone    []string `json:"tools_gone,omitempty"`
		Before       Tokens   `json:"before"`
		After        Tokens   `json:"after"`
		Text         Text     `json:"text"`
		Tokens       Tokens   `json:"tokens"`
	}

	CompactionFailed struct {
		Compaction Seq    `json:"compaction,omitzero"` // 0: it never started
		Kind       string `json:"kind"`                // cancelled, nothing, exhausted, stale, too_large, audit, …
		Defers     bool   `json:"defers"`              // the trigger begins none in this turn, or in that of the message that waits
		Kept       bool   `json:"kept,omitzero"`       // parts of it were accepted, and the next one goes on with them
		Detail     *Text  `json:"detail,omitempty"`
	}

	StagingCreated struct {
		Version    int      `json:"version"`
		Compaction Seq      `json:"compaction"`
		Ranges     []Range  `json:"ranges"` // of all segments
		Source     string   `json:"source"`
		N          int      `json:"n"`
		Segments   Text     `json:"segments"`
		Target     int      `json:"target"`
		Window     Capacity `json:"window"`
	}

	// Segment is an element of [StagingCreated]: whole items, in order.
	Segment struct {
		Ordinal     int     `json:"ordinal"`
		Ranges      []Range `json:"ranges"`
		Fingerprint string  `json:"fingerprint"`
		Tokens      Tokens  `json:"tokens"`
	}

	StagingMapped struct {
		Staging Seq    `json:"staging"`
		Ordinal int    `json:"ordinal"`
		First   ItemID `json:"first"` // that it covers: the order of the maps
		Request Seq    `json:"request"`
		Model   Model  `json:"model"`
		Text    Text   `json:"text"`
		Tokens  Tokens `json:"tokens"`
	}

	StagingRepartitioned struct {
		Staging  Seq       `json:"staging"`
		Round    int       `json:"round"`
		Dropped  []int     `json:"dropped"`
		N        int       `json:"n"`
		Segments Text      `json:"segments"`
		Target   int       `json:"target"`
		Window   *Capacity `json:"window,omitempty"`
	}

	StagingSequenced struct {
		Staging Seq    `json:"staging"`
		Missing []int  `json:"missing"`
		Why     string `json:"why"`
	}

	StagingReduced struct {
		Staging Seq    `json:"staging"`
		Level   int    `json:"level"`
		Group   int    `json:"group"`
		Inputs  []int  `json:"inputs"`
		Final   bool   `json:"final"`
		Request Seq    `json:"request"`
		Text    Text   `json:"text"`
		Tokens  Tokens `json:"tokens"`
	}

	StagingReread struct {
		Staging Seq     `json:"staging"`
		Level   int     `json:"level"`
		Group   int     `json:"group"`
		Ranges  []Range `json:"ranges"`
	}

	StagingAudited struct {
		Staging   Seq   `json:"staging"`
		Candidate Seq   `json:"candidate"`
		Maps      []int `json:"maps"` // ordinals that it was compared with
		Pass      bool  `json:"pass"`
		Request   Seq   `json:"request"`
		Text      *Text `json:"text,omitempty"`
	}

	StagingCorrected struct {
		Staging Seq    `json:"staging"`
		Round   int    `json:"round"`
		Request Seq    `json:"request"`
		Text    Text   `json:"text"`
		Tokens  Tokens `json:"tokens"`
	}

	StagingRenewed struct {
		Staging Seq       `json:"staging"`
		Model   Model     `json:"model"`
		Budgets []string  `json:"budgets"`
		Window  *Capacity `json:"window,omitempty"`
	}

	StagingInvalidated struct {
		Of  Seq    `json:"of"`
		Why string `json:"why"`
	}
)

// Shapes of older programs: read, never written.
type (
	// StagingSaved is MapReduce staging of version 1 (byte ranges) or 2 (whole
	// items, no completion checks). Its generated text is never used again.
	StagingSaved struct {
		Version   int            `json:"version"`
		Segments  []SavedSegment `json:"segments"`
		Summaries []Text         `json:"summaries"`
	}

	SavedSegment struct {
		Ordinal  int   `json:"ordinal"`
		FromByte int64 `json:"from_byte,omitzero"`
		ToByte   int64 `json:"to_byte,omitzero"`
		Items    []Seq `json:"items,omitempty"`
	}

	// SplitSaved is the buffer of a greedy continuation.
	SplitSaved struct {
		Consumed int  `json:"consumed"`
		Total    int  `json:"total"`
		Text     Text `json:"text"`
	}

	// Unknown is an event of a newer program, carried unread.
	Unknown struct{ Data []byte }
)

func (CompactionRequested) event() string  { return "compaction.requested" }
func (CompactionStarted) event() string    { return "compaction.started" }
func (SummarizerTried) event() string      { return "summarizer.tried" }
func (HandoffRejected) event() string      { return "handoff.rejected" }
func (CheckpointCommitted) event() string  { return "checkpoint.committed" }
func (CompactionFailed) event() string     { return "compaction.failed" }
func (StagingCreated) event() string       { return "staging.created" }
func (StagingMapped) event() string        { return "staging.mapped" }
func (StagingRepartitioned) event() string { return "staging.repartitioned" }
func (StagingSequenced) event() string     { return "staging.sequenced" }
func (StagingReduced) event() string       { return "staging.reduced" }
func (StagingReread) event() string        { return "staging.reread" }
func (StagingAudited) event() string       { return "staging.audited" }
func (StagingCorrected) event() string     { return "staging.corrected" }
func (StagingRenewed) event() string       { return "staging.renewed" }
func (StagingInvalidated) event() string   { return "staging.invalidated" }
func (StagingSaved) event() string         { return "staging.saved" }
func (SplitSaved) event() string           { return "split.saved" }
func (Unknown) event() string              { return "" }
