package words

import (
	"fmt"
	"slices"
	"strings"

	"varve/internal/session"
)

// CompactionFailed says why no checkpoint was made, then what to do. detail is
// what was recorded with it, or "".
// With kept, parts of the summary were accepted.
func CompactionFailed(kind, detail string, kept bool) string {
	o := compactionFailed(kind)
	if kind == "cancelled" && kept {
		o.Hint = strings.TrimSuffix(o.Hint, ".") + "; what was accepted of the summary is kept."
	}
	if !kept {
		o.Hint = strings.Replace(o.Hint, "; what was accepted is kept", "", 1)
	}
	if d := strings.TrimRight(OneLine(detail), ".?!"); kind == "exhausted" && d != "" {
		who := "the last one"
		if m, why, ok := strings.Cut(d, ": "); ok && strings.Contains(m, "/") && !strings.ContainsAny(m, " \t") {
			who, d = who+", "+m, why
		}
		return Outcome{"No summarization model gave a whole summary; " + who + ": " + WhyNot(d) + ".", o.Hint}.String()
	}
	if d := strings.TrimRight(OneLine(detail), ".?!"); d != "" && kind != "internal" {
		o.Line = strings.TrimSuffix(o.Line, ".") + ": " + d + "."
	}
	return o.String()
}

func compactionFailed(kind string) Outcome {
	same := "The conversation is as it was."
	switch kind {
	case "nothing":
		return Outcome{"There is nothing that could be summarized.", ""}
	case "cancelled":
		return Outcome{"Summarizing was stopped.", same}
	case "exhausted":
		return Outcome{"No summarization model gave a whole summary.", same}
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

// WhyNot is why an attempt of a summarizer is no evidence, or why it is not
// asked (FIN-1, SUM-3).
func WhyNot(why string) string {
	code, more, _ := strings.Cut(why, ": ")
	if s := whyNot(code); more != "" && s != code {
		return s + " (" + OneLine(more) + ")"
	}
	return whyNot(why)
}

func whyNot(why string) string {
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
	}
	if o := Failure(why, 0); !strings.HasPrefix(o.Line, "The turn failed") {
		return strings.ToLower(o.Line[:1]) + strings.TrimSuffix(o.Line[1:], ".")
	}
	return OneLine(why)
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

// Compacting is how far a compaction has come (MR-12): its phase, and who is
// asked. Both are "" where none runs.
func Compacting(b session.Branch) (phase, who string) {
	c := b.Compaction
	if c == nil {
		if b.Asked != nil && (b.Turn == nil || b.Asked.By != "user") {
			return "looking at what can be summarized", ""
		}
		return "", ""
	}
	if c.Entry >= 0 && c.Entry < len(c.Started.Chain) {
		who = fmt.Sprintf("%s %d/%d", c.Started.Chain[c.Entry], c.Entry+1, len(c.Started.Chain))
	}
	g := b.Staging
	if c.Route != "map_reduce" || g == nil || g.Legacy {
		return "one request", who
	}
	running := func(stage string) (n int, unit string) {
		for _, a := range c.Open {
			if strings.HasPrefix(a.Unit, stage+"/") {
				n, unit = n+1, a.Unit
			}
		}
		return n, unit
	}
	switch n, _ := running("map"); {
	case len(g.Missing) > 0:
		phase = fmt.Sprintf("maps %d/%d", len(g.Maps), len(g.Maps)+len(g.Missing))
		if n > 0 {
			phase += fmt.Sprintf(", %d running", n)
		}
		if g.Sequential {
			phase += ", one at a time"
		}
	case g.Candidate == 0:
		phase = fmt.Sprintf("putting %s together", Count(len(g.Maps), "note"))
		if _, u := running("reduce"); u != "" {
			if level, _, ok := strings.Cut(strings.TrimPrefix(u, "reduce/"), "/"); ok && level != "1" {
				phase += ", level " + level
			}
		}
	case g.Objection != 0:
		phase = fmt.Sprintf("correcting it, %d of 2", g.Corrections+1)
	case len(g.Audited) < len(g.Maps):
		phase = fmt.Sprintf("checking it against its notes, %d/%d", len(g.Audited), len(g.Maps))
	default:
		phase = "installing it"
	}
	return phase, who
}

// Attempt is the number of the attempt that is made or waited for, from 1.
func Attempt(c session.Compacting) int {
	t, _ := LastTry(c)
	return t.N + 1
}

// LastTry is what came of the last attempt at what is asked for now. What was tried
// of an earlier part says nothing of this one.
func LastTry(c session.Compacting) (last session.Tries, ok bool) {
	for _, t := range c.Tries {
		open := slices.ContainsFunc(c.Open, func(a session.Asking) bool { return a.Unit == t.Unit })
		if t.N == 0 || len(c.Open) > 0 && !open {
			continue
		}
		if !ok || t.N > last.N || len(c.Open) == 0 && t.At > last.At {
			last, ok = t, true
		}
	}
	return last, ok
}
