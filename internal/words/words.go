// Package words turns events into sentences for people: on the screen, in
// `run`, in editors.
//
// The log holds codes and arguments; their words are made here, so that a
// better sentence never changes a session (toasts, errors, refusals). A
// sentence says what happened, then what to do.
package words

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"varve/internal/session"
)

// An Outcome is how a turn ended, for a person. Line is "" where the answer
// speaks for itself.
type Outcome struct {
	Line string // what happened
	Hint string // what to do
}

// String is both on one line.
func (o Outcome) String() string {
	if o.Hint == "" || o.Line == "" {
		return o.Line
	}
	return o.Line + " " + o.Hint
}

// TurnEnded says how a turn ended. detail is what the provider or the system
// said, or "".
func TurnEnded(e session.TurnEnded, detail string) Outcome {
	switch e.Status {
	case "completed":
		return Outcome{}
	case "interrupted":
		return Outcome{"Interrupted.", "What was received is kept; send a message to go on."}
	}
	kind := ""
	if e.Error != nil {
		kind = e.Error.Kind
	}
	o := Failure(kind, e.Requests)
	if kind == "unknown_finish" && e.Error.Hint != "" {
		detail = fmt.Sprintf("the provider said %q", e.Error.Hint)
	}
	if d := strings.TrimRight(OneLine(detail), "?!"); d != "" {
		o.Line = strings.TrimSuffix(o.Line, ".") + ": " + d
		if !strings.HasSuffix(o.Line, ".") {
			o.Line += "."
		}
	}
	return o
}

// Failure is the sentence for a kind of failure.
func Failure(kind string, requests int) Outcome {
	switch kind {
	case "auth":
		return Outcome{"The provider refused the key.", "Check it with `agent doctor`; a changed key needs no new session. Then send again."}
	case "not_found":
		return Outcome{"The provider does not know this model or address.", "See `agent models`, or choose another model."}
	case "rate_limit":
		return Outcome{"The provider is limiting requests, and asked for a longer wait than the program takes by itself.", "Wait, then send again."}
	case "overloaded":
		return Outcome{"The provider is overloaded, after several attempts.", "Send again in a while, or choose another model."}
	case "quota":
		return Outcome{"The account's quota or balance is used up.", "Nothing was retried. Top it up, or choose another provider."}
	case "bad_request":
		return Outcome{"The provider refused the request.", "The conversation is unchanged. `agent session requests` prints what was sent."}
	case "context_length":
		return Outcome{"The conversation is longer than the model's window.", "Nothing was lost. /compact summarizes it; /model chooses one with a larger window; /new begins another session."}
	case "content_filter", "refusal":
		return Outcome{"The provider declined to answer.", "The conversation is unchanged; say it another way, or choose another model."}
	case "network":
		return Outcome{"The provider could not be reached, after several attempts.", "Check the network and the address, then send again."}
	case "timeout", "stalled":
		return Outcome{"The provider stopped sending, after several attempts.", "Send again, or choose another model."}
	case "missing":
		return Outcome{"The answer was cut off on its way, after several attempts.", "Nothing of it was kept. Send again."}
	case "server", "error":
		return Outcome{"The provider failed, after several attempts.", "Send again in a while, or choose another model."}
	case "gateway":
		return Outcome{"What answered is not a model's API.", "Check the address (base_url) and any proxy between."}
	case "too_large_for_tier":
		return Outcome{"The request is larger than the account's rate allows at all.", "Waiting can't help. /compact makes the conversation shorter; /model chooses another model; /new begins another session."}
	case "protocol":
		return Outcome{"The provider's answer breaks its own format.", "Nothing of it was kept. Send again, or choose another model."}
	case "empty":
		return Outcome{"The provider sent an empty answer, twice.", "Send again, or choose another model."}
	case "length":
		return Outcome{"The answer was cut off at the model's output limit.", "Send \"go on\" to continue."}
	case "requests":
		return Outcome{fmt.Sprintf("Stopped after %d requests, the limit for one turn.", requests), "Send a message to go on, or raise --max-requests."}
	case "unknown_finish":
		return Outcome{"The answer ended for a reason that this program does not know, so it may be incomplete.", "Send \"go on\" to continue."}
	case "settings":
		return Outcome{"The model can't be used.", "Check the settings with `agent config check`."}
	case "content":
		return Outcome{"Part of the conversation can't be read from the disk.", "`agent session verify` says what is missing."}
	case "internal":
		return Outcome{"A fault in the program itself stopped the turn.", "It was recorded in the session. Send again."}
	}
	return Outcome{"The turn failed (" + kind + ").", "The conversation is unchanged. Send again."}
}

// Waiting says why the next attempt waits, and for how long.
func Waiting(kind string, left time.Duration) string {
	what := map[string]string{
		"rate_limit": "The provider limits requests", "overloaded": "The provider is overloaded", "server": "The provider failed",
		"network": "The provider can't be reached", "missing": "The answer was cut off", "stalled": "The provider stopped sending",
		"timeout": "The provider did not answer", "empty": "The answer was empty",
	}[kind]
	if what == "" {
		what = "The attempt failed"
	}
	return fmt.Sprintf("%s. Next attempt in %d s, Esc stops.", what, int((left+time.Second-1)/time.Second))
}

// Toast is the sentence of a toast, or "" for one that only the log needs.
func Toast(t session.ToastPosted) string {
	switch t.Code {
	case "sources_omitted":
		return t.Args["n"] + " instruction file(s) were left out: " + t.Args["what"]
	case "log_failed":
		return "The session can't be written: " + t.Args["why"] + ". Nothing is lost; it goes on when that is mended."
	case "session_damaged":
		return "Part of this session's file can't be read (" + t.Args["what"] + "). The rest is shown, read-only; `agent session repair` closes that off, so that it can go on."
	case "export_incomplete":
		return "This session was exported with gaps: places of its file that could not be read, " + t.Args["places"] + "; contents that were missing, " + t.Args["contents"] + "."
	case "shell.started": // its output is on the screen
		return ""
	case "saved":
		return "Saved " + t.Args["what"] + "."
	case "compaction.asks":
		s := fmt.Sprintf("Summarizing with %s (%s/%s).", t.Args["model"], t.Args["i"], t.Args["n"])
		if t.Args["after"] != "" {
			s += " " + t.Args["after"] + " gave no summary: " + strings.TrimRight(WhyNot(t.Args["why"]), ".") + "."
		}
		return s
	case "compaction.done":
		return fmt.Sprintf("Summarized: the next request has %s tokens, before it had %s.", roughly(t.Args["after"]), roughly(t.Args["before"]))
	case "compaction.failed":
		return CompactionFailed(t.Args["kind"], t.Args["detail"], t.Args["kept"] != "")
	case "staging.voided":
		return voided(t.Args["why"])
	}
	words := t.Code
	for _, k := range []string{"what", "why"} {
		if v := t.Args[k]; v != "" {
			words += " (" + v + ")"
		}
	}
	return words
}

// Subject is what a toast is about, "" for nothing that goes on: what is said
// later of the same makes up for what was said before.
func Subject(t session.ToastPosted) string {
	if strings.HasPrefix(t.Code, "compaction.") {
		return "compaction"
	}
	return ""
}

// roughly is a number of tokens in its short form, as an estimate.
func roughly(n string) string {
	i, err := strconv.Atoi(n)
	if err != nil {
		return "~" + n
	}
	return Tokens(session.Tokens{N: i})
}

// OneLine makes a text one line of at most 300 characters.
func OneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 300 {
		return string(r[:299]) + "…"
	}
	return s
}

// Count is "1 file", "2 files".
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Bytes is a size for people: 12 B, 3.4 KB, 5.6 MB.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// Tokens is a number of tokens for people, with ~ where it is an estimate.
func Tokens(t session.Tokens) string {
	mark := ""
	if t.By != "provider" {
		mark = "~"
	}
	switch {
	case t.N < 1000:
		return fmt.Sprintf("%s%d", mark, t.N)
	case t.N < 100_000:
		return fmt.Sprintf("%s%.1fk", mark, float64(t.N)/1000)
	case t.N >= 1_000_000:
		return fmt.Sprintf("%s%.1fM", mark, float64(t.N)/1e6)
	}
	return fmt.Sprintf("%s%dk", mark, t.N/1000)
}
