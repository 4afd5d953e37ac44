package setup

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Setup is what setup.json, the environment and the flags add up to. It is read-only:
// a change goes through a Draft and a new Load.
type Setup struct {
	Model       Model
	Routing     Routing
	Providers   map[string]Provider // as in the file; see Setup.Provider for the built-in ones
	Context     Context
	Cache       Cache
	Permissions Permissions
	Tools       Tools
	MCP         MCP
	Hooks       jsontext.Value // an object; nil when absent
	Appearance  Appearance
	Log         Log
	Network     Network

	Path     string    // of the user's setup.json
	Problems []Problem // values that were nonsense and don't run, in the order of the file

	order   []string        // names of Providers as in the file
	refused map[string]bool // names whose entry can't be used; the built-in one doesn't step in
	origins map[string]Origin
	state   string // folder of the stored keys' folder
	keyring Keyring
	doc     []byte
}

// Model is the agent's model. Model "auto" is the router (RTR-1).
type Model struct {
	Provider, Model string
	Reasoning       string // "" is the provider's default
}

// A ModelRef is one entry of a chain.
type ModelRef struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

func (m ModelRef) String() string { return m.Provider + "/" + m.Model }

// Routing holds two independent chains (RTR-3). An entry that can't be used stays in its
// place, so that a list the user filled never reads as empty (SUM-3).
type Routing struct {
	Auto                []ModelRef
	SummarizationModels []ModelRef // empty: the agent's own model (SUM-2)
}

// Provider is a configured or built-in endpoint.
type Provider struct {
	API          string // an API kind
	BaseURL      string // as the vendor's SDK expects it (PRV-7); see Endpoint
	APIKey       Secret // unresolved: $ENV, !command or the key itself
	Headers      map[string]Secret
	Models       map[string]ModelLimits
	StallTimeout time.Duration // no byte for this long ends a reply

	keyEnv []string // variables that hold the key by the vendor's custom
}

// ModelLimits are the user's corrections, in tokens; nil is not said (PRV-8).
type ModelLimits struct {
	ContextWindow, MaxOutputTokens *int
}

// Context is the agent's budget, in tokens.
type Context struct {
	InputLimitTokens *int
	Compaction       Compaction
}

// Compaction settings. Mode is "" where it is omitted: a recorded history reads that as
// disabled, a running agent as standalone (CMP-3).
type Compaction struct {
	Mode                          string
	ThresholdTokens, TargetTokens *int
}

// Effective is the mode that runs.
func (c Compaction) Effective() string { return cmp.Or(c.Mode, "standalone") }

// Cache preferences, in the vendors' words.
type Cache struct {
	AnthropicTTL    string
	OpenAIRetention string // "" is not sent
}

// Permissions: rules in the notation of PERM-2, unjudged here.
type Permissions struct {
	Mode        string // ask, edit, full
	Allow, Deny []string
	Env         []string // variables that hold keys and that commands may see all the same (SEC-2)
}

type Tools struct {
	Disabled []string
}

// MCP servers by name, each an object that the MCP room reads.
type MCP struct {
	Servers map[string]jsontext.Value
}

type Appearance struct {
	Theme  string
	Mouse  bool
	Notify string              // auto, bell, off (TUI-11)
	Plain  bool                // lines in place of the screen
	Diff   string              // auto, unified
	Vim    bool                // keys of vi in the composer
	Keys   map[string][]string // action to keys

	Themes map[string]map[string]string // name, then role to style
}

type Log struct {
	Sync string // turn, always, never
}

// Network is for private CAs; proxies come from HTTPS_PROXY and NO_PROXY (CFG-3).
type Network struct {
	CAFile string
}

// A Problem is one value that doesn't run.
type Problem struct {
	Path   Path
	Origin Origin
	What   string // without the path; holds no secret
}

func (p Problem) Error() string {
	return fmt.Sprintf("%s: %s (%s)", p.Path, p.What, p.Origin)
}

// A Source is where a value can come from; a later one wins (CFG-1).
type Source string

const (
	FromDefault     Source = "default"
	FromUser        Source = "user"
	FromProject     Source = "project"
	FromEnvironment Source = "environment"
	FromFlag        Source = "flag"
)

// An Origin is where a value came from.
type Origin struct {
	From Source
	Name string // the file, the variable or the flag
	Line int    // in a file, from 1
	Col  int    // in characters, from 1
}

func (o Origin) String() string {
	switch {
	case o.Line > 0:
		return o.Name + ":" + strconv.Itoa(o.Line) + ":" + strconv.Itoa(o.Col)
	case o.Name != "":
		return string(o.From) + " " + o.Name
	}
	return string(o.From)
}

// Written reports whether there is a setup.json that was read.
func (s *Setup) Written() bool { return s.doc != nil }

// Origin says where a scalar's value came from, by its dotted path; for any other path,
// whether the user's file has it.
func (s *Setup) Origin(path string) Origin {
	if o, ok := s.origins[path]; ok {
		return o
	}
	if len(s.doc) > 0 {
		if root, err := parse(s.Path, s.doc); err == nil {
			if n := root.at(ParsePath(path)); n != nil {
				return originAt(FromUser, s.Path, s.doc, n)
			}
		}
	}
	return Origin{From: FromDefault}
}

func originAt(from Source, name string, doc []byte, n *node) Origin {
	line, col := position(doc, n.start)
	return Origin{From: from, Name: name, Line: line, Col: col}
}

// Options say what to load.
type Options struct {
	Path  string            // of setup.json; "" is Dirs().Setup()
	State string            // folder for stored keys; "" is Dirs().State
	Flags map[string]string // scalars given on the command line, by dotted path
	// Keyring is where StoreKey puts keys, OSKeyring() for a program; nil keeps them in private files.
	Keyring Keyring
	// Project is a trusted project's .agents/setup.json, nil before trust (SEC-4). Only
	// a safe subset of it is read: see fromProject.
	Project     []byte
	ProjectPath string
}

// Load reads the settings. It always returns some that can run: with a *Fault they are
// the defaults under environment and flags.
func Load(o Options) (*Setup, error) {
	if o.Path == "" || o.State == "" {
		dirs, err := Dirs()
		if err != nil {
			return load(o, nil, nil, nil), err
		}
		o.Path = cmp.Or(o.Path, dirs.Setup())
		o.State = cmp.Or(o.State, dirs.State)
	}
	doc, err := readFile(o.Path)
	if err != nil {
		return load(o, nil, nil, nil), err
	}
	var user *node
	if doc != nil {
		if user, err = parse(o.Path, doc); err != nil {
			return load(o, nil, nil, nil), err
		}
	}
	var project *node
	if o.Project != nil {
		if project, err = parse(o.ProjectPath, o.Project); err != nil {
			return load(o, user, doc, nil), err
		}
	}
	return load(o, user, doc, project), nil
}

func load(o Options, user *node, doc []byte, project *node) *Setup {
	s := &Setup{Path: o.Path, state: o.State, keyring: o.Keyring, doc: doc, origins: map[string]Origin{}, refused: map[string]bool{}}
	u := file{s: s, from: FromUser, name: o.Path, doc: doc, root: user}
	p := file{s: s, from: FromProject, name: o.ProjectPath, doc: o.Project, root: project}
	s.climb(o.Flags, u, p)
	s.decode(u)
	s.fromProject(p)
	s.agree()
	return s
}
