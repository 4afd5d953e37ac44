package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// keyOf is the message of a key as the table names it.
func keyOf(name string) tea.KeyPressMsg {
	key := tea.KeyPressMsg{}
	for {
		mod, rest, found := strings.Cut(name, "+")
		if !found || rest == "" {
			break
		}
		key.Mod |= map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "alt": tea.ModAlt, "shift": tea.ModShift}[mod]
		name = rest
	}
	codes := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "backspace": tea.KeyBackspace, "delete": tea.KeyDelete,
		"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "f1": tea.KeyF1, "space": tea.KeySpace,
	}
	if code, ok := codes[name]; ok {
		key.Code = code
		if name == "space" {
			key.Text = " "
		}
		return key
	}
	key.Code = []rune(name)[0]
	if key.Mod == 0 {
		key.Text = name
	}
	return key
}

func TestTableHasNoConflicts(t *testing.T) { // TUI-12
	_, problems := NewKeymap(nil)
	for _, p := range problems {
		t.Error(p)
	}
	for _, b := range bindings() {
		if b.Where&places == 0 || b.Group == "" {
			t.Errorf("%s holds nowhere, or belongs to no group", b.Action)
		}
		for _, key := range b.Keys {
			if parsed, ok := ParseKey(key); !ok || parsed != key {
				t.Errorf("%s: %q is read as %q, %v", b.Action, key, parsed, ok)
			}
		}
	}
}

// The keys of the requirement's table, each where it is pressed.
func TestKeysOfTheRequirement(t *testing.T) { // TUI-12, TUI-5
	k := DefaultKeymap()
	for _, c := range []struct {
		key  string
		at   Where
		want Action
	}{
		{"enter", InChat, ActSend},
		{"ctrl+j", InChat, ActNewline},
		{"shift+enter", InChat, ActNewline},
		{"alt+enter", InChat, ActNewline},
		{"alt+enter", InChat | WhenWorking, ActSteer},
		{"esc", InChat, ActInterrupt},
		{"esc", InChat | WhenAgain, ActMessageActions},
		{"esc", InOffer, ActOfferClose},
		{"esc", InOffer | WhenAgain, ActOfferClose},
		{"esc", InSearch, ActSearchCancel},
		{"esc", InList, ActClose},
		{"ctrl+c", InChat, ActClear},
		{"ctrl+c", InChat | WhenAgain, ActQuit},
		{"ctrl+d", InChat | WhenEmpty, ActQuitEmpty},
		{"ctrl+d", InChat, ActDeleteForward},
		{"up", InChat, ActUp},
		{"ctrl+r", InChat, ActHistorySearch},
		{"ctrl+r", InSearch, ActSearchOlder},
		{"shift+tab", InChat, ActMode},
		{"ctrl+o", InChat, ActExpand},
		{"alt+p", InChat, ActModels},
		{"alt+t", InChat, ActReasoning},
		{"ctrl+s", InChat, ActSessions},
		{"ctrl+,", InChat, ActSettings},
		{"ctrl+p", InChat, ActPalette},
		{"ctrl+p", InList, ActListUp},
		{"?", InChat | WhenEmpty, ActHelp},
		{"?", InChat, ""},
		{"?", InList | WhenEmpty, ""},
		{"ctrl+g", InChat, ActEditor},
		{"ctrl+t", InChat, ActPlan},
		{"ctrl+l", InList, ActRedraw},
		{"ctrl+z", InChat, ActSuspend},
		{"alt+up", InChat, ActEditQueued},
		{"alt+up", InList, ActMoveUp},
		{"home", InChat, ActLineStart},
		{"home", InChat | WhenEmpty, ActScrollTop},
		{"x", InChat | WhenEmpty, ""},
	} {
		if got, ok := k.Action(keyOf(c.key), c.at); got != c.want || ok != (c.want != "") {
			t.Errorf("%s at %b is %q, want %q", c.key, c.at, got, c.want)
		}
	}
	// "?" is shift and another key on many keyboards, and what it writes counts.
	if got, _ := k.Action(tea.KeyPressMsg{Text: "?", Code: '/', Mod: tea.ModShift}, InChat|WhenEmpty); got != ActHelp {
		t.Errorf("shift+/ that writes ? is %q", got)
	}
}

func TestUsersKeys(t *testing.T) { // TUI-12
	k, problems := NewKeymap(map[string][]string{
		"models":    {"Ctrl+S", "F2"},               // takes it from sessions
		"modells":   {"f3"},                         // no such action
		"reasoning": {"hyper+ü+x", "Option+Return"}, // one is no key, the other that of newline and, while working, of steer
		"plan":      {},                             // unbound
		"redraw":    {"alt+t"},                      // not the key of reasoning any more
		"editor":    {"alt+up"},                     // from one before it that keeps its own
		"quit":      {},                             // not without
		"sessions":  {"x"},                          // a letter
		"newline":   {"ctrl+j", "shift+return"},
	})
	var said []string
	for _, p := range problems {
		said = append(said, p.Error())
	}
	want := []string{
		`appearance.keys: modells: there is no such action; did you mean models?`,
		`appearance.keys: quit: needs a key; its own stays`,
		`appearance.keys: reasoning: "hyper+ü+x" is not the name of a key`,
		`appearance.keys: sessions: "x" is needed to write with`,
		`appearance.keys: sessions: "ctrl+s" is the key of models`,
		`appearance.keys: edit_queued: "alt+up" is the key of editor`,
		`appearance.keys: browse_tree: "alt+t" is the key of redraw`, // which is everywhere
	}
	if !slices.Equal(said, want) {
		t.Errorf("said\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	for _, c := range []struct {
		key  string
		at   Where
		want Action
	}{
		{"ctrl+s", InChat, ActModels},
		{"alt+p", InChat, ""},
		{"alt+up", InChat, ActEditor},
		{"alt+up", InList, ActMoveUp},
		{"alt+t", InChat, ActRedraw},
		{"ctrl+t", InChat, ""},
		{"ctrl+c", InChat | WhenAgain, ActQuit},
		{"alt+enter", InChat, ActReasoning},
		{"alt+enter", InChat | WhenWorking, ActSteer},
		{"shift+enter", InChat, ActNewline},
	} {
		if got, _ := k.Action(keyOf(c.key), c.at); got != c.want {
			t.Errorf("%s is %q, want %q", c.key, got, c.want)
		}
	}
	if got := k.Keys(ActModels); !slices.Equal(got, []string{"Ctrl+S", "F2"}) {
		t.Errorf("models has %q", got)
	}
}

func TestHelpShowsWhatThisTerminalSends(t *testing.T) { // case TUI-10
	k := DefaultKeymap()
	if got := k.Keys(ActNewline); !slices.Equal(got, []string{"Ctrl+J", "Shift+Enter", "Alt+Enter"}) {
		t.Errorf("newline has %q", got)
	}
	if got := k.Plain().Keys(ActNewline); !slices.Equal(got, []string{"Ctrl+J", "Alt+Enter"}) {
		t.Errorf("on an older terminal newline has %q", got)
	}
	if got := k.Plain().Key(ActSettings); got != "" {
		t.Errorf("on an older terminal settings has %q", got)
	}
	if got := k.Key(ActMessageActions); got != "Esc Esc" {
		t.Errorf("message actions has %q", got)
	}
}

func TestTwice(t *testing.T) { // TUI-5
	k := DefaultKeymap()
	var w Twice
	press := func(key string) Where { at, _ := w.Press(keyOf(key), k); return at }
	if press("ctrl+c") != 0 || press("ctrl+c") != WhenAgain || press("ctrl+c") != 0 {
		t.Error("a pair is a pair, and a third press is a first")
	}
	w.Reset()
	if press("esc") != 0 || press("x") != 0 || press("esc") != 0 {
		t.Error("another key between parts the pair")
	}
	old := TwiceMsg{w.turn}
	if press("esc") != WhenAgain || press("esc") != 0 {
		t.Error("a pair")
	}
	w.Expire(old)
	if !w.Waiting() {
		t.Error("an old time is not this key's")
	}
	w.Expire(TwiceMsg{w.turn})
	if press("esc") != 0 {
		t.Error("too late is not a pair")
	}
}

func TestCommands(t *testing.T) { // TUI, "Commands"
	c, refused := NewCommands(Command{Name: "review", Says: "look at the change"}, Command{Name: "undo"}, Command{Name: "No Name"})
	if len(refused) != 2 {
		t.Errorf("refused %v", refused)
	}
	for _, x := range []struct{ line, name, args, err string }{
		{"/help", "help", "", ""},
		{"/sessions", "resume", "", ""},
		{"/model  openai/gpt ", "model", "openai/gpt", ""},
		{"/review this", "review", "this", ""},
		{"/compact on tests", "compact", "on tests", ""},
		{"/mcp a file", "mcp", "a file", "/mcp is not there yet; nothing was done"},
		{"/moddel", "", "", "there is no command /moddel; did you mean /model? (a space before it makes it text)"},
		{"/x", "", "", "there is no command /x (a space before it makes it text)"},
		{"/", "", "", "there is no command / (a space before it makes it text)"},
	} {
		cmd, args, err := c.Parse(x.line)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if cmd.Name != x.name || args != x.args || said != x.err {
			t.Errorf("%q is %q %q %q", x.line, cmd.Name, args, said)
		}
	}
	names := map[string]bool{}
	for _, cmd := range c.All() {
		for _, n := range append([]string{cmd.Name}, cmd.Aliases...) {
			if names[n] {
				t.Errorf("/%s is there twice", n)
			}
			names[n] = true
		}
	}
	for n := range strings.SplitSeq("help new resume fork revert rollback tree compact model summarizers settings context usage toasts export copy rename init mcp permissions skills diff plan theme editor doctor exit clear sessions branch rewind undo config cost quit", " ") {
		if !names[n] {
			t.Errorf("/%s is missing", n)
		}
	}
}

// vimPage is what docs/keys.md says of the keys of vi.
const vimPage = `
## Keys of vi

With ` + "`appearance.vim`" + ` (Settings, Appearance; off by default) a message is written with the keys of vi. Esc leaves the writing:
` + "`N`" + ` stands before the text then in place of ` + "`>`" + `, and letters are these keys:

| keys | what |
|---|---|
| i a I A o O | write: before the character, behind it, at the start or the end of the line, in a new line below or above |
| h j k l, w b e W B E, 0 ^ $, gg G, f t | move; j and k go by rows, G takes the number of a line |
| d c y, and where to | cut, change, copy; dd, cc and yy take the line |
| x X D, s C S, Y | the same as dl dh d$, cl c$ cc, yy |
| p P | put in what was cut or copied, behind or before |
| r ~ J | replace a character, change its case, join lines |
| u, Ctrl+R | undo, redo |

Each takes a count (` + "`3w`, `2dd`, `d2w`" + `). A pasted text that is folded is one character. Esc gives up a command that has only
begun, and else does here what it does without these keys: from the writing it takes two to stop a turn, even where the
screen names one. All other keys do in both modes what this page says, and Enter sends; only Ctrl+J opens a
line below, Backspace goes left, and nothing is completed here. Where nothing is written, ` + "`/`, `@`, `!` and `?`" + ` are what they
always are. A new message begins with the writing.
`

// docs/keys.md is printed from the tables.
func TestKeysPage(t *testing.T) { // TUI-12
	var b strings.Builder
	b.WriteString("# Keys and commands\n\nPrinted from the tables that the program itself uses (`UPDATE=1 go test ./internal/tui` prints it again). What is\nmarked *later* has its place and is refused with a sentence until it works.\n\nKeys can be changed in setup.json, by the name of the action:\n\n")
	b.WriteString("    \"appearance\": {\"keys\": {\"models\": [\"f2\", \"alt+p\"], \"plan\": []}}\n\nThe keys that you give replace the action's own, and none at all take them away. Keys are written as here, in any case;\nalso `space`, `insert` and `f1` to `f20`. What can't be done as asked is said at the start.\n\nShift+Enter, Ctrl+, and the like need a terminal that reports them (the kitty protocol, or xterm's modifyOtherKeys). Help\n(`?`) lists what yours is known to send.\n")
	k := DefaultKeymap()
	group, seen := "", map[Action]bool{}
	for _, r := range k.Actions() {
		if seen[r.Action] {
			continue
		}
		seen[r.Action] = true
		if r.Group != group {
			group = r.Group
			fmt.Fprintf(&b, "\n## %s\n\n| keys | what | action |\n|---|---|---|\n", group)
		}
		says := r.Says
		if shared := k.Elsewhere(r.Action); shared != "" {
			says += "; " + shared
		}
		if r.Later {
			says += " (*later*)"
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", strings.Join(k.Keys(r.Action), ", "), says, r.Action)
	}
	b.WriteString(vimPage)
	b.WriteString("\n## Commands\n\nA line that begins with `/` is a command; one that is none is refused and never sent. A path is text, and so is anything\nbehind a space. A line that begins with `!` is a shell command of your own: Esc ends it, and the model sees what it\nwrote with your next message. Your own commands are Markdown files in `commands/`\nof the folder that holds setup.json: `review.md` there is `/review`, and sends its text as a message, with the words behind\nthe command in place of `$ARGUMENTS`. Between two lines of `---` at its top `description:` and `argument-hint:` say what is\nshown of it. Those of a project, in its `.agents/commands/`, are not read before the folder is trusted (*later*).\n\n| command | what | also |\n|---|---|---|\n")
	for _, c := range commands() {
		says := c.Says
		if c.Later {
			says += " (*later*)"
		}
		also := ""
		if len(c.Aliases) > 0 {
			also = "`/" + strings.Join(c.Aliases, "`, `/") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.ReplaceAll(commandTitle(c), "|", "\\|"), says, also)
	}
	b.WriteString("\n`/copy code` takes the only code block of an answer.\n\n## Plain mode\n\n`--plain`, or `appearance.plain` in setup.json, puts lines of text in place of the screen, for a screen reader. What happens\nis told once, in its order; each line begins with who speaks, and what belongs to it is indented. Nothing is drawn over,\ncoloured or animated, and no sequence for a terminal is written. Who types is free to write at any time: what is written\nwhile a turn runs waits for its end. Lines that are pasted together are one message, which an empty line sends. A question\nis answered by a line, `y` or `n`. Ctrl+C stops the turn, and twice it quits. What comes from a file or a pipe is taken\nline by line, each when the turn before is over, and a question that nobody can answer any more is refused.\n\n")
	for _, s := range strings.Split(linearHelp, "\n")[1:] {
		if does, says, ok := strings.Cut(s, ": "); ok && does[0] == '/' {
			s = "- `" + does + "`: " + says
		} else {
			s = "\n" + strings.ReplaceAll(s, "!COMMAND", "`!COMMAND`")
		}
		b.WriteString(s + "\n")
	}
	path := filepath.Join("..", "..", "docs", "keys.md")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil || string(page) != b.String() {
		t.Errorf("docs/keys.md does not say what the tables say: UPDATE=1 prints it (%v)", err)
	}
}
