package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"varve/internal/harness"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// A model answers both as the agent's model and as summarizers.
//
// As a summarizer it is an extract, not a writer: it hands on the marked lines
// that stand in its request, drops what one of them overrules, and compares
// them when it audits. What did not reach it, it can't hand on.
type model struct {
	path path

	mu     sync.Mutex
	sess   *harness.Session // where what is asked was recorded before
	turns  []string         // what the agent says: read FILE, mask, or a text
	said   int
	maps   int           // asked for so far
	wave   chan struct{} // closed when four were
	all    chan struct{} // closed when all six were
	failed bool
	killed bool // and resumed
	faults []string
}

func (m *model) fault(format string, args ...any) {
	m.faults = append(m.faults, fmt.Sprintf(format, args...))
}

// sent is what the log says of a request: it is recorded before it is sent.
func (m *model) sent(body []byte) (session.RequestSent, bool) {
	sum := sha256.Sum256(body)
	sha := hex.EncodeToString(sum[:])
	m.mu.Lock()
	s := m.sess
	m.mu.Unlock()
	for q := session.Seq(0); ; {
		entries, err := s.Entries(q, 1000)
		if err != nil || len(entries) == 0 {
			return session.RequestSent{}, false
		}
		for _, e := range entries {
			q = e.Seq
			if r, ok := e.Event.(session.RequestSent); ok && r.SHA256 == sha {
				return r, true
			}
		}
	}
}

func (m *model) handle(r scripted.Request) scripted.Reply {
	sent, ok := m.sent(r.Body)
	if !ok {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.fault("request %d was sent and not recorded before", r.N)
		return says(r, "")
	}
	text := everything(r.Body)
	switch sent.Purpose {
	case "agent":
		return m.agent(r)
	case "map":
		return m.part(r, sent.Unit, text)
	case "audit":
		return says(r, audit(text))
	}
	return says(r, handoff(marked(text)))
}

// part answers for one map: the first four are answered together, so that
// there are four at once or the path does not end.
func (m *model) part(r scripted.Request, unit, text string) scripted.Reply {
	m.mu.Lock()
	m.maps++
	n := m.maps
	switch n {
	case atOnce:
		close(m.wave)
	case parts:
		close(m.all)
	}
	fail := m.path.fails && unit == "map/0" && !m.failed
	m.failed = m.failed || fail
	hang := m.path.cut && !m.killed && unit != "map/0" && unit != "map/1"
	m.mu.Unlock()
	if n <= atOnce {
		select {
		case <-m.wave:
		case <-r.Context().Done():
		}
	}
	switch {
	case fail:
		return scripted.Reply{Steps: []scripted.Step{
			scripted.Status(503), scripted.Body([]byte(`{"error":{"message":"overloaded","type":"server_error"}}`)),
		}}
	case hang:
		return scripted.Reply{Steps: []scripted.Step{scripted.Role(), scripted.Hang()}}
	}
	return says(r, notes(text))
}

// notes are the marked lines of a part, and the functions that it shows: as
// long as notes are, so that not all fit one reduction.
func notes(text string) string {
	out := append([]string{"Notes of this part:"}, marked(text)...)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "func ") && len(out) < 25 {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, "\n- ")
}

func (m *model) agent(r scripted.Request) scripted.Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.said == len(m.turns) {
		m.fault("the agent was asked once more than there is to do")
		return says(r, "Nothing.")
	}
	what := m.turns[m.said]
	m.said++
	if file, ok := strings.CutPrefix(what, "read "); ok {
		return calls(r, m.said, "read", fmt.Sprintf(`{"file_path":%q}`, file))
	}
	if what == "mask" {
		return calls(r, m.said, "mask_tool_result", `{}`)
	}
	return says(r, what)
}

func says(r scripted.Request, text string) scripted.Reply {
	return scripted.Reply{Steps: []scripted.Step{
		scripted.Role(), scripted.Text(text), scripted.Finish("stop"), counted(r, len(text)), scripted.Done(),
	}}
}

func calls(r scripted.Request, n int, tool, args string) scripted.Reply {
	return scripted.Reply{Steps: []scripted.Step{
		scripted.Role(), scripted.Call(0, fmt.Sprintf("call_%s_%d", tool, n), tool, args, 0), scripted.Finish("tool_calls"), counted(r, len(args)), scripted.Done(),
	}}
}

// counted reports as many tokens as the program itself estimates.
func counted(r scripted.Request, answer int) scripted.Step {
	return scripted.UsageStep(scripted.Usage{Prompt: int64(session.Estimate(len(r.Body)).N), Output: int64(session.Estimate(answer).N)})
}

// everything is all text of a request.
func everything(body []byte) string {
	var b strings.Builder
	gjson.GetBytes(body, "messages.#.content").ForEach(func(_, c gjson.Result) bool {
		for _, p := range append(c.Array(), c.Get("#.text").Array()...) {
			b.WriteString(p.Str + "\n")
		}
		return true
	})
	return b.String()
}

// overruled drops what a later line says no longer holds.
func overruled(lines []string) []string {
	if !slices.ContainsFunc(lines, func(s string) bool { return strings.HasPrefix(s, "INVALID-") }) {
		return lines
	}
	return slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return strings.HasPrefix(s, "STALE-") })
}

// handoff puts marked lines under the headings that they belong to.
func handoff(lines []string) string {
	lines = overruled(lines)
	of := func(kinds ...string) string {
		var b strings.Builder
		for _, l := range lines {
			kind, _, _ := strings.Cut(l, "-")
			if slices.Contains(kinds, kind) {
				b.WriteString("- " + l + "\n")
			}
		}
		return b.String()
	}
	return "## Objective\nThe importer of the ledger project.\n## Constraints\n" + of("CONSTRAINT") +
		"## Decisions and Evidence\n" + of("DECISION") + "## Invalidations\n" + of("INVALID", "STALE") +
		"## Work State\n### Completed\n" + of("VERIFIED") + "### Active\n" + of("OPEN") + "### Blocked\n" +
		"## Next Action\nGo on with the importer.\n## Files\nimport.go\n## Code & Anchors\nnone"
}

// audit compares the handoff, which comes first, with the notes.
func audit(text string) string {
	_, rest, _ := strings.Cut(text, "\n=== The handoff")
	first, notes, _ := strings.Cut(rest, "\n=== ")
	have := marked(first)
	var missing []string
	for _, l := range overruled(slices.Concat(have, marked(notes))) { // notes of other parts may overrule these
		if !slices.Contains(have, l) {
			missing = append(missing, l)
		}
	}
	if len(missing) == 0 && len(have) > 0 {
		return "PASS"
	}
	return "These are missing:\n" + strings.Join(missing, "\n")
}
