package eval

import (
	"crypto/sha256"
	_ "embed" // the trace
	"encoding/hex"
	"strings"

	"varve/internal/providers"
	"varve/internal/session"
)

// long is the trace: 24 turns that look at files, and one that is open, with
// a message of the user that waits. generate_test.go made it.
//
//go:embed testdata/long.jsonl
var long []byte

// What the trace is made of, besides its lines.
const (
	traceID     = "0198f000-0000-7000-8000-0000000e7a10"
	instruction = "You are a coding agent at work on the ledger project."
)

// The markers stand once each in the trace. Each begins a line that a
// summarizer is to carry on, but the stale one, which another overrules.
const (
	stale  = "STALE-8D"
	poison = "LEGACY-0X" // of a buffer that an older program left
)

var markers = []string{"CONSTRAINT-7K", "DECISION-3M", "VERIFIED-9T", "OPEN-2R", "STEER-5W"}

var agentModel = session.Model{Provider: "eval", API: "openai-chat", Model: "agent"}

// smallModel is the summarizer whose window the trace does not fit.
var smallModel = session.Model{Provider: "eval", API: "openai-chat", Model: "small"}

// Windows, in tokens. The agent's trigger is 80 % of its own.
const (
	agentWindow = 20_000
	smallWindow = 4_000
)

// What the trace comes to with the small window: so many maps, so many at once.
const (
	parts  = 6
	atOnce = 4
)

// definitions are the tools of the trace. It is frozen: those of the program
// may change.
var definitions = []providers.ToolSpec{
	{Name: "read", Description: "Read a file.", Schema: []byte(`{"type":"object","properties":{"file_path":{"type":"string"}},"required":["file_path"]}`)},
	{Name: "mask_tool_result", Description: "Replace the newest tool result by a reference.", Schema: []byte(`{"type":"object","properties":{}}`)},
}

// revision names the trace's bytes.
func revision() string {
	sum := sha256.Sum256(long)
	return hex.EncodeToString(sum[:8])
}

// marked are the lines of a text that begin with a word such as OPEN-2R, each
// once, in order.
func marked(text string) []string {
	var out []string
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "-/ ")
		word, rest, ok := strings.Cut(line, ": ")
		kind, code, two := strings.Cut(word, "-")
		if !ok || !two || rest == "" || len(code) != 2 || kind != strings.ToUpper(kind) || seen[word] {
			continue
		}
		seen[word] = true
		out = append(out, line)
	}
	return out
}
