package paint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// The tests run this binary again, as the program under a terminal.
func TestMain(m *testing.M) {
	if mode := os.Getenv("PAINT_DEMO"); mode != "" {
		os.Exit(demoMain(mode))
	}
	os.Exit(m.Run())
}

func demoMain(mode string) int {
	d := newDemo(mode)
	var err error
	switch mode {
	case "stock":
		_, err = tea.NewProgram(d, tea.WithFPS(60)).Run()
	case "empty":
		_, err = tea.NewProgram(emptyModel{}).Run()
	default:
		var ctx context.Context
		ctx, d.fail = context.WithCancel(context.Background())
		_, err = Run(ctx, d, Options{})
	}
	fmt.Printf("DEMO-EXIT err=%v views=%d\n", err, d.views)
	if s := (*SignalError)(nil); errors.As(err, &s) {
		return s.ExitCode()
	}
	if err != nil {
		return 1
	}
	return 0
}

type emptyModel struct{}

func (emptyModel) Init() tea.Cmd                         { return nil }
func (m emptyModel) Update(tea.Msg) (tea.Model, tea.Cmd) { return m, nil }
func (emptyModel) View() tea.View                        { v := tea.NewView("empty"); v.AltScreen = true; return v }

// demo shows the last things that happened, streams words when asked, and ends in every way there is.
type demo struct {
	w, h, keys, tokens, limit, views, pastes int
	log                                      []string
	lines                                    []string // the stream
	rate                                     int
	pace                                     time.Duration
	title                                    string
	dark                                     string
	mouse                                    tea.MouseMode
	hang, broken                             bool
	unfinished                               int // frames that are not all
	fail                                     func()
}

type tokenMsg struct{ text string }

func newDemo(mode string) *demo {
	n := func(name string) int { v, _ := strconv.Atoi(os.Getenv(name)); return v }
	return &demo{
		rate: n("RATE"), limit: n("LIMIT"), pace: time.Duration(n("PACE")) * time.Millisecond,
		title: "demo", mouse: tea.MouseModeCellMotion, hang: os.Getenv("HANG") != "",
	}
}

func (d *demo) Pace() time.Duration { return d.pace }

func (d *demo) Again() bool { return d.unfinished > 0 }

func (d *demo) Init() tea.Cmd {
	switch os.Getenv("INIT") {
	case "panic":
		panic("boom in init")
	case "slow":
		return func() tea.Msg { select {} }
	}
	return d.next()
}

// next is the following word of the stream, at the stream's rate, however late the last one was handled.
func (d *demo) next() tea.Cmd {
	if d.rate == 0 || d.limit > 0 && d.tokens >= d.limit {
		return nil
	}
	word := fmt.Sprintf("word%d ", d.tokens%97)
	return tea.Tick(time.Second/time.Duration(d.rate), func(time.Time) tea.Msg { return tokenMsg{word} })
}

func (d *demo) note(format string, a ...any) { d.log = append(d.log, fmt.Sprintf(format, a...)) }

func (d *demo) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		d.w, d.h = msg.Width, msg.Height
		if d.w <= 0 || d.h <= 0 {
			panic("a size of zero")
		}
		d.note("size %dx%d", d.w, d.h)
	case tokenMsg:
		d.tokens++
		if n := len(d.lines); n == 0 || len(d.lines[n-1])+len(msg.text) > 90 {
			d.lines = append(d.lines, "")
		}
		d.lines[len(d.lines)-1] += msg.text
		if d.tokens == d.limit {
			d.title = "streamed"
		}
		return d, d.next()
	case tea.KeyPressMsg:
		d.keys++
		d.note("key %s", msg.String())
		return d, d.act(msg.String())
	case tea.PasteMsg:
		d.pastes++
		if len(msg.Content) > 40 {
			d.note("paste of %d, %q", len(msg.Content), msg.Content[len(msg.Content)-10:])
		} else {
			d.note("paste %q", msg.Content)
		}
	case tea.MouseMsg:
		d.note("%T %v", msg, msg)
	case tea.FocusMsg:
		d.note("focus")
	case tea.BlurMsg:
		d.note("blur")
	case tea.ResumeMsg:
		d.note("resumed")
	case tea.KeyboardEnhancementsMsg:
		d.note("kbd %d", msg.Flags)
	case tea.BackgroundColorMsg:
		d.dark = fmt.Sprintf("dark=%v", msg.IsDark())
	case editedMsg:
		d.note("edited %v", msg.err)
	case againMsg:
		d.unfinished--
		d.note("again %d", d.unfinished)
	}
	return d, nil
}

type editedMsg struct{ err error }

func (d *demo) act(key string) tea.Cmd {
	boom := func() tea.Msg { panic("boom") }
	switch key {
	case "ctrl+q":
		return tea.Quit
	case "ctrl+f":
		d.fail()
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+p":
		panic("boom")
	case "ctrl+o":
		return boom
	case "ctrl+n":
		return tea.Batch(nil, tea.Sequence(func() tea.Msg { return nil }, tea.Batch(boom, func() tea.Msg { return nil })))
	case "ctrl+a":
		d.unfinished = 2
	case "ctrl+v":
		d.broken = true
	case "ctrl+y":
		return tea.Batch(SetClipboard("copied"), Bell(), Notify("done\x1b]0;x\a"))
	case "ctrl+l":
		return Redraw()
	case "ctrl+t":
		d.title = "other\x1b[2J"
	case "ctrl+w":
		d.mouse = tea.MouseModeNone
	case "ctrl+x":
		if d.hang {
			fmt.Fprint(os.Stderr, "HANGS")
			select {}
		}
	case "ctrl+e":
		return Exec(exec.Command("sh", "-c", `stty -a | grep -o -- '-*icanon' | sed 's/^/EDITOR-STTY /'; test -t 1 && echo EDITOR-TTY-OK; read x; echo "EDITOR-GOT $x"`),
			func(err error) tea.Msg { return editedMsg{err} })
	case "ctrl+u":
		return Exec(exec.Command("sh", "-c", "echo EDITOR-WAITS; read x"), func(error) tea.Msg { panic("boom after the editor") })
	}
	return nil
}

func (d *demo) View() tea.View {
	d.views++
	if d.broken {
		panic("boom")
	}
	top := max(0, d.h-10)
	var rows []string
	from := max(0, len(d.lines)-max(0, top-2))
	rows = append(rows, "\x1b[38;2;255;136;0mdemo\x1b[m 宽字 wide 🎉 ok| "+d.dark)
	rows = append(rows, d.lines[from:]...)
	for len(rows) < top {
		rows = append(rows, "")
	}
	rows = append(rows[:top], fmt.Sprintf("tokens %d views keys %d", d.tokens, d.keys)+" "+string(rune(0x2800+d.keys%256)))
	last := d.log[max(0, len(d.log)-6):]
	for i := range 6 {
		if i < len(last) {
			rows = append(rows, "  "+last[i])
		} else {
			rows = append(rows, "")
		}
	}
	rows = append(rows, strings.Repeat("─", max(0, d.w)), "> ")
	v := tea.NewView(strings.Join(rows, "\n"))
	v.AltScreen, v.MouseMode, v.ReportFocus, v.WindowTitle = true, d.mouse, true, d.title
	v.Cursor = tea.NewCursor(2, len(rows)-1)
	v.Cursor.Shape = tea.CursorBar
	return v
}
