package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"varve/internal/session"
	"varve/internal/setup"
)

// The block of summarization models (SET-2): who is asked for summaries, in
// which order, and nobody else.

func (s *settings) sumText() string {
	if len(s.sums) == 0 {
		return "same as agent"
	}
	return fmt.Sprintf("%d configured", len(s.sums))
}

func (s *settings) sumRows() []setRow {
	var rows []setRow
	for i, x := range s.sums {
		row := setRow{key: fmt.Sprintf("sum:%d", i), title: fmt.Sprintf("%d. %s", i+1, refText(x.Ref)), enters: "replace", removes: "remove", controls: true}
		if x.Why != "" {
			row.why = "can't be asked: " + x.Why
		}
		row.enter = func() tea.Cmd {
			return s.picks("In place of "+refText(x.Ref), session.Model{Provider: x.Ref.Provider, Model: x.Ref.Model, API: s.apiOf(x.Ref.Provider)}, s.stands, func(m ModelInfo) tea.Cmd {
				i := i
				if i >= len(s.sums) || s.sums[i].Ref != x.Ref { // the list was changed meanwhile
					i = slices.IndexFunc(s.sums, func(o Summarizer) bool { return o.Ref == x.Ref })
				}
				if i < 0 {
					s.note, s.bad = refText(x.Ref)+" is not in the list any more: nothing is replaced.", true
					return nil
				}
				return s.sumsAre(fmt.Sprintf("sum:%d", i), replaced(s.sums, i, refOf(m)), "summarizer "+fmt.Sprint(i+1)+" is "+m.Model.String())
			})
		}
		row.remove = func() tea.Cmd {
			return s.sumsAre(row.key, removed(s.sums, i), refText(x.Ref)+" is not asked any more")
		}
		row.move = func(by int) tea.Cmd {
			to := i + by
			if to < 0 || to >= len(s.sums) {
				return nil
			}
			return s.sumsAre(fmt.Sprintf("sum:%d", to), moved(s.sums, i, to), fmt.Sprintf("%s is number %d", refText(x.Ref), to+1))
		}
		rows = append(rows, row)
	}
	add := setRow{key: "sum:add", title: "+ Add summarization model", enters: "add"}
	add.enter = func() tea.Cmd {
		return s.picks("Add a summarization model", session.Model{}, s.stands, func(m ModelInfo) tea.Cmd {
			return s.sumsAre(fmt.Sprintf("sum:%d", len(s.sums)), append(slices.Clip(s.sums), Summarizer{Ref: refOf(m)}), m.Model.String()+" is added")
		})
	}
	rows = append(rows, add)
	if len(s.sums) == 0 {
		own := "the agent's own model is asked"
		if s.now != (session.Model{}) {
			own = s.now.String() + " is asked, the agent's own"
		}
		return append(rows, says("sum:note", own+", with its reasoning"))
	}
	return append(rows, says("sum:note", "asked in this order, and no others; from the next summary on"))
}

// stands says that a model is on the list, "" for one that is not. It may be on it twice: it is asked twice then.
func (s *settings) stands(m session.Model) string {
	i := slices.IndexFunc(s.sums, func(x Summarizer) bool { return x.Ref == setup.ModelRef{Provider: m.Provider, Model: m.Model} })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("number %d already", i+1)
}

func refOf(m ModelInfo) setup.ModelRef {
	return setup.ModelRef{Provider: m.Model.Provider, Model: m.Model.Model}
}

// refText is an entry, whatever it lacks.
func refText(r setup.ModelRef) string {
	if r.Provider == "" || r.Model == "" {
		return "an entry that can't be read"
	}
	return r.String()
}

func (s *settings) apiOf(provider string) string {
	p, _ := s.info.Set.Provider(provider)
	return p.API
}

func replaced(list []Summarizer, i int, ref setup.ModelRef) []Summarizer {
	out := slices.Clone(list)
	out[i] = Summarizer{Ref: ref}
	return out
}

func removed(list []Summarizer, i int) []Summarizer {
	return slices.Delete(slices.Clone(list), i, i+1)
}

func moved(list []Summarizer, from, to int) []Summarizer {
	out := slices.Clone(list)
	x := out[from]
	return slices.Insert(slices.Delete(out, from, from+1), to, x)
}

// sumsAre shows the list as it will be and saves it; the choice goes to the row
// of that key.
func (s *settings) sumsAre(key string, list []Summarizer, what string) tea.Cmd {
	refs := make([]setup.ModelRef, len(list))
	for i, x := range list {
		refs[i] = x.Ref
	}
	s.sums = list
	return s.change(key, settingOp{says: "Saved: " + oneLine(what) + ".", edits: func(info SettingsInfo) ([]SettingEdit, error) {
		e, err := edit(info, setup.Path{"routing", "summarization_models"}, refs)
		return []SettingEdit{e}, err
	}})
}
