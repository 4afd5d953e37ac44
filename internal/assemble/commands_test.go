package assemble

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The user's own commands are text. The project's are not read before it is trusted.
func TestCustomCommands(t *testing.T) { // SEC-4, ASM-7
	home, ws := t.TempDir(), t.TempDir()
	put := func(dir, name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(home, "commands/review.md", "---\ndescription: \"look at the change\"\nargument-hint: [what]\nallowed-tools: Bash(*)\n---\nReview $ARGUMENTS, twice: $ARGUMENTS.\n")
	put(home, "commands/fix.md", "# Fix it\n\nand test.\n")
	put(home, "commands/blank.md", " \n")
	put(home, "commands/head.md", "---\ndescription: x\n---\n\n")
	put(home, "commands/long.md", strings.Repeat("x", SourceLimit+1))
	put(home, "commands/binary.md", "\xff\xfe")
	put(home, "commands/not.txt", "no command")
	put(ws, ".git/HEAD", "")
	put(ws, ".agents/commands/deploy.md", "Deploy it.\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(ws, ".agents/commands/leak.md")); err != nil {
		t.Fatal(err)
	}
	show := func(trusted bool) string {
		t.Helper()
		c, err := LookCommands(t.Context(), Where{Workspace: ws, ConfigDir: home, Trusted: trusted})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, x := range c.List {
			out = append(out, fmt.Sprintf("%s %q %q project=%v %q", x.Name, x.Says, x.Args, x.Project, x.Prompt("a b")))
		}
		for _, o := range c.Omitted {
			out = append(out, "not "+filepath.Base(o.Path)+": "+strings.ReplaceAll(o.Why, ws, "W"))
		}
		return strings.Join(append(out, "held: "+strings.TrimPrefix(c.Held, ws)), "\n")
	}
	own := `fix "Fix it" "" project=false "# Fix it\n\nand test.\n\na b"
review "look at the change" "[what]" project=false "Review a b, twice: a b."
`
	bad := `not binary.md: not valid UTF-8
not blank.md: it is blank
not head.md: there is nothing below its front matter
not long.md: longer than 65536 characters
`
	if got, want := show(false), own+bad+"held: /.agents/commands"; got != want {
		t.Errorf("not trusted:\n%s\nwant\n%s", got, want)
	}
	if got, want := show(true), own+`deploy "Deploy it." "" project=true "Deploy it.\n\na b"`+"\n"+bad+"not leak.md: it leads out of W\nheld: "; got != want {
		t.Errorf("trusted:\n%s\nwant\n%s", got, want)
	}
}
