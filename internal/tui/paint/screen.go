package paint

import (
	"bytes"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// screen turns views into the fewest bytes that make the terminal show them. It knows what the terminal
// shows and writes nothing itself.
type screen struct {
	term    string // $TERM
	plain   bool   // a terminal that knows neither keyboard protocols nor questions
	profile colorprofile.Profile
	sync    bool        // synchronized output: the terminal answered for mode 2026
	method  ansi.Method // how wide a cluster is: by grapheme once it answered for mode 2027

	width, height int
	cells         uv.ScreenBuffer
	drawn         bool // cells hold content
	content       string
	rows          []string // its text by row; empty if rows run into each other
	ren           *uv.TerminalRenderer
	body          bytes.Buffer // what ren flushes to
	prelude       string       // goes before the next frame
	leave         string       // gives back what the frames so far took; empty if nothing
	modes         [6]string    // as last set
	progress      bool         // the terminal is known to show progress
	shown         bool         // the cursor
	out           []byte
}

func newScreen(env []string, w, h int) *screen {
	s := &screen{term: uv.Environ(env).Getenv("TERM"), profile: colorprofile.Env(env), method: ansi.WcWidth}
	s.progress = knowsProgress(uv.Environ(env).Getenv)
	s.plain = s.term == "" || s.term == "dumb" || strings.HasPrefix(s.term, "linux")
	s.enter()
	s.resize(w, h)
	return s
}

// enter forgets what the terminal shows: the next frame takes the terminal and paints everything.
func (s *screen) enter() {
	s.ren = uv.NewTerminalRenderer(&s.body, []string{"TERM=" + s.term}) // the rest of the environment would make it run tmux
	s.ren.SetColorProfile(s.profile)
	s.ren.SetGraphemeWidth(s.method == ansi.GraphemeWidth)
	s.ren.EnterAltScreen()
	s.prelude = ansi.ResetModeTextCursorEnable
	if !s.plain {
		s.prelude = ansi.WindowOp(22, 0) + s.prelude // the title is given back by leave
	}
	s.body.Reset()
	_ = s.ren.Flush()
	s.prelude += s.body.String()
	if !s.plain {
		s.prelude += ansi.SetModifyOtherKeys2 + ansi.PushKittyKeyboard(ansi.KittyDisambiguateEscapeCodes)
	}
	if s.method == ansi.GraphemeWidth {
		s.prelude += ansi.SetModeUnicodeCore
	}
	s.body.Reset()
	s.shown, s.modes, s.drawn, s.leave = false, [6]string{}, false, ""
}

// leaving is the sequence that gives the terminal back as it was found.
func (s *screen) leaving() string {
	seq := ansi.ResetStyle
	if s.sync {
		seq = ansi.ResetModeSynchronizedOutput + seq // a frame may have been cut short
	}
	seq += ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr +
		ansi.ResetModeFocusEvent + ansi.ResetModeBracketedPaste + ansi.SetCursorStyle(0)
	if s.method == ansi.GraphemeWidth {
		seq += ansi.ResetModeUnicodeCore
	}
	if s.progress {
		seq += ansi.ResetProgressBar
	}
	if !s.plain {
		seq += ansi.ResetModifyOtherKeys + ansi.PopKittyKeyboard(1)
	}
	seq += ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable
	if !s.plain {
		seq += ansi.WindowOp(23, 0)
	}
	return seq
}

func (s *screen) resize(w, h int) {
	s.width, s.height = w, h
	s.cells = uv.NewScreenBuffer(w, h)
	s.cells.Method = s.method
	s.ren.Resize(w, h)
	s.redraw()
}

// redraw makes the next frame clear the terminal and paint every cell.
func (s *screen) redraw() {
	s.drawn = false
	s.ren.Erase()
}

func (s *screen) setProfile(p colorprofile.Profile) {
	if p != s.profile {
		s.profile = p
		s.ren.SetColorProfile(p)
		s.redraw()
	}
}

// setSync wraps each frame in the marks of mode 2026.
func (s *screen) setSync() {
	s.sync = true
	if s.leave != "" {
		s.leave = s.leaving()
	}
}

// setGraphemes measures as a terminal does that answered for mode 2027, which the next frame sets.
func (s *screen) setGraphemes() {
	if s.method != ansi.GraphemeWidth {
		s.method = ansi.GraphemeWidth
		s.cells.Method = s.method
		s.ren.SetGraphemeWidth(true)
		s.prelude += ansi.SetModeUnicodeCore
		s.redraw()
	}
}

// frame returns the bytes that turn what the terminal shows into v; none if it shows v already. They are
// valid until the next call.
func (s *screen) frame(v tea.View) []byte {
	if changed := s.draw(v.Content); changed > 0 {
		// Ultraviolet hashes every row to find one that scrolled, and takes no fewer than three for that.
		s.ren.SetScrollOptim(changed > 3)
		s.ren.Render(s.cells.RenderBuffer)
	}
	moved := s.ren.Buffered() > 0
	if c := v.Cursor; c != nil {
		s.ren.MoveTo(min(max(c.X, 0), s.width-1), min(max(c.Y, 0), s.height-1))
	}
	s.body.Reset()
	_ = s.ren.Flush()
	modes, show := s.changedModes(&v), v.Cursor != nil
	if s.body.Len() == 0 && modes == "" && s.prelude == "" && show == s.shown {
		return nil
	}
	out := append(s.out[:0], s.prelude...)
	if s.prelude != "" {
		s.prelude, s.leave = "", s.leaving()
	}
	if s.sync {
		out = append(out, ansi.SetModeSynchronizedOutput...)
	}
	if s.shown && (!show || moved && !s.sync) { // without synchronized output it would be seen to jump
		out = append(out, ansi.ResetModeTextCursorEnable...)
		s.shown = false
	}
	out = append(out, s.body.Bytes()...)
	out = append(out, modes...)
	if show && !s.shown {
		out = append(out, ansi.SetModeTextCursorEnable...)
		s.shown = true
	}
	if s.sync {
		out = append(out, ansi.ResetModeSynchronizedOutput...)
	}
	s.out = out
	return out
}

// draw puts content into the cells and returns how many rows it drew. A row whose text did not change keeps its cells, so that the cost of a
// frame is that of the rows that changed. That holds while no row's style runs into the next, as rendered
// rows don't; if one does, everything is drawn anew.
func (s *screen) draw(content string) (changed int) {
	if s.drawn && s.content == content {
		return 0
	}
	known := s.drawn && len(s.rows) == s.height
	if !known {
		s.rows = make([]string, s.height)
	}
	s.drawn, s.content = true, content
	rest, runs := content, false
	for y := range s.height {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		if known && s.rows[y] == line {
			continue
		}
		s.rows[y] = line
		changed++
		runs = runs || runsOn(line)
		uv.NewStyledString(tame(strings.TrimSuffix(line, "\r"))).Draw(s.cells, uv.Rect(0, y, s.width, 1))
	}
	if runs {
		s.rows = nil
		uv.NewStyledString(tame(content)).Draw(s.cells, s.cells.Bounds())
		return s.height
	}
	return changed
}

// runsOn reports a line that may leave a style or a link open at its end.
func runsOn(line string) bool {
	if i := strings.LastIndex(line, "\x1b]8;"); i >= 0 && !strings.HasPrefix(line[i:], "\x1b]8;;\a") && !strings.HasPrefix(line[i:], "\x1b]8;;\x1b\\") {
		return true
	}
	for {
		i := strings.LastIndexByte(line, esc)
		if i < 0 || strings.HasPrefix(line[i:], "\x1b[m") || strings.HasPrefix(line[i:], "\x1b[0m") {
			return false
		}
		if last := line[i:]; !strings.HasPrefix(last, "\x1b]8;") && !strings.HasPrefix(last, "\x1b\\") {
			return true
		}
		line = line[:i]
	}
}

// tame takes the introducers of device strings out of text: Ultraviolet would hand those to the terminal
// (TUI-9). Rendered text has none; this is for text that somebody forgot to clean.
func tame(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, string(utf8.RuneError))
	}
	for i := 0; ; {
		j := strings.IndexByte(s[i:], esc)
		if j < 0 || i+j+1 >= len(s) {
			return s
		}
		i += j
		if strings.IndexByte("PX^_", s[i+1]) >= 0 {
			s = s[:i] + s[i+1:]
			continue
		}
		i++
	}
}

// changedModes is what puts everything but the cells where v wants it. An empty wish leaves things as they are.
func (s *screen) changedModes(v *tea.View) (seq string) {
	want := modes(v)
	if !s.progress || want[5] == ansi.ResetProgressBar && s.modes[5] == "" { // nothing was shown yet
		want[5] = ""
	}
	for i, want := range want {
		if want != "" && s.modes[i] != want {
			s.modes[i] = want
			seq += want
		}
	}
	return seq
}

func modes(v *tea.View) [6]string {
	mouse := ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr
	switch v.MouseMode {
	case tea.MouseModeCellMotion:
		mouse = ansi.ResetModeMouseAnyEvent + ansi.SetModeMouseButtonEvent + ansi.SetModeMouseExtSgr
	case tea.MouseModeAllMotion:
		mouse = ansi.ResetModeMouseButtonEvent + ansi.SetModeMouseAnyEvent + ansi.SetModeMouseExtSgr
	}
	focus, paste := ansi.ResetModeFocusEvent, ansi.SetModeBracketedPaste
	if v.ReportFocus {
		focus = ansi.SetModeFocusEvent
	}
	if v.DisableBracketedPasteMode {
		paste = ansi.ResetModeBracketedPaste
	}
	style := ""
	if c := v.Cursor; c != nil {
		n := int(c.Shape)*2 + 2
		if c.Blink {
			n--
		}
		if n == 1 {
			n = 0 // Bubble Tea's default: the cursor that the user set
		}
		style = ansi.SetCursorStyle(n)
	}
	title := ""
	if v.WindowTitle != "" {
		title = ansi.SetWindowTitle(printable(v.WindowTitle))
	}
	return [6]string{mouse, focus, paste, style, title, progress(v.ProgressBar)}
}

func progress(bar *tea.ProgressBar) string {
	if bar == nil {
		return ansi.ResetProgressBar
	}
	switch bar.State {
	case tea.ProgressBarDefault:
		return ansi.SetProgressBar(bar.Value)
	case tea.ProgressBarError:
		return ansi.SetErrorProgressBar(bar.Value)
	case tea.ProgressBarIndeterminate:
		return ansi.SetIndeterminateProgressBar
	case tea.ProgressBarWarning:
		return ansi.SetWarningProgressBar(bar.Value)
	}
	return ansi.ResetProgressBar
}

// knowsProgress reports a terminal that shows OSC 9;4 as progress. Others take OSC 9 for a notification, so
// only those that name themselves get it, and none through tmux or screen.
func knowsProgress(getenv func(string) string) bool {
	if getenv("TMUX") != "" || getenv("STY") != "" {
		return false
	}
	switch getenv("TERM_PROGRAM") {
	case "ghostty", "WezTerm":
		return true
	}
	return getenv("WT_SESSION") != "" || getenv("ConEmuANSI") == "ON" || strings.Contains(getenv("TERM"), "ghostty")
}

// printable is s on one line, without anything that could end or start a sequence.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
}
