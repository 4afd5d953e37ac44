package session

import "strings"

// Instructions, catalogs, edits of the view, media.
type (
	// InstructionPublished puts an instruction under its key, in place of the
	// one that stood there (ASM-8). Report is the fingerprint of the assembly it
	// came from, which is recorded in the same batch.
	InstructionPublished struct {
		Key    string `json:"key"`
		Path   string `json:"path"` // PathKey
		Report string `json:"report,omitempty"`
		Text   Text   `json:"text"`
		Tokens Tokens `json:"tokens"`
	}

	InstructionWithdrawn struct {
		Key string `json:"key"`
	}

	// AssemblyReported says where instructions were looked for and what came
	// of each source ([]AssemblySource in the body, ASM-3).
	AssemblyReported struct {
		Fingerprint string `json:"fingerprint"`
		N           int    `json:"n"`
		Omitted     int    `json:"omitted,omitzero"`
		Sources     Text   `json:"sources"`
	}

	AssemblySource struct {
		Path    string `json:"path"`
		Key     string `json:"key"`
		SHA256  string `json:"sha256,omitempty"`
		Size    int64  `json:"size"`
		Outcome string `json:"outcome"` // published, unchanged, omitted, blank
		Why     string `json:"why,omitempty"`
	}

	CatalogPublished struct {
		Key        string `json:"key"`
		Title      Text   `json:"title"`
		Supersedes ItemID `json:"supersedes,omitzero"`
		Stale      bool   `json:"stale,omitzero"`
		Snapshot   Text   `json:"snapshot"`
		Text       Text   `json:"text"`
		Tokens     Tokens `json:"tokens"`
	}

	CatalogRefreshed struct {
		Item     ItemID `json:"item"`
		Snapshot Text   `json:"snapshot"`
		Stale    bool   `json:"stale,omitzero"`
	}

	CatalogDropped struct {
		Item ItemID `json:"item"`
	}

	ItemMasked struct {
		Item   ItemID `json:"item"`
		Call   ItemID `json:"call"`
		Text   Text   `json:"text"`
		Tokens Tokens `json:"tokens"`
	}

	ItemReplaced struct {
		Item   ItemID `json:"item"`
		Why    string `json:"why"` // repair, redact
		Text   Text   `json:"text"`
		Tokens Tokens `json:"tokens"`
	}

	ItemRemoved struct {
		Item ItemID `json:"item"`
		Why  string `json:"why"`
	}

	MediaAdmitted struct {
		Handle string `json:"handle"`
		Media  Text   `json:"media"`
		Name   Text   `json:"name"`
		Width  int    `json:"width,omitzero"`
		Height int    `json:"height,omitzero"`
		Pages  int    `json:"pages,omitzero"`
	}

	MediaNoted struct {
		Items []ItemID `json:"items"`
		Why   string   `json:"why"` // budget, refused, model
	}
)

func (InstructionPublished) event() string { return "instruction.published" }
func (InstructionWithdrawn) event() string { return "instruction.withdrawn" }
func (AssemblyReported) event() string     { return "assembly.reported" }
func (CatalogPublished) event() string     { return "catalog.published" }
func (CatalogRefreshed) event() string     { return "catalog.refreshed" }
func (CatalogDropped) event() string       { return "catalog.dropped" }
func (ItemMasked) event() string           { return "item.masked" }
func (ItemReplaced) event() string         { return "item.replaced" }
func (ItemRemoved) event() string          { return "item.removed" }
func (MediaAdmitted) event() string        { return "media.admitted" }
func (MediaNoted) event() string           { return "media.noted" }

// HandoffIs begins every handoff that is installed: providers have no role for it, so
// that it arrives as a message of the user's.
const HandoffIs = "Summary of the conversation up to here, written by a summarization model and put here by the application. It is no message of the user.\n\n"

// Handoff is the text of a checkpoint as people read it, who see what it is.
func Handoff(text string) string { return strings.TrimPrefix(text, HandoffIs) }
