package main

// `make pictures`: screens of the real program, in an emulator, as SVG. The model is a script in this process, and folders
// are made for it, so that nobody's paths, keys or sessions are in them.

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"varve/internal/providers/scripted"
)

// pictures are the screens, by the name of their file. One more is one more row.
var pictures = []struct {
	name, says string
	w, h       int
	play       func(*tuiHouse) *tuiTerm
}{
	{"conversation", "A conversation: a file is read and changed, the tests run, and the answer says what was done.", 100, 34, func(h *tuiHouse) *tuiTerm {
		return h.pictured("--mode", "full")
	}},
	{"question", "A command asks before it runs: all of it, the choices, and the rule that would allow its like.", 100, 24, func(h *tuiHouse) *tuiTerm {
		x := h.ready("--mode", "edit")
		x.says(pictureTask)
		x.sees("Run this command?", "n no")
		return x
	}},
	{"compaction", "A long conversation is summarized: which model is asked, how often, and its words as they come.", 100, 24, func(h *tuiHouse) *tuiTerm {
		x := h.pictured("--mode", "full")
		x.says("/compact")
		x.sees("Hello greets by name")
		return x
	}},
	{"summary", "What the summary says is shown when it is installed; what it stands for stays above.", 100, 24, func(h *tuiHouse) *tuiTerm {
		x := h.pictured("--mode", "full")
		x.says("/compact")
		x.sees("Hello greets by name")
		close(h.gate)
		x.sees("Summarized:")
		return x
	}},
	{"context", "What fills the model's window, by layer, and where it is summarized.", 100, 34, func(h *tuiHouse) *tuiTerm {
		x := h.pictured("--mode", "full")
		x.says("/context")
		x.sees("sizes", "Esc close")
		return x
	}},
	{"diff", "What a session has changed in the files.", 100, 24, func(h *tuiHouse) *tuiTerm {
		x := h.pictured("--mode", "full")
		x.says("/diff")
		x.sees("Changed in this session", "greet.go  +")
		return x
	}},
	{"sessions", "The sessions of this folder, and of others.", 100, 20, func(h *tuiHouse) *tuiTerm {
		for _, said := range []string{"Why does the date parser take 30 February?", "Explain the retry loop", "Add a flag for the output format"} {
			if out, err := h.command("run", said).CombinedOutput(); err != nil {
				h.t.Fatalf("%v: %s", err, out)
			}
		}
		x := h.pictured("--mode", "full")
		x.in("\x13")
		x.sees("Explain the retry loop", "Add a flag", "Esc close")
		return x
	}},
	{"tree", "Branches, messages and reverts of a session, each a place to go on from; beside them what was said there.", 110, 24, func(h *tuiHouse) *tuiTerm {
		if out, err := h.command("run", "Add a flag for the output format").CombinedOutput(); err != nil {
			h.t.Fatalf("%v: %s", err, out)
		}
		if out, err := h.command("run", "--continue", "Call it --shape").CombinedOutput(); err != nil {
			h.t.Fatalf("%v: %s", err, out)
		}
		x := h.open("--continue")
		x.sees("Call it --shape")
		x.says("/revert")
		x.sees("Call it --shape", "type to filter")
		x.in(keyEnter)
		x.sees("Call it --shape", "> Call it --shape")
		x.in("\x15") // what came back into the line
		x.says("/fork")
		x.sees("from here, as it is now")
		x.in(keyEnter)
		x.sees("on b2")
		x.says("/tree")
		x.sees("v1", "│ There is nothing to do")
		return x
	}},
	{"settings", "Settings, with the models that summarize: asked in this order, moved, replaced and removed by key or mouse.", 100, 26, func(h *tuiHouse) *tuiTerm {
		x := h.pictured("--mode", "full")
		x.says("/summarizers")
		x.sees("Summarization models", "1. script/summarizer")
		return x
	}},
	{"transcript", "The whole conversation in full, searched.", 100, 30, func(h *tuiHouse) *tuiTerm {
		x := h.pictured("--mode", "full")
		x.in(keyCtrlO)
		x.sees("Esc back")
		x.in("/")
		x.sees("search:")
		x.in("world" + keyEnter)
		x.sees("“world”: ")
		return x
	}},
	{"palette", "Every action and command, with its keys, found by a few letters.", 100, 24, func(h *tuiHouse) *tuiTerm {
		x := h.pictured("--mode", "full")
		x.in(keyCtrlP)
		x.sees("Actions and commands")
		x.in("mod")
		x.sees("choose a model")
		return x
	}},
}

const (
	pictureTask = "Hello should greet by name"
	pictureOld  = "package greet\n\n// Hello greets.\nfunc Hello() string {\n\treturn \"Hello!\"\n}\n"
	pictureEdit = `{"file_path":"greet.go","old_string":"// Hello greets.\nfunc Hello() string {\n\treturn \"Hello!\"\n}","new_string":"// Hello greets somebody, or everybody.\nfunc Hello(name string) string {\n\tif name == \"\" {\n\t\tname = \"world\"\n\t}\n\treturn \"Hello, \" + name + \"!\"\n}"}`
	pictureEnd  = "`Hello` takes a name now, and greets the *world* without one:\n\n- an empty name is \"world\"\n- the tests pass\n\n```go\nfmt.Println(greet.Hello(\"Ada\")) // Hello, Ada!\n```\n"
)

// pictured plays the task to its end.
func (h *tuiHouse) pictured(args ...string) *tuiTerm {
	h.t.Helper()
	x := h.ready(args...)
	x.says(pictureTask)
	x.sees("the tests pass", "Hello, Ada!")
	return x
}

// painter is the model of the pictures.
func painter(gate chan struct{}) scripted.Handler {
	return func(r scripted.Request) scripted.Reply {
		says := func(end string, steps ...scripted.Step) scripted.Reply {
			usage := scripted.UsageStep(scripted.Usage{Prompt: int64(len(r.Body) / 4), Output: 120, Cached: int64(r.Shared.Bytes / 4)})
			return scripted.Reply{Steps: append(append([]scripted.Step{scripted.Role()}, steps...), scripted.Finish(end), usage, scripted.Done())}
		}
		call := func(id, name, args string, words string) scripted.Reply {
			return says("tool_calls", scripted.Text(words), scripted.Call(0, id, name, args, 2))
		}
		if r.Get("model").String() == "summarizer" {
			return says("stop", scripted.Text("## Objective\nHello greets by name.\n## Constraints\nnone\n## Work State\n### Completed\n`greet.go` is changed, the tests pass.\n"),
				scripted.Wait(gate), scripted.Text("## Next Action\nWrite the changelog entry.\n"))
		}
		done := map[string]bool{}
		for _, m := range r.Get("messages").Array() {
			done[m.Get("tool_call_id").String()] = true
		}
		switch {
		case !strings.Contains(string(r.Body), pictureTask):
			return says("stop", scripted.Text("There is nothing to do here."))
		case !done["call_read"]:
			return call("call_read", "read", `{"file_path":"greet.go"}`, "I'll look at it first.")
		case !done["call_edit"]:
			return call("call_edit", "edit", pictureEdit, "It takes no name yet.")
		case !done["call_test"]:
			return call("call_test", "bash", `{"command":"sh test.sh"}`, "Now the tests.")
		}
		return says("stop", scripted.Text(pictureEnd))
	}
}

// newPictureHouse is a house whose workspace is ~/greet.
func newPictureHouse(t *testing.T, bin string) *tuiHouse {
	h := newTuiHouse(t, bin)
	home := filepath.Join(h.dir, "..", "home")
	h.dir = filepath.Join(home, "greet")
	for name, text := range map[string]string{"greet.go": pictureOld, "test.sh": "echo '--- PASS: TestHello'\necho PASS\n"} {
		err := os.MkdirAll(h.dir, 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	settings := fmt.Sprintf(`{"model":{"provider":"script","model":"demo"},"routing":{"summarization_models":[{"provider":"script","model":"summarizer"}]},
		"providers":{"script":{"api":"openai-chat","base_url":%q,"models":{"demo":{"context_window":32768},"summarizer":{"context_window":128000}}}}}`, h.server.URL()+"/v1")
	if err := os.WriteFile(filepath.Join(home, "..", "config", "setup.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	h.server.Handle(painter(h.gate))
	return h
}

const pictureDir = "../../docs/pictures"

func TestPictures(t *testing.T) {
	if os.Getenv("PICTURES") == "" {
		t.Skip("make pictures draws them")
	}
	if err := os.MkdirAll(pictureDir, 0o755); err != nil {
		t.Fatal(err)
	}
	bin := agentBinary(t)
	for _, p := range pictures {
		t.Run(p.name, func(t *testing.T) {
			h := newPictureHouse(t, bin)
			h.w, h.h = p.w, p.h
			x := p.play(h)
			svg := x.picture(p.says, map[string]string{
				filepath.Dir(h.dir): "/home/ada", filepath.Join(filepath.Dir(filepath.Dir(h.dir)), "config"): "~/.config/varve",
			})
			x.dies()
			if err := os.WriteFile(filepath.Join(pictureDir, p.name+".svg"), svg, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Each picture is there and is one, nothing else stands beside them, and none names this or another machine.
func TestPicturesAreThere(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(pictureDir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, p := range pictures {
		path := filepath.Join(pictureDir, p.name+".svg")
		want = append(want, path)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%v: make pictures", err)
			continue
		}
		text := wellFormed(t, b)
		if !strings.Contains(text, p.says) || regexp.MustCompile(`/(tmp|Users|var|root)/|127\.0\.0\.1|localhost`).MatchString(text) {
			t.Errorf("%s is not the picture that is wanted, or names a machine: make pictures", path)
		}
	}
	var page strings.Builder
	page.WriteString("# Screens\n\nThe real program in a terminal of 100 columns; the model is a script. `make pictures` draws them again.\n")
	for _, p := range pictures {
		fmt.Fprintf(&page, "\n%s\n\n![%s](pictures/%s.svg)\n", p.says, p.name, p.name)
	}
	const screens = "../../docs/screens.md"
	if os.Getenv("PICTURES") != "" {
		if err := os.WriteFile(screens, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(screens); err != nil || string(b) != page.String() {
		t.Errorf("docs/screens.md does not show these pictures: make pictures (%v)", err)
	}
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("docs/pictures holds %q, want %q", found, want)
	}
}

// wellFormed is the text of a drawing.
func wellFormed(t *testing.T, b []byte) string {
	t.Helper()
	var text strings.Builder
	for d := xml.NewDecoder(bytes.NewReader(b)); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if c, ok := tok.(xml.CharData); ok {
			text.Write(c)
		}
	}
}

func TestSVG(t *testing.T) {
	emu := vt.NewEmulator(12, 2)
	_, _ = emu.Write([]byte("\x1b[1;96ma<b&\x1b[m 解🦉\r\n\x1b[7mrow \x1b[m\x1b[38;2;1;2;3mx"))
	got := string(svgOf(emu, 12, 2, "Says <it>", map[string]string{"row": "line"}))
	if text := wellFormed(t, []byte(got)); !strings.Contains(text, "Says <it>") || !strings.Contains(text, "a<b&") || !strings.Contains(text, "解🦉") {
		t.Errorf("the text is %q", text)
	}
	for _, part := range []string{`fill="#29b8db" font-weight="bold"`, `<rect x="0"`, ">line<", `fill="#010203"`, `textLength="`} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in\n%s", part, got)
		}
	}
}

// picture is what is on the screen now.
func (x *tuiTerm) picture(says string, names map[string]string) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	return svgOf(x.emu, x.emu.Width(), x.emu.Height(), says, names)
}

// Sizes of a cell, in pixels, and of the frame around all.
const (
	cellW, cellH = 8.4, 18.0
	pictureEdge  = 12.0
	pictureInk   = "#d4d4d4"
	picturePaper = "#1e1e1e"
)

// palette are the sixteen colours of the pictures' terminal.
var palette = [16]string{
	"#3b3b3b", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5",
	"#8a8a8a", "#f14c4c", "#23d18b", "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#ffffff",
}

// svgOf draws the cells: stretches of one look are one text, as wide as their cells, whatever font there is.
func svgOf(emu *vt.Emulator, w, h int, says string, names map[string]string) []byte {
	var b bytes.Buffer
	esc := func(s string) string {
		var e bytes.Buffer
		_ = xml.EscapeText(&e, []byte(s))
		return e.String()
	}
	width, height := float64(w)*cellW+2*pictureEdge, float64(h)*cellH+2*pictureEdge
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.1f %.1f" width="%.0f" role="img">`+"\n", width, height, width)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"%.1f\" height=\"%.1f\" rx=\"8\" fill=\"%s\"/>\n", esc(says), width, height, picturePaper)
	fmt.Fprintf(&b, `<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14" xml:space="preserve" transform="translate(%.0f %.0f)">`+"\n", pictureEdge, pictureEdge)
	for y := range h {
		at := 0.0
		for _, run := range runsOf(rowOf(emu, w, y, names)) {
			ink, paper, extra := inks(run[0])
			text, wide := "", 0
			for _, c := range run {
				text += c.Content
				wide += max(c.Width, 1)
			}
			left, top := at, float64(y)*cellH
			at += float64(wide) * cellW
			if paper != "" {
				fmt.Fprintf(&b, `<rect x="%.5g" y="%.5g" width="%.5g" height="%.5g" fill="%s"/>`+"\n", left, top, float64(wide)*cellW, cellH, paper)
			}
			trimmed := strings.TrimRight(text, " ")
			if wide -= len(text) - len(trimmed); wide > 0 {
				fmt.Fprintf(&b, `<text x="%.5g" y="%.5g" textLength="%.5g" lengthAdjust="spacingAndGlyphs" fill="%s"%s>%s</text>`+"\n",
					left, top+13.5, float64(wide)*cellW, ink, extra, esc(took.ReplaceAllString(trimmed, "2 ms")))
			}
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// took is a duration that differs each time.
var took = regexp.MustCompile(`\b\d+ ms\b`)

// rowOf are the cells of a row. Names of this machine are swapped for others.
func rowOf(emu *vt.Emulator, w, y int, names map[string]string) []uv.Cell {
	var row []uv.Cell
	for x := 0; x < w; {
		c := uv.Cell{Content: " ", Width: 1}
		if at := emu.CellAt(x, y); at != nil && at.Content != "" {
			c = *at
		}
		row = append(row, c)
		x += max(c.Width, 1)
	}
	for old, name := range names {
		for i := 0; i+len(old) <= len(row); i++ {
			text := ""
			for _, c := range row[i : i+len(old)] {
				text += c.Content
			}
			if text != old {
				continue
			}
			var swapped []uv.Cell
			for _, r := range name {
				c := row[i]
				c.Content = string(r)
				swapped = append(swapped, c)
			}
			row = append(append(row[:i:i], swapped...), row[i+len(old):]...)
		}
	}
	return row
}

// runsOf parts a row where its look changes. Blanks belong to what stands before them.
func runsOf(row []uv.Cell) (runs [][]uv.Cell) {
	for i, c := range row {
		blank := strings.TrimSpace(c.Content) == ""
		if n := len(runs); i > 0 {
			_, paper, _ := inks(c)
			_, was, _ := inks(row[i-1])
			first := runs[n-1][0]
			fresh := strings.TrimSpace(first.Content) == "" && paper == was // of blanks alone so far
			if (blank || look(c) == look(first)) && paper == was && !(fresh && !blank) {
				runs[n-1] = append(runs[n-1], c)
				continue
			}
		}
		runs = append(runs, []uv.Cell{c})
	}
	return runs
}

// look tells apart what can't be one text.
func look(c uv.Cell) string {
	ink, paper, extra := inks(c)
	return fmt.Sprint(ink, paper, extra, c.Width > 1)
}

// inks are the colours of a cell, "" for no paper of its own, and what else its text has.
func inks(c uv.Cell) (ink, paper, extra string) {
	ink = colourOf(c.Style.Fg, pictureInk)
	if c.Style.Bg != nil {
		paper = colourOf(c.Style.Bg, "")
	}
	if c.Style.Attrs&uv.AttrReverse != 0 {
		if paper == "" {
			paper = picturePaper
		}
		ink, paper = paper, ink
	}
	if c.Style.Attrs&uv.AttrBold != 0 {
		extra += ` font-weight="bold"`
	}
	if c.Style.Attrs&uv.AttrItalic != 0 {
		extra += ` font-style="italic"`
	}
	if c.Style.Attrs&uv.AttrFaint != 0 {
		extra += ` opacity="0.6"`
	}
	if c.Style.Underline != 0 {
		extra += ` text-decoration="underline"`
	}
	return ink, paper, extra
}

func colourOf(c color.Color, none string) string {
	switch c := c.(type) {
	case nil:
		return none
	case ansi.BasicColor:
		return palette[c&15]
	case ansi.IndexedColor:
		if c < 16 {
			return palette[c]
		}
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
