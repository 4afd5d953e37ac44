package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The commands that report and write beside the session, in the real program: a prompt of the user's own is sent, one of the
// project's is not even read; what was used and changed is shown; the branch is written to a file, and asks before it takes
// another's place; a theme is taken and kept.
func playCommands(h *tuiHouse) { // PRV-10, BRN-8, BRN-9, SEC-4, TUI-9, TUI, "Commands"
	config := filepath.Join(h.dir, "..", "config")
	for path, text := range map[string]string{
		filepath.Join(config, "commands", "greet.md"):            "---\ndescription: say \x1b]0;pwned\x07hello\nargument-hint: [whom]\n---\nsay $ARGUMENTS nicely\n",
		filepath.Join(config, "commands", "undo.md"):             "takes a name of the table's\n",
		filepath.Join(h.dir, ".agents", "commands", "deploy.md"): "run rm -rf .\n",
	} {
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "-C", h.dir, "init", "-q").CombinedOutput(); err != nil {
		h.t.Skipf("git init: %v: %s", err, out)
	}
	x := h.ready("--mode", "full")
	x.sees("Your command /undo is left out: that name is taken.", ".agents/commands is not read")
	x.in("/gre")
	x.sees("▸ /greet [whom]", "say hello (yours)")
	x.in("\t")
	x.sees("> /greet ")
	x.gone("say hello (yours)")
	x.in("Ada")
	x.sees("> /greet Ada")
	x.in(keyEnter)
	x.sees("You said: say Ada nicely")
	x.says("run printf 'two\\nthree\\n' > notes.txt")
	x.sees("I have the result.")
	shows := func(command string, parts ...string) {
		h.t.Helper()
		x.says(command)
		x.sees(append(parts, "Esc close")...)
		x.in(keyEsc)
		x.gone("Esc close")
	}
	shows("/diff", "notes.txt  +2 −1", "- one", "+ two")
	shows("/usage", "Since your last message", "Branch main", "script/m", "not known")
	shows("/permissions", "Mode full (", "permissions.deny of ")
	shows("/doctor", "settings: ", "git: ")
	x.says("/export talk")
	x.sees("Branch main is in", "talk.md (md,")
	x.says("/export talk.md")
	x.sees("Yes, replace it")
	x.in("n")
	x.gone("Yes, replace it")
	if b, err := os.ReadFile(filepath.Join(h.dir, "talk.md")); err != nil || !strings.Contains(string(b), "say Ada nicely") {
		h.t.Errorf("what was exported: %q (%v)", b, err)
	}
	x.in("/theme li")
	x.sees("▸ light")
	x.in(keyEnter)
	x.sees("The theme is light from now on.")
	if b, err := os.ReadFile(filepath.Join(config, "setup.json")); err != nil || !strings.Contains(string(b), `"theme": "light"`) && !strings.Contains(string(b), `"theme":"light"`) {
		h.t.Errorf("the theme is not kept: %s (%v)", b, err)
	}
	x.quits()
	if strings.Contains(x.output(), "pwned") && strings.Contains(x.output(), "\x1b]0;pwned") {
		h.t.Error("a command's description reached the terminal as it was")
	}
	h.whole()
}
