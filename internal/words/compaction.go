package words

import (
	"fmt"
	"strings"

	"varve/internal/session"
)

// CompactionFailed says why no checkpoint was made, the reason first, then what
// to do. It stands alone. detail is what was recorded with it, or ""; with kept,
// parts of the summary were accepted.
func CompactionFailed(kind, detail string, kept bool) string {
	o := compactionFailed(kind)
	if kind == "cancelled" && kept {
		o.Hint = strings.TrimSuffix(o.Hint, ".") + "; what was accepted of the summary is kept."
	}
	if !kept {
		o.Hint = strings.Replace(o.Hint, "; what was accepted is kept", "", 1)
	}
	d := strings.TrimRight(OneLine(detail), ".?!")
	switch {
	case d == "" || kind == "internal":
	case kind == "exhausted":
		if m, why, ok := strings.Cut(d, ": "); ok && strings.Contains(m, "/") && !strings.ContainsAny(m, " \t") {
			return Outcome{"Not summarized: " + WhyNot(why) + ". That was " + m + ", and nobody is left to ask.", o.Hint}.String()
		}
		return Outcome{"Not summarized: " + WhyNot(d) + ". No summarization model is left to ask.", o.Hint}.String()
	default:
		o.Line = strings.TrimSuffix(o.Line, ".") + ": " + d + "."
	}
	return o.String()
}

// CompactionOver is CompactionFailed below what was said of each model that was
// asked ([Tried]): it repeats none of that.
func CompactionOver(kind, detail string, kept bool) string {
	if kind == "exhausted" {
		detail = ""
	}
	return CompactionFailed(kind, detail, kept)
}

func compactionFailed(kind string) Outcome {
	same := "The conversation is as it was."
	switch kind {
	case "nothing":
		return Outcome{"There is nothing that could be summarized.", ""}
	case "cancelled":
		return Outcome{"Summarizing was stopped.", same}
	case "exhausted":
		return Outcome{"No summarization model is left.", same}
	case "sections":
		return Outcome{"The summary left out its objective, work state or next action, also when it was asked for them.", same}
	case "not_smaller":
		return Outcome{"The summary is no smaller than what it stands for.", same}
	case "over_trigger":
		return Outcome{"With the summary the next request would still be too large.", same}
	case "source_changed":
		return Outcome{"What was being summarized has changed meanwhile.", "/compact begins anew."}
	case "too_long":
		return Outcome{"A request is larger than the summarization model's window.", "Choose one with a larger window. " + same}
	case "item_too_large":
		return Outcome{"One item is larger than the summarization model's window, and items are never cut.", same}
	case "repartitions":
		return Outcome{"The parts were made smaller three times, and are still too large for the summarization model.", "Choose one with a larger window; what was accepted is kept."}
	case "levels":
		return Outcome{"The notes did not become one summary in eight rounds.", "Choose another summarization model, or compact with a focus."}
	case "audit":
		return Outcome{"The summary was corrected twice, and still disagrees with the notes it was made from.", same}
	case "opaque":
		return Outcome{"The summary before is the provider's own, and nobody else can read it.", "Empty the list of summarizers, or fork from before it. " + same}
	case "stuck":
		return Outcome{"This summarization model can't go on with what was accepted.", "Choose another one, or say what to keep in particular; or ask once more: that begins anew, without what was accepted."}
	case "reread_malformed":
		return Outcome{"The summarization model asked to see parts of the conversation again, in a form that names none.", same}
	case "reread_unavailable":
		return Outcome{"The summarization model asked to see parts of the conversation that are not there.", same}
	case "reread_too_large":
		return Outcome{"The summarization model asked to see more of the conversation than fits its window.", same}
	case "reread_again":
		return Outcome{"The summarization model asked a second time to see parts of the conversation.", same}
	case "summaries_too_large":
		return Outcome{"Two notes together are larger than the summarization model's window.", "Choose one with a larger window; what was accepted is kept."}
	case "superseded":
		return Outcome{"Other summarization models are set since the summary was left open: it is made with them.", ""}
	case "internal":
		return Outcome{"A fault in the program itself stopped the summary.", "It was recorded in the session. " + same}
	}
	return Outcome{"The conversation could not be summarized (" + kind + ").", same}
}

// WhyNot is why a summarizer is not asked any more, after its attempts (SUM-3).
func WhyNot(why string) string {
	code, more, _ := strings.Cut(why, ": ")
	if code == "unknown" && strings.Contains(more, "neither text nor a tool call") {
		return attemptOf("empty") // that is how a provider says it
	}
	if s := whyNot(code); more != "" && s != code {
		return s + " (" + strings.TrimRight(OneLine(more), ".") + ")"
	}
	return whyNot(why)
}

func whyNot(why string) string {
	if s := attemptOf(why); s != "" {
		switch why {
		case "rate_limit", "network", "missing", "timeout", "stalled", "overloaded", "server", "error":
			return s + ", after several attempts"
		}
		return s
	}
	if o := Failure(why, 0); !strings.HasPrefix(o.Line, "The turn failed") {
		return strings.ToLower(o.Line[:1]) + strings.TrimSuffix(o.Line[1:], ".")
	}
	return OneLine(why)
}

// attemptOf is why one attempt is no evidence (FIN-1), "" for what has no words
// of its own here.
func attemptOf(why string) string {
	switch why {
	case "length":
		return "its answer was cut off at its output limit, or at context.compaction.target_tokens"
	case "tool_call":
		return "it called a tool instead"
	case "empty":
		return "its answer was empty"
	case "sections":
		return "sections were missing"
	case "paused":
		return "its answer stopped half way"
	case "unknown":
		return "its answer ended for a reason that this program does not know"
	case "lost":
		return "the program ended while it answered"
	case "waits_too_long":
		return "it asks for a longer wait than the program takes by itself"
	case "overflow", "context_length":
		return "the request was too long for it"
	case "settings":
		return "it can't be used as it is set up"
	case "rate_limit":
		return "the provider is limiting requests"
	case "network":
		return "the provider could not be reached"
	case "missing":
		return "its answer was cut off on its way"
	case "timeout", "stalled":
		return "the provider stopped sending"
	case "overloaded":
		return "the provider is overloaded"
	case "server", "error":
		return "the provider failed"
	}
	return ""
}

// Attempted is what came of the last attempt at a unit: of that one alone, more
// may follow.
func Attempted(t session.Tries) string {
	why := t.Class
	switch {
	case t.Error == nil:
	case t.Error.Kind == "empty", t.Class == "error", t.Class == "overflow":
		why = t.Error.Kind
	}
	if s := attemptOf(why); s != "" {
		return s
	}
	return whyNot(why)
}

// Unattended says that the window fills up and nothing is done about it (CMP-3).
func Unattended(percent int) string {
	return fmt.Sprintf("The conversation fills %d %% of the window, and nothing summarizes it by itself: context.compaction.mode is disabled. /compact does it now.", percent)
}

// Tried says that a summarizer is not asked any more, or "" while it is.
func Tried(ev session.SummarizerTried) string {
	who := fmt.Sprintf("%s (%d/%d)", ev.Model, ev.I, ev.N)
	switch ev.Outcome {
	case "unbuildable":
		return who + " can't be asked to summarize: " + strings.TrimRight(WhyNot(ev.Why), ".") + "."
	case "spent":
		return who + " gave no summary: " + strings.TrimRight(WhyNot(ev.Why), ".") + "."
	}
	return ""
}

// Rejected says why a whole summary is not taken (CMP-6, CMP-7).
func Rejected(ev session.HandoffRejected) string {
	switch ev.Why {
	case "sections":
		next := map[string]string{"again": "; it is asked for once more", "model": "; the next model is asked", "none": "; no other model is left to ask"}
		return "The summary lacks " + strings.Join(ev.Missing, ", ") + next[ev.Next] + "."
	case "not_smaller", "over_trigger":
		return compactionFailed(ev.Why).Line
	}
	return "The summary was not taken (" + ev.Why + ")."
}

// voided says that accepted work is of no use any more (MR-9, MR-10).
func voided(why string) string {
	because := map[string]string{
		"legacy": "an older version made them", "version": "another version made them", "source_changed": "what they were made from has changed",
		"source_grown": "too much has come since", "source_protected": "what they were made from is kept as it is now",
		"spent": "no whole summary came of them", "focus": "something else is to be kept in particular",
	}[why]
	if because == "" {
		because = why
	}
	return "Notes of an earlier attempt are not used: " + because + ". They are made anew."
}

// Offer is what can be done after a failure, as commands; "" for nothing. None
// of it has to be done: the turn goes on (SUM-4).
func Offer(actions []string) string {
	var out []string
	for _, a := range actions {
		switch a {
		case "retry":
			out = append(out, "/compact tries again")
		case "anew":
			out = append(out, "/compact begins anew, without what was accepted")
		case "focus": // what was accepted has spent its budget (MR-11)
			out = append(out, "/compact and what to keep begins anew")
		case "models":
			out = append(out, "/summarizers shows who is asked")
		case "go_on":
			out = append(out, "or go on without")
		}
	}
	return strings.Join(out, " · ")
}
