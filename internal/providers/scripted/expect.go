package scripted

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Given is how the client is set up: a closed set of keys, see givenKeys and docs/scripted.md.
type Given map[string]string

// Run is the outcome of a whole turn (every attempt, every repair): a closed set of keys, see runKeys.
type Run map[string]string

// Int returns the integer under key, or 0.
func (g Given) Int(key string) int64 { return number(g[key]) }

// Int returns the integer under key, or 0.
func (r Run) Int(key string) int64 { return number(r[key]) }

// Durations returns the comma-separated durations under key.
func (r Run) Durations(key string) []time.Duration {
	var out []time.Duration
	for s := range strings.SplitSeq(r[key], ",") {
		if d, err := time.ParseDuration(s); err == nil {
			out = append(out, d)
		}
	}
	return out
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // checked while parsing the file
	return n
}

// Tri is yes, no, or not said.
type Tri int8

// The values of a Tri.
const (
	Unsaid Tri = iota
	No
	Yes
)

// An Outcome is what one attempt must come to. What the file does not say is free: check only the fields that are set.
type Outcome struct {
	Stated bool
	// Class is a completion class of wire.md §0: natural, tool, length, overflow, refusal, paused, compaction, error,
	// unknown, missing. "" with Kind set means an error before any stream.
	Class string
	// Kind is an error kind of PRV-6: auth, not_found, rate_limit, overloaded, quota, bad_request, context_length,
	// content_filter, network, timeout, server; and gateway, too_large_for_tier. Alternatives are joined by "|".
	Kind        string
	Sub         string // of context_length: input, budget, bytes; of server: empty_tool_finish, protocol; of timeout: idle
	Limit, Used int64  // figures in an overflow text; 0: none
	Retry       Tri
	After       *time.Duration // the wait that the vendor asked for; nil: not said
	Text        *string        // the whole answer, exactly
	Has         []string       // parts of the answer or of the error's message
	Reasoning   *string
	Field       string // the wire field that carried the reasoning, and must carry it on replay
	Calls       []CallOutcome
	NoCalls     bool
	Usage       *Usage // nil: not said
	NoUsage     bool   // usage must be unknown, not zero
	Reset       Tri    // text already shown is withdrawn
	Commit      Tri    // something of the attempt enters the history
	Summary     Tri    // the same stream is accepted as a summary
	Empty       Tri    // finished without text, call or refusal
	Overflow    Tri    // an accepted answer that reports more than the window holds
	Cancelled   Tri
	Repair      string // the change before one resend: "drop FIELD", "swap max_tokens", "system role", …
}

// A CallOutcome is one tool call as the client must see it.
type CallOutcome struct {
	Name string
	Args string // JSON, exact as text unless the test normalises
	ID   string // "" : any non-empty id
	Size int    // if not 0, the length of the arguments; Args is not said
}

// Usage is token counts as a vendor states them, normalised: Prompt includes Cached and CacheWrite.
type Usage struct{ Prompt, Output, Cached, CacheWrite, Reasoning int64 }

// AllowsKind reports whether kind is among the outcome's alternatives.
func (o Outcome) AllowsKind(kind string) bool {
	for k := range strings.SplitSeq(o.Kind, "|") {
		if k == kind {
			return true
		}
	}
	return false
}

const (
	classes = " natural tool length overflow refusal paused compaction error unknown missing "
	kinds   = " auth not_found rate_limit overloaded quota bad_request context_length content_filter network timeout server" +
		" gateway too_large_for_tier "
	subs      = " input budget bytes empty_tool_finish protocol idle "
	givenKeys = " model window host url max_tokens idle semantic cap estimate line_cap tools think_tags no_finish" +
		" local cancel queue role redirect retries connector "
	runKeys = " requests class kind text history screen window kept source notice commit compactions waits user_texts" +
		" remembered calls_run "
)

func oneOf(set, v string) bool { return v != "" && strings.Contains(set, " "+v+" ") }

// expectLine adds one `expect` line to an outcome.
func (o *Outcome) expectLine(ws []word) error {
	o.Stated = true
	if len(ws) > 0 && ws[0].key == "" {
		switch ws[0].val {
		case "error":
			o.Class = "error"
			ws = ws[1:]
		case "refused": // an HTTP error: no stream, no class
			ws = ws[1:]
		case "call":
			return o.callLine(ws[1:])
		default:
			return fmt.Errorf("expect %s: use class=…, error …, refused … or call NAME {args}", ws[0].val)
		}
	}
	for _, w := range ws {
		if err := o.set(w); err != nil {
			return err
		}
	}
	return nil
}

func (o *Outcome) callLine(ws []word) error {
	if len(ws) < 2 || ws[0].key != "" {
		return fmt.Errorf("expect call NAME {args} [id=ID], or expect call NAME size=BYTES")
	}
	c := CallOutcome{Name: ws[0].val}
	for _, w := range ws[1:] {
		switch w.key {
		case "":
			c.Args = w.val
		case "id":
			c.ID = w.val
		case "size":
			n, err := strconv.Atoi(w.val)
			if err != nil {
				return fmt.Errorf("expect call size=%s: not a number", w.val)
			}
			c.Size = n
		default:
			return fmt.Errorf("expect call: unknown %s", w.key)
		}
	}
	o.Calls = append(o.Calls, c)
	return nil
}

func (o *Outcome) set(w word) (err error) {
	bad := func() error { return fmt.Errorf("expect %s=%s: not in the vocabulary", w.key, w.val) }
	switch w.key {
	case "class":
		if o.Class = w.val; !oneOf(classes, w.val) {
			return bad()
		}
	case "kind":
		o.Kind = w.val
		for k := range strings.SplitSeq(w.val, "|") {
			if !oneOf(kinds, k) {
				return bad()
			}
		}
	case "sub":
		if o.Sub = w.val; !oneOf(subs, w.val) {
			return bad()
		}
	case "limit":
		o.Limit, err = strconv.ParseInt(w.val, 10, 64)
	case "used":
		o.Used, err = strconv.ParseInt(w.val, 10, 64)
	case "after":
		var d time.Duration
		d, err = time.ParseDuration(w.val)
		o.After = &d
	case "text":
		o.Text = &w.val
	case "has":
		o.Has = append(o.Has, w.val)
	case "reasoning":
		o.Reasoning = &w.val
	case "field":
		o.Field = w.val
	case "calls":
		if o.NoCalls = w.val == "none"; !o.NoCalls {
			return bad()
		}
	case "usage":
		err = o.usage(w.val)
	case "repair":
		o.Repair = w.val
	default:
		return o.tri(w)
	}
	if err != nil {
		return fmt.Errorf("expect %s: %w", w.key, err)
	}
	return nil
}

func (o *Outcome) tri(w word) error {
	t := map[string]*Tri{
		"retry": &o.Retry, "reset": &o.Reset, "commit": &o.Commit, "summary": &o.Summary,
		"empty": &o.Empty, "overflow": &o.Overflow, "cancelled": &o.Cancelled,
	}[w.key]
	switch {
	case t == nil:
		return fmt.Errorf("expect %s=: unknown key", w.key)
	case w.val == "yes":
		*t = Yes
	case w.val == "no":
		*t = No
	default:
		return fmt.Errorf("expect %s=%s: say yes or no", w.key, w.val)
	}
	return nil
}

// usage reads PROMPT/OUTPUT with optional ,cached=N ,write=N ,reasoning=N, or "unknown".
func (o *Outcome) usage(s string) error {
	if s == "unknown" {
		o.NoUsage = true
		return nil
	}
	u := &Usage{}
	parts := strings.Split(s, ",")
	p, out, ok := strings.Cut(parts[0], "/")
	if !ok {
		return fmt.Errorf("%q is not PROMPT/OUTPUT", s)
	}
	fields := map[string]*int64{"cached": &u.Cached, "write": &u.CacheWrite, "reasoning": &u.Reasoning}
	read := func(to *int64, s string) (err error) {
		*to, err = strconv.ParseInt(s, 10, 64)
		return err
	}
	if err := read(&u.Prompt, p); err != nil {
		return err
	}
	if err := read(&u.Output, out); err != nil {
		return err
	}
	for _, kv := range parts[1:] {
		k, v, _ := strings.Cut(kv, "=")
		to := fields[k]
		if to == nil {
			return fmt.Errorf("unknown usage part %q", k)
		}
		if err := read(to, v); err != nil {
			return err
		}
	}
	o.Usage = u
	return nil
}

// pairs adds key=value words to a closed map.
func pairs(m map[string]string, verb, set string, ws []word) error {
	for _, w := range ws {
		if w.key == "" {
			w.key, w.val = w.val, "yes"
		}
		if !oneOf(set, w.key) {
			return fmt.Errorf("%s %s: unknown key", verb, w.key)
		}
		m[w.key] = w.val
	}
	return nil
}

// A Check is an assertion on a request (`request …`). A request that fails it is a violation.
type Check struct {
	Line int
	// Verb: "is" (the value at Path equals Value as JSON), "absent", "present", "header" (the header Path equals
	// Value; "" means absent), "same" (body equal to the request before), "has" / "lacks" (the body contains Value),
	// "appends" (the messages of the request before start this one).
	Verb, Path, Value string
}

func parseCheck(ln line) (Check, error) {
	c := Check{Line: ln.n}
	ws := ln.words
	if len(ws) == 0 {
		return c, fmt.Errorf("request needs an assertion")
	}
	first := ws[0]
	switch {
	case first.key == "has" || first.key == "lacks":
		c.Verb, c.Value = first.key, first.val
	case first.key != "":
		c.Verb, c.Path, c.Value = "is", first.key, first.val
		if first.quoted {
			c.Value = string(quoteJSON(nil, first.val))
		}
	case first.val == "same" || first.val == "appends":
		c.Verb = first.val
	case first.val == "header" && len(ws) == 2 && ws[1].key != "":
		c.Verb, c.Path, c.Value = "header", ws[1].key, ws[1].val
	case len(ws) == 2 && (ws[1].val == "absent" || ws[1].val == "present"):
		c.Verb, c.Path = ws[1].val, first.val
	default:
		return c, fmt.Errorf("request %s: use PATH=JSON, PATH absent, PATH present, header NAME=V, has=, lacks=, same or appends", first.val)
	}
	return c, nil
}
