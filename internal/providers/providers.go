// Package providers speaks to models, in their words.
//
// An adapter per API kind (a folder each) turns a view into the bytes of a
// request, and a stream into a [Reply]. Vendor words stop here: what leaves is
// a class, a typed error, parts and usage. One call of Send is one attempt;
// whether there is another is decided elsewhere, from recorded facts.
package providers

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"varve/internal/session"
)

// A Class says how a stream ended.
type Class string

// The classes (PRV-5). Natural and Tool are success for an agent's turn;
// only Natural is for a summary.
const (
	Natural    Class = "natural"
	Tool       Class = "tool"
	Length     Class = "length"
	Overflow   Class = "overflow"
	Refusal    Class = "refusal"
	Paused     Class = "paused"
	Compaction Class = "compaction"
	Failed     Class = "error"     // an error, before or in the stream; Reply.Err says which
	Unknown    Class = "unknown"   // ended for a reason that we don't know, or with nothing in it
	Missing    Class = "missing"   // the stream stopped without a terminator
	Stalled    Class = "stalled"   // no byte for the stall timeout
	Cancelled  Class = "cancelled" // we stopped it
)

// An ErrorKind is what went wrong, as far as a decision needs to know (PRV-6).
type ErrorKind string

// The kinds of errors.
const (
	Auth            ErrorKind = "auth"
	NotFound        ErrorKind = "not_found"
	RateLimit       ErrorKind = "rate_limit"
	Overloaded      ErrorKind = "overloaded"
	Quota           ErrorKind = "quota"
	BadRequest      ErrorKind = "bad_request"
	ContextLength   ErrorKind = "context_length"
	ContentFilter   ErrorKind = "content_filter"
	Network         ErrorKind = "network"
	Timeout         ErrorKind = "timeout"
	Server          ErrorKind = "server"
	Gateway         ErrorKind = "gateway" // an answer that is no API's: a login page, a proxy's error
	TooLargeForTier ErrorKind = "too_large_for_tier"
	Protocol        ErrorKind = "protocol"    // a stream that breaks its own format
	EmptyReply      ErrorKind = "empty"       // nothing in it: no text, no call
	Unsupported     ErrorKind = "unsupported" // the endpoint says that it does not offer the operation
	OurOwn          ErrorKind = "internal"    // a fault of ours, caught at the border
)

// An Error is a typed provider error. Message is one line for people, without
// markup and without keys, at most 2 KiB.
type Error struct {
	Kind      ErrorKind
	Sub       string        // of ContextLength: input, budget, bytes; of Network: refused, dns, tls
	Status    int           // of HTTP, 0 for none
	Limit     int           // tokens, where the message names it
	Used      int           // tokens, where the message names it
	LimitKind string        // input or total, where Limit is set
	Retry     bool          // asking again may help
	After     time.Duration // wait as told; 0 where not told
	Told      bool          // After comes from the provider
	Code      string        // the vendor's own code or type, for the log
	Param     string        // the request field that it names
	Host      string
	Message   string
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s: %s (status %d): %s", e.Host, e.Kind, e.Status, e.Message)
	}
	return fmt.Sprintf("%s: %s: %s", e.Host, e.Kind, e.Message)
}

// An Endpoint is where and how a provider is reached, resolved just before
// I/O. It never enters the log, but for its URL.
type Endpoint struct {
	Provider     string // its name in setup.json
	BaseURL      string
	Key          string
	Headers      map[string]string
	Profile      string        // the quirk profile, "" for the one that fits the provider or URL
	StallTimeout time.Duration // no byte for so long is a stall; 0 is 120 s
	QuietTimeout time.Duration // nothing but keep-alives for so long is a stall too; 0 is never
	EventLimit   int           // bytes of one event of a stream; 0 is 64 MiB
	NoFinish     bool          // the server never says how a reply ended; its end is natural then, but no RawFinish proves it
	Window       int           // of the model, where known; 0 is unknown
	Client       *http.Client  // nil is a shared one without total deadline
	Clock        Clock         // nil is the system's
}

// A Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	After(time.Duration) <-chan time.Time
}

// A ToolSpec is one tool as the model gets it. Schema is a JSON object.
type ToolSpec struct {
	Name        string
	Description string
	Schema      []byte
}

// Load returns the bytes of body entry b of the event at q, blobs included.
type Load func(q session.Seq, b int) ([]byte, error)

// An Ask is what a request is made from.
type Ask struct {
	Model       session.Model
	Reasoning   string // "" is the provider's default
	OutputLimit int    // 0 sends none
	CacheKey    string // derived from the session, at most 64 characters
	Tools       []session.Tools
	View        iter.Seq[session.Item]
	// Since visits View from an item on, where nothing before it has changed since
	// the encoder's last call; it may be nil, and returns nil where something has.
	Since func(session.ItemID) iter.Seq[session.Item]
	// Prompt is one more message of the user's behind the view, made of pieces:
	// what a summarizer is asked.
	Prompt []session.Piece
	// Compact asks for the kind's own compaction operation on the view, in place
	// of an answer (PRV-9). Kinds that have none refuse it.
	Compact bool
	Quirks  []session.EndpointLearned // of this endpoint and model
	Profile string
}

// An Adapter speaks one API kind.
type Adapter interface {
	// API is the kind's name, as recorded in models: "openai-chat".
	API() string
	// Tools renders definitions as every request carries them. The bytes are
	// recorded once and kept for the session (TOOL-4).
	Tools([]ToolSpec) ([]byte, error)
	// NewEncoder returns an encoder for one branch.
	NewEncoder() Encoder
	// Send makes one attempt. It returns soon after ctx is done, with what it
	// has. It never panics and never returns a nil Err with class Failed.
	Send(ctx context.Context, to Endpoint, body []byte, sink Sink) Reply
}

// An Encoder turns views into request bodies. It keeps what it encoded: an
// item is loaded and encoded once. It is used by one goroutine at a time.
type Encoder interface {
	// Encode returns the blocks of a request, in order. Blocks that did not
	// change since the last call are the same values. It checks what it made
	// (PRV-4): what it returns is never refused for its shape.
	Encode(Ask, Load) ([]Block, error)
}

// A Sink gets what arrives, as it arrives. What was given may be taken back:
// a reply that fails is never kept by it.
type Sink interface {
	// Delta is text of a kind: "text", "reasoning", or "call" (arguments of
	// the call named).
	Delta(kind, name string, text []byte)
}

// SameFamily reports whether native material of one model may go back to the
// other (PRV-2): both are of one provider and kind, and their names agree up to
// the first digit, where versions begin. Material whose model nobody recorded
// counts as the other's own.
func SameFamily(said, asked session.Model) bool {
	family := func(m session.Model) session.Model {
		m.Model = strings.ToLower(m.Model)
		if i := strings.IndexAny(m.Model, "0123456789"); i > 0 {
			m.Model = strings.TrimRight(m.Model[:i], "-_. ")
		}
		return m
	}
	return said == session.Model{} || family(said) == family(asked)
}

// A Part is one part of a reply.
type Part struct {
	Kind      session.ItemKind // assistant, reasoning, tool_call, native
	Bytes     []byte           // text; of a call its arguments, as they came
	MediaType string
	Encoding  string // set for native material, which goes back as it came
	CallID    string
	Name      string
}

// A Reply is what came of one attempt. Usage is reported also where the reply
// is rejected.
type Reply struct {
	Class     Class
	RawFinish string
	Parts     []Part // of a reply that may be kept: Natural, Tool, Length, Unknown
	Partial   []byte // visible text so far, of one that may not
	Usage     *session.Usage
	Err       *Error
	Oversize  bool // it succeeded, though the prompt is larger than the window
	Learned   []session.EndpointLearned
	Window    *session.WindowLearned
}
