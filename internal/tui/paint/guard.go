package paint

import (
	"fmt"
	"reflect"
	"runtime/debug"

	tea "charm.land/bubbletea/v2"
)

// PanicError says that the model or one of its commands panicked. The terminal was restored and the trace
// written to Options.Err before Run returned it (TUI-10).
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("the interface crashed: %v", e.Value) }

// caught is deferred wherever code of the model runs. The first panic ends the program; it is shown after the
// terminal was given back, because nobody reads what is written on the alternate screen.
func (p *painter) caught() {
	v := recover()
	if v == nil {
		return
	}
	if p.crash.CompareAndSwap(nil, &PanicError{Value: v, Stack: debug.Stack()}) {
		go p.prog.Quit()
	}
}

// guard catches the panics of a command and of those it returns.
func (p *painter) guard(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		defer p.caught()
		return p.guardMsg(cmd())
	}
}

// guardMsg guards the commands inside Batch and Sequence, which Bubble Tea runs without asking the model. The
// type of a sequence is private, so both are known by their shape.
func (p *painter) guardMsg(msg tea.Msg) tea.Msg {
	v := reflect.ValueOf(msg)
	if !v.IsValid() || v.Kind() != reflect.Slice || v.Type().Elem() != reflect.TypeFor[tea.Cmd]() {
		return msg
	}
	guarded := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	for i := range v.Len() {
		guarded.Index(i).Set(reflect.ValueOf(p.guard(v.Index(i).Interface().(tea.Cmd))))
	}
	return guarded.Interface()
}
