package house

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module = "varve"
	root   = "../.." // of the repository, from here
)

// A room is a package (or, with tree, a folder of packages) with a place in the architecture.
type room struct {
	floor int
	path  string
	says  string // its one sentence: what does not serve it stands elsewhere
	may   string // rooms of ours that it may import, by their short names; see allows
	pure  bool   // it decides and never acts; see pure_test.go
	tree  bool   // folders below it are the same room
}

// floors is the architecture. ARCHITECTURE.md prints this table; this table is what is true. A room may be listed before
// it is built; a package that is not listed is an error.
var floors = []room{
	{floor: 4, path: "cmd/agent", says: "wires one program together", may: "all but hosted"},
	{floor: 4, path: "cmd/agentd", says: "wires the hosted server and its workers together", may: "all below"},
	{floor: 4, path: "internal/bench", says: "measures what the program costs, with each limit beside its figure", may: "all but hosted", tree: true},
	{floor: 3, path: "internal/tui", says: "draws a session and turns keys into commands", may: "session, harness/drive, setup, words, tui/markdown, tui/paint, tui/plain"},
	{floor: 3, path: "internal/tui/markdown", says: "turns Markdown that is still arriving into styled lines", may: "tui/plain"},
	{floor: 3, path: "internal/tui/paint", says: "puts a view on the terminal when it changed", may: "-"},
	{floor: 3, path: "internal/tui/plain", says: "makes untrusted text safe for a terminal", may: "-"},
	{floor: 3, path: "internal/export", says: "shows a conversation outside of the program", may: "session, words, tui/markdown, tui/plain"},
	{floor: 3, path: "internal/acp", says: "lets an editor drive a session", may: "session, harness, harness/drive"},
	{floor: 3, path: "internal/eval", says: "plays one kept trace through every way of making a context short, and counts what survives", may: "session, harness, harness/drive, harness/tools, providers, content, jsonl"},
	{floor: 2, path: "internal/harness", says: "runs one session on this machine: the loop, and the runners of jobs", may: "all below, harness/tools"},
	{floor: 2, path: "internal/harness/tools", says: "does on this machine what the model asked for", may: "session, content"},
	{floor: 2, path: "internal/hosted", says: "runs sessions on Temporal, PostgreSQL and object storage, with the same verbs", may: "session, compact, harness/drive, harness/tools, providers, content", tree: true},
	{floor: 2, path: "internal/demo", says: "plays a scripted model for newcomers, tests and puppets", may: "providers/scripted"},
	{floor: 1, path: "internal/harness/drive", says: "decides what a session does next", may: "session, compact, permit", pure: true},
	{floor: 1, path: "internal/compact", says: "decides how a long context becomes a short one", may: "session", pure: true},
	{floor: 1, path: "internal/permit", says: "judges a call against rules", may: "session", pure: true},
	{floor: 1, path: "internal/providers", says: "speaks to models, in their words", may: "session", tree: true},
	{floor: 1, path: "internal/assemble", says: "finds instructions, skills and definitions on disk, and reports what it took", may: "session"},
	{floor: 1, path: "internal/index", says: "lists and searches sessions from a derived index", may: "session, jsonl"},
	{floor: 1, path: "internal/words", says: "turns events into sentences for people", may: "session"},
	{floor: 1, path: "internal/setup", says: "reads, checks and saves setup.json", may: "-"},
	{floor: 1, path: "internal/jsonl", says: "keeps an append-only file of JSON lines, whatever they say", may: "-"},
	{floor: 1, path: "internal/content", says: "keeps immutable bytes under their hash", may: "-"},
	{floor: 1, path: "internal/house", says: "holds the project to its own rules", may: "-"},
	{floor: 0, path: "internal/session", says: "is the language of the log: the events, and the state they add up to", may: "-", pure: true},
}

// short is the name that other rows use.
func (r room) short() string { return strings.TrimPrefix(r.path, "internal/") }

// holds says whether the package at dir, from the root of the module, stands in the room.
func (r room) holds(dir string) bool {
	return dir == r.path || r.tree && strings.HasPrefix(dir, r.path+"/")
}

// roomOf is the room that the package at dir stands in. A row of its own wins over a tree above it.
func roomOf(dir string) (room, bool) {
	var found room
	for _, r := range floors {
		if r.holds(dir) && len(r.path) > len(found.path) {
			found = r
		}
	}
	return found, found.path != ""
}

// allows says whether the room may import the package at dir: itself (inside a tree), "all below" its floor, "all but
// hosted" (and but other programs), or what is named, folders of a named tree included.
func (r room) allows(dir string) bool {
	to, ok := roomOf(dir)
	if !ok {
		return false
	}
	if to.path == r.path {
		return true
	}
	for name := range strings.SplitSeq(r.may, ", ") {
		switch name {
		case "all below":
			if to.floor < r.floor {
				return true
			}
		case "all but hosted":
			if to.floor < r.floor && to.path != "internal/hosted" {
				return true
			}
		default:
			if named := "internal/" + name; dir == named || to.tree && to.path == named {
				return true
			}
		}
	}
	return false
}

// A pkg is what go list says about a package of ours, for one system.
type pkg struct {
	ImportPath, Dir  string
	Imports, GoFiles []string
	Error            *struct{ Err string }
	goos             string
}

// dir is the package's folder from the root of the module.
func (p pkg) dir() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// systems are those that the program is built for.
var systems = []string{"linux", "darwin"}

func ourPackages(t *testing.T) []pkg {
	t.Helper()
	var all []pkg
	for _, goos := range systems {
		cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Imports,GoFiles,Error", "./...")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
			p := pkg{goos: goos}
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if p.Error != nil && len(p.GoFiles) > 0 {
				t.Errorf("%s: %s", p.ImportPath, p.Error.Err)
			}
			all = append(all, p)
		}
	}
	return all
}

// misplaced says what is wrong with the imports of one package; nil when nothing is.
func misplaced(p pkg) []string {
	r, ok := roomOf(p.dir())
	if !ok {
		return []string{p.dir() + " has no floor: give it a row with one sentence in internal/house, or put its code where it is used"}
	}
	var wrong []string
	for _, imp := range p.Imports {
		switch dir, ours := strings.CutPrefix(imp, module+"/"); {
		case ours && !r.allows(dir):
			wrong = append(wrong, fmt.Sprintf("%s imports %s, which does not stand below it: %s %s, and for that it may use %s", p.dir(), dir, r.short(), r.says, r.may))
		case !ours && r.pure && !quiet(imp):
			wrong = append(wrong, fmt.Sprintf("%s imports %s: %s %s, and does nothing; what must be done belongs to a job that harness runs", p.dir(), imp, r.short(), r.says))
		}
	}
	return wrong
}

func TestFloors(t *testing.T) {
	told := map[string]bool{}
	for _, p := range ourPackages(t) {
		for _, w := range misplaced(p) {
			if !told[w] {
				told[w] = true
				t.Errorf("%s (seen for %s)", w, p.goos)
			}
		}
	}
}

func TestFloorsSeeWhatIsMisplaced(t *testing.T) {
	for _, c := range []struct {
		from, imports string
		want          string // "" passes
	}{
		{"internal/util", "strings", "has no floor"},
		{"internal/session", "varve/internal/jsonl", "does not stand below it"},
		{"internal/session", "os", "does nothing"},
		{"internal/session", "strings", ""},
		{"internal/harness/drive", "varve/internal/harness", "does not stand below it"},
		{"internal/harness/drive", "varve/internal/session", ""},
		{"internal/harness", "varve/internal/providers/scripted", ""},
		{"internal/harness", "varve/internal/harness/tools", ""},
		{"internal/harness", "varve/internal/tui", "does not stand below it"},
		{"internal/harness/tools", "varve/internal/setup", "does not stand below it"},
		{"internal/tui", "varve/internal/jsonl", "does not stand below it"},
		{"internal/tui", "varve/internal/tui/plain", ""},
		{"internal/providers/chat", "varve/internal/providers", ""},
		{"internal/providers/chat", "varve/internal/content", "does not stand below it"},
		{"internal/demo", "varve/internal/providers/scripted", ""},
		{"internal/demo", "varve/internal/providers", "does not stand below it"},
		{"cmd/agent", "varve/internal/hosted", "does not stand below it"},
		{"cmd/agent", "varve/internal/tui", ""},
		{"cmd/agentd", "varve/internal/hosted", ""},
	} {
		got := strings.Join(misplaced(pkg{ImportPath: path.Join(module, c.from), Imports: []string{c.imports}}), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s imports %s: got %q, want %q", c.from, c.imports, got, c.want)
		}
	}
}

// The table itself keeps the rule that arrows only go down, or along a floor to a room that is named.
func TestArrowsGoDown(t *testing.T) {
	for i, r := range floors {
		if r.says == "" || strings.HasSuffix(r.says, ".") {
			t.Errorf("%s: one sentence, without its full stop", r.path)
		}
		if r.pure && r.tree {
			t.Errorf("%s: a pure room is one package", r.path)
		}
		for _, other := range floors[:i] {
			if other.path == r.path {
				t.Errorf("%s has two rows", r.path)
			}
		}
		for name := range strings.SplitSeq(r.may, ", ") {
			if slices.Contains([]string{"-", "all below", "all but hosted"}, name) {
				continue
			}
			to, ok := roomOf("internal/" + name)
			switch {
			case !ok:
				t.Errorf("%s may import %s, which is no room", r.path, name)
			case to.floor > r.floor:
				t.Errorf("%s may import %s, which stands above it", r.path, name)
			case r.pure && !to.pure:
				t.Errorf("%s is pure and may import %s, which is not", r.path, name)
			case to.floor == r.floor && slices.Contains(strings.Split(to.may, ", "), r.short()):
				t.Errorf("%s and %s may import each other", r.path, name)
			}
		}
	}
}

// A package says its sentence itself, so that nobody has to look it up: the doc comment of a room begins as its row does,
// up to the first pause, and goes on as it likes.
func TestRoomsSayTheirSentence(t *testing.T) {
	for _, r := range floors {
		files, _ := filepath.Glob(filepath.Join(root, r.path, "*.go"))
		name := "Package " + path.Base(r.path)
		if strings.HasPrefix(r.path, "cmd/") || r.path == "internal/bench" {
			name = "Command " + path.Base(r.path)
		}
		var said []string
		for _, f := range files {
			if doc := packageDoc(t, f); doc != "" {
				said = append(said, doc)
			}
		}
		start, _, _ := strings.Cut(r.says, ",")
		start, _, _ = strings.Cut(start, ":")
		switch want := name + " " + start; {
		case len(files) == 0: // not built yet
		case len(said) != 1:
			t.Errorf("%s: %d package comments, want one: %q", r.path, len(said), want+".")
		case !strings.HasPrefix(strings.Join(strings.Fields(said[0]), " "), want):
			t.Errorf("%s says %q, its row says %q", r.path, said[0], r.says)
		}
	}
}
