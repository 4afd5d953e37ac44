package scripted

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Kind is an API kind, as named in the durable model selection (PRV-7).
type Kind string

// OpenAIChat is `POST {base}/chat/completions` (wire.md §1.2). The other kinds use the same file format once they
// have an encoder in this package.
const OpenAIChat Kind = "openai-chat"

// A Scenario is one story that a server can play, with what a client should make of it.
type Scenario struct {
	ID     string // "C01", or "C25/abort" for a subtest of a row of wire.md §6
	Title  string // one sentence
	File   string // where it was read
	Line   int
	Kind   Kind
	Vendor string // strict profile, see [Vendors]; "generic" by default
	// Window is the prompt size in tokens (estimated as body bytes / 4) above which the strict vendor answers with its
	// overflow text; 0: no limit.
	Window  int
	Key     string // the only API key the vendor accepts; "" accepts any, or none where the vendor asks for none
	Lenient bool   // the vendor refuses nothing

	Given  Given    // how the client is set up
	Run    Run      // the outcome of the whole turn, retries included
	Script []Block  // replies to model requests
	Routes []Route  // replies to everything else: discovery endpoints, redirect targets
	Tags   []string // free words, such as a case ("STR-05")
}

// A Block is one `reply` of a scenario: what arrives, what is played, what it means.
type Block struct {
	Line int
	N    int    // the request number it answers, from 1; 0 with When == "" is `reply *`: any other
	When string // text that the request body must contain
	// Input is what the client adds to the conversation before this request. Empty means: the first request asks
	// the default question; a later one sends the same request again (a retry).
	Input  []Input
	Checks []Check // assertions on the request
	Steps  []Step
	Expect Outcome // what the attempt comes to; Expect.Stated is false if the file says nothing
}

// An Input is one addition to the client's conversation: Verb is "ask" (a user message), "result" (the answer to every
// open call, in order) or "switch" (the model or vendor changes to Text).
type Input struct{ Verb, Text string }

// A Route answers requests that are not model calls, such as GET /v1/models. Several routes with the same method
// and path answer the first, second, … visit; the last one stays.
type Route struct {
	Line         int
	Method, Path string
	Steps        []Step
}

//go:embed testdata/scenarios/*.txt
var files embed.FS

// Scenarios reads every scenario of wire.md that this package holds, in file order. It parses on each call.
func Scenarios() ([]Scenario, error) {
	const dir = "testdata/scenarios"
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return nil, fmt.Errorf("scenarios: %w", err)
	}
	var all []Scenario
	seen := map[string]string{}
	for _, e := range entries {
		b, err := files.ReadFile(path.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("scenarios: %w", err)
		}
		list, err := Parse(e.Name(), string(b))
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if at, dup := seen[s.ID]; dup {
				return nil, fmt.Errorf("%s:%d: scenario %s is already in %s: rename one", s.File, s.Line, s.ID, at)
			}
			seen[s.ID] = s.File
		}
		all = append(all, list...)
	}
	return all, nil
}

// Find returns the scenarios whose ID is id or a subtest of it ("C25" finds "C25/abort").
func Find(list []Scenario, id string) []Scenario {
	var out []Scenario
	for _, s := range list {
		if s.ID == id || strings.HasPrefix(s.ID, id+"/") {
			out = append(out, s)
		}
	}
	return out
}

// Load reads the scenarios of one file on disk.
func Load(file string) ([]Scenario, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("load scenario: %w", err)
	}
	return Parse(path.Base(file), string(b))
}

// A ParseError says where a scenario file is wrong.
type ParseError struct {
	File string
	Line int
	Text string
}

func (e *ParseError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }
