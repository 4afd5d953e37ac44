package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"varve/internal/tui/plain"
)

func frameOf(w, h int) Frame { return Frame{W: w, H: h, Theme: NoTheme(), Keys: DefaultKeymap()} }

// table is a shown overlay with what it answered.
type table struct {
	overlay
	f   Frame
	got tea.Msg
}

func (s *table) send(msg tea.Msg) {
	if s.overlay == nil {
		return
	}
	var cmd tea.Cmd
	if s.overlay, cmd = s.Update(msg, s.f); cmd != nil {
		s.got = cmd()
	}
}

func (s *table) press(keys ...string) {
	for _, k := range keys {
		s.send(keyOf(k))
	}
}

// screen is the overlay on an empty window, as root lays it.
func (s *table) screen() string { return onScreen(s.f, s.View(s.f)) }

func onScreen(f Frame, view string) string {
	x, y := overlayAt(f, view)
	rows := make([]string, f.H)
	for i, r := range strings.Split(view, "\n") {
		rows[y+i] = strings.Repeat(" ", x) + r
	}
	return strings.Join(rows, "\n")
}

// chosenRow is the row with the mark, "" where none is in view.
func (s *table) chosenRow() string {
	for _, r := range strings.Split(ansi.Strip(s.View(s.f)), "\n") {
		if _, row, ok := strings.Cut(r, "▸ "); ok {
			return strings.TrimRight(row, " │")
		}
	}
	return ""
}

func sixty() []PickRow {
	var rows []PickRow
	for i := range 60 {
		rows = append(rows, PickRow{Title: fmt.Sprintf("model-%02d", i), Note: "200k window", Group: []string{"anthropic", "local", "openai"}[i/20], Value: i})
	}
	rows[3].Off = "no key"
	return rows
}

type pickedTest int

func newSixty(w, h int) *table {
	p := NewPicker("Choose a model", sixty(), func(r PickRow) tea.Msg { return pickedTest(r.Value.(int)) })
	return &table{overlay: p, f: frameOf(w, h)}
}

func TestPicker(t *testing.T) { // SET-3, case TUI-14
	for _, c := range []struct {
		keys string
		want string
	}{
		{"", "model-00"},
		{"down down", "model-02"},
		{"up", "model-00"},
		{"end", "model-59"},
		{"end down", "model-59"},
		{"end home", "model-00"},
		{"pgdown pgdown pgup pgup", "model-00"},
		{"4 1", "model-41"},
		{"o p e n a i", "model-40"},
		{"o p e n a i space 5 9", "model-59"},
		{"4 1 backspace backspace", "model-00"},
		{"q", ""},
	} {
		s := newSixty(40, 12)
		s.press(strings.Fields(c.keys)...)
		if got, _, _ := strings.Cut(s.chosenRow(), " "); got != c.want {
			t.Errorf("%s chooses %q, want %q", c.keys, got, c.want)
		}
	}
	s := newSixty(80, 24)
	s.press("4", "1", "enter")
	if s.got != pickedTest(41) || s.overlay != nil {
		t.Errorf("answered %v", s.got)
	}
	s = newSixty(80, 24)
	s.press("down", "down", "down", "enter")
	if s.got != nil || s.overlay == nil || !strings.Contains(s.View(s.f), "no key") {
		t.Errorf("one that can't be chosen answered %v", s.got)
	}
	if s.press("esc"); s.overlay != nil || s.got != nil {
		t.Error("Esc answers nothing")
	}
	s = newSixty(80, 24)
	s.press("z", "z", "enter", "down", "up", "pgup", "end", "delete")
	if s.overlay == nil || !strings.Contains(s.View(s.f), `nothing matches "zz"`) {
		t.Errorf("without hits:\n%s", s.View(s.f))
	}
}

// Whatever is done to a long list at any size, the chosen row is in view, and the box has its size with the cursor in it.
func TestChosenRowIsInView(t *testing.T) { // case TUI-14, TUI-13, TUI-04
	keys := []string{"up", "down", "pgup", "pgdown", "home", "end", "4", "backspace", "ctrl+u", "left", "z", "x"}
	rapid.Check(t, func(t *rapid.T) {
		s := newSixty(rapid.IntRange(20, 200).Draw(t, "w"), rapid.IntRange(5, 70).Draw(t, "h"))
		for range rapid.IntRange(1, 30).Draw(t, "n") {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				s.send(tea.MouseWheelMsg{Button: rapid.SampledFrom([]tea.MouseButton{tea.MouseWheelUp, tea.MouseWheelDown}).Draw(t, "wheel")})
			case 1:
				s.f.W, s.f.H = rapid.IntRange(20, 200).Draw(t, "w"), rapid.IntRange(5, 70).Draw(t, "h")
			case 2:
				s.send(tea.PasteMsg{Content: piece().Draw(t, "paste")})
			default:
				s.press(rapid.SampledFrom(keys).Draw(t, "key"))
			}
			p := s.overlay.(*Picker)
			sized(t, s)
			if len(p.shown) > 0 && s.chosenRow() == "" {
				t.Fatalf("the chosen row is not in view:\n%s", s.screen())
			}
			x, y := p.Cursor(s.f)
			if b := p.box(s.f); x <= b.x || x >= b.x+b.w-1 || y != b.y+1 {
				t.Fatalf("the cursor is at %d, %d", x, y)
			}
		}
	})
}

// sized checks that a box is a box, and within the window.
func sized(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *table,
) {
	t.Helper()
	view := s.View(s.f)
	rows := strings.Split(view, "\n")
	x, y := overlayAt(s.f, view)
	for _, r := range rows {
		if w := plain.Width(r); w != plain.Width(rows[0]) || x < 0 || y < 0 || x+w > s.f.W || y+len(rows) > s.f.H {
			t.Fatalf("a row of %d columns in a box of %d by %d at %d, %d of %dx%d:\n%s", w, plain.Width(rows[0]), len(rows), x, y, s.f.W, s.f.H, view)
		}
	}
}

func TestOverlaysFit(t *testing.T) { // case TUI-13
	cmds, _ := NewCommands()
	long := strings.Repeat("This is a long question, and it goes on. ", 20)
	for _, size := range [][2]int{{20, 5}, {40, 10}, {40, 12}, {59, 20}, {80, 24}, {120, 40}, {500, 200}} {
		for _, o := range []overlay{
			NewHelp(cmds), NewPalette(DefaultKeymap(), cmds), NewPicker("Nothing", nil, nil), NewPicker("日本語のタイトル", []PickRow{{Title: "日本語", Note: "\x1b[2Jx\ny"}}, nil),
			NewConfirm("Quit?", long, Choice{"n", "stay", nil}, Choice{"y", "quit", nil}), NewConfirm("Quit?", "A turn runs.", Choice{"n", "stay", nil}, Choice{"y", "quit", nil}),
		} {
			s := &table{overlay: o, f: frameOf(size[0], size[1])}
			for _, k := range []string{"", "end", "pgup", "down"} {
				if k != "" {
					s.press(k)
				}
				sized(t, s)
			}
		}
	}
}

func TestClicks(t *testing.T) { // TUI-9, case TUI-14
	s := newSixty(80, 24)
	s.press("down", "down", "down", "down", "down", "down")
	at := func(text string) (x, y int) {
		for y, r := range strings.Split(ansi.Strip(s.screen()), "\n") {
			if at := strings.Index(r, text); at >= 0 {
				return plain.Width(r[:at]), y
			}
		}
		t.Fatalf("%q is not on the screen:\n%s", text, s.screen())
		return 0, 0
	}
	click := func(x, y int) { s.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}) }
	x, y := at("anthropic")
	click(x, y) // a heading
	click(0, 0) // outside
	_, y = at("> ")
	click(x, y)
	click(x, y+1)
	click(x, 23)
	if s.overlay == nil || s.got != nil {
		t.Fatalf("answered %v", s.got)
	}
	x, y = at("model-04")
	if click(x+40, y); s.got != pickedTest(4) || s.overlay != nil {
		t.Errorf("a click on model-04 answered %v", s.got)
	}

	s = &table{overlay: NewConfirm("Quit?", "A turn runs.", Choice{"n", "stay", "no"}, Choice{"y", "interrupt it and quit", "yes"}), f: frameOf(80, 24)}
	x, y = at("interrupt")
	if click(x, y); s.got != "yes" {
		t.Errorf("answered %v", s.got)
	}
}

func TestFieldShowsItsEnd(t *testing.T) { // case TUI-04
	f := newField("")
	f.write("a filter that is longer than there is room\x1b[2J\nand more")
	row, x := f.view("> ", "", 20, NoTheme())
	if got := ansi.Strip(row); got != "> han there is room " || x != 19 {
		t.Errorf("drawn %q, cursor at %d", got, x)
	}
}

func TestConfirm(t *testing.T) { // TUI-5
	for keys, want := range map[string]tea.Msg{"enter": "no", "y": "yes", "Y": "yes", "n": "no", "down enter": "yes", "down down enter": "yes", "down up enter": "no", "right enter": "yes", "esc": nil, "x": nil} {
		s := &table{overlay: NewConfirm("Quit?", "A turn runs.", Choice{"n", "stay", "no"}, Choice{"y", "quit", "yes"}), f: frameOf(40, 12)}
		if s.press(strings.Fields(keys)...); s.got != want || (s.overlay == nil) != (keys != "x") {
			t.Errorf("%s answers %v, want %v", keys, s.got, want)
		}
	}
}

// Rows that come anew move nothing: the chosen one stays where it is on the screen.
func TestNewRowsScrollNothing(t *testing.T) { // SET-3, case TUI-14
	s := newSixty(80, 24)
	for range 40 {
		s.press("down")
		s.screen()
	}
	for range 5 {
		s.press("up")
		s.screen()
	}
	before := s.screen()
	p := s.overlay.(*Picker)
	p.SetRows(sixty())
	if got := s.screen(); got != before {
		t.Errorf("it was\n%s\nand is\n%s", before, got)
	}
}

func TestPickerWaitsForItsRows(t *testing.T) { // SET-3: it opens before there is anything to show
	p := NewPicker("Sessions", nil, func(r PickRow) tea.Msg { return r.Value })
	p.Name, p.Empty = "sessions", "there is no earlier session"
	s := &table{overlay: p, f: frameOf(60, 12)}
	has := func(text string) {
		t.Helper()
		if !strings.Contains(ansi.Strip(s.View(s.f)), text) {
			t.Errorf("%q is not on\n%s", text, s.View(s.f))
		}
	}
	has("looking")
	s.send(PickRowsMsg{Name: "models", Rows: sixty()})
	has("looking")
	s.send(PickRowsMsg{Name: "sessions", Rows: []PickRow{}})
	has("there is no earlier session")
	s.send(PickRowsMsg{Name: "sessions", Err: fmt.Errorf("the folder can't be read")})
	has("the folder can't be read")
	s.press("4")
	s.send(PickRowsMsg{Name: "sessions", Rows: sixty()})
	has("> 4")
	if s.press("down"); strings.Contains(s.View(s.f), "model-01") {
		t.Errorf("the filter was dropped:\n%s", s.View(s.f))
	}
}

func TestPaletteSaysWhatToDo(t *testing.T) { // TUI-12
	cmds, _ := NewCommands(Command{Name: "review", Args: "[what]", Says: "look at the change"})
	for _, c := range []struct {
		find string
		want tea.Msg
	}{
		{"choose a model", PaletteMsg{Action: ActModels}},
		{"redraw", PaletteMsg{Action: ActRedraw}},
		{"review", PaletteMsg{Command: "/review "}},
		{"/exit", PaletteMsg{Command: "/exit"}},
	} {
		s := &table{overlay: NewPalette(DefaultKeymap(), cmds), f: frameOf(80, 24)}
		s.send(tea.PasteMsg{Content: c.find})
		if s.press("enter"); s.got != c.want {
			t.Errorf("%q gives %v, want %v", c.find, s.got, c.want)
		}
	}
}
