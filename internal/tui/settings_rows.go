package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"varve/internal/setup"
)

// The blocks of settings and their rows (SET-1).

const (
	modelBlock  = "model"
	routerBlock = "router"
	sumBlock    = "summarizers"
	roomBlock   = "context"
	keysBlock   = "providers"
	permitBlock = "permissions"
	toolsBlock  = "tools"
	looksBlock  = "appearance"
)

// makeRows are the blocks, and what is in those that are open.
func (s *settings) makeRows() []setRow {
	var rows []setRow
	for _, b := range []struct {
		name, title string
		value       func() string
		rows        func() []setRow
	}{
		{modelBlock, "Model and reasoning", func() string { return s.modelText() }, s.modelRows},
		{routerBlock, "Model Router", func() string { return "comes later" }, s.routerRows},
		{sumBlock, "Summarization models", s.sumText, s.sumRows},
		{roomBlock, "Context and compaction", s.roomText, s.roomRows},
		{keysBlock, "Providers", s.keysText, s.keyRows},
		{permitBlock, "Permissions", func() string { return s.info.Set.Permissions.Mode }, s.permitRows},
		{toolsBlock, "Tools and MCP", s.toolsText, s.toolRows},
		{looksBlock, "Appearance", func() string { return s.info.Set.Appearance.Theme }, s.looksRows},
	} {
		head := setRow{key: "head:" + b.name, title: b.title, enters: "open"}
		if s.open[b.name] {
			head.enters = "fold"
		}
		head.enter = func() tea.Cmd {
			s.open[b.name] = !s.open[b.name]
			s.build(head.key)
			return nil
		}
		if s.info.Set != nil {
			head.value = oneLine(b.value())
			if b.name == roomBlock {
				head.short = s.roomShort()
			}
		}
		rows = append(rows, head)
		if !s.open[b.name] || s.info.Set == nil {
			continue
		}
		for _, r := range b.rows() {
			r.level = max(r.level, 1)
			r.title, r.value, r.why = oneLine(r.title), oneLine(r.value), oneLine(r.why)
			rows = append(rows, r)
			if r.why != "" {
				rows = append(rows, setRow{key: r.key + ":why", title: r.why, level: r.level + 1, fixed: true, marked: true})
			}
		}
		for i, p := range s.info.Set.Problems {
			if blockOf(p.Path) == b.name && (b.name != sumBlock || len(p.Path) < 3) { // an entry says it itself
				rows = append(rows, setRow{key: fmt.Sprintf("problem:%d", i), title: oneLine(p.Path.String() + ": " + p.What), level: 1, fixed: true, marked: true})
			}
		}
	}
	return rows
}

// blockOf is where a problem of the settings is told.
func blockOf(p setup.Path) string {
	if len(p) == 0 {
		return ""
	}
	switch p[0] {
	case "routing":
		if len(p) > 1 && p[1] == "summarization_models" {
			return sumBlock
		}
		return routerBlock
	case "mcp":
		return toolsBlock
	}
	return p[0]
}

func says(key, text string) setRow { return setRow{key: key, title: text, fixed: true} }

// set is the change of one value; nil takes it out of the file.
func (s *settings) set(at, says string, value any) tea.Cmd {
	looks := ""
	if strings.HasPrefix(at, "appearance.") {
		looks = at
	}
	return s.change(s.key(), settingOp{says: says, looks: looks, edits: func(info SettingsInfo) ([]SettingEdit, error) {
		e, err := edit(info, setup.ParsePath(at), value)
		return []SettingEdit{e}, err
	}})
}

func edit(info SettingsInfo, at setup.Path, value any) (SettingEdit, error) {
	e := SettingEdit{At: at, Was: info.Set.Raw(at)}
	var err error
	if value != nil {
		e.To, err = json.Marshal(value)
	}
	return e, err
}

// scalar is the row of one value. Where the environment or a flag says
// otherwise than the file, that is said: a change counts without it.
func (s *settings) scalar(at, title, shown string) setRow {
	o := s.info.Set.Origin(at)
	row := setRow{key: at, title: title, value: shown, enters: "change"}
	switch o.From {
	case setup.FromDefault:
		row.value += " · default"
	case setup.FromProject:
		row.value += " · by the project"
	case setup.FromEnvironment:
		row.value += " · by $" + o.Name
	case setup.FromFlag:
		row.value += " · by a flag of this start"
	}
	raw := s.info.Set.Raw(setup.ParsePath(at))
	if raw != nil && (o.From == setup.FromEnvironment || o.From == setup.FromFlag) {
		row.value += ", setup.json says " + string(raw)
	}
	if raw != nil {
		row.removes = "back to default"
		row.remove = func() tea.Cmd { return s.set(at, s.saved(at, title+": the default"), nil) }
	}
	return row
}

// saved is what is said of a saved value, with what goes before it.
func (s *settings) saved(at, what string) string {
	switch s.info.Set.Origin(at).From {
	case setup.FromEnvironment:
		return "Saved: " + what + ". $" + setup.EnvName(at) + " goes before it."
	case setup.FromFlag:
		return "Saved: " + what + ". The flag of this start goes before it."
	}
	return "Saved: " + what + "."
}

// chooses lets a value be chosen from a few; "" is the default.
func (s *settings) chooses(row setRow, values []string, word func(string) string) setRow {
	at, title := row.key, row.title
	row.enter = func() tea.Cmd {
		var rows []PickRow
		for _, v := range values {
			rows = append(rows, PickRow{Title: word(v), Value: v})
		}
		p := NewPicker(title, rows, func(r PickRow) tea.Msg {
			v := r.Value.(string)
			return settingMsg{s, func() tea.Cmd {
				var to any
				if v != "" {
					to = v
				}
				short, _, _ := strings.Cut(word(v), ":")
				return s.set(at, s.saved(at, title+": "+short), to)
			}}
		})
		now := string(s.info.Set.Raw(setup.ParsePath(at)))
		p.Choose(func(r PickRow) bool { return strconv.Quote(r.Value.(string)) == now })
		s.child = p
		return nil
	}
	return row
}

// counts lets a number of tokens be written; "none" is the default.
func (s *settings) counts(row setRow, what string) setRow {
	at, title := row.key, row.title
	row.enter = func() tea.Cmd {
		s.child = newAsk(title, what+" In tokens, such as 120000 or 120k; none takes it out.", false, func(text string) tea.Msg {
			return settingMsg{s, func() tea.Cmd {
				n, ok := tokensOf(text)
				if !ok {
					s.note, s.bad = fmt.Sprintf("%s: %q is no number of tokens; write it as 120000 or 120k", title, oneLine(text)), true
					return nil
				}
				if n == nil {
					return s.set(at, s.saved(at, title+": the default"), nil)
				}
				return s.set(at, s.saved(at, title+": "+tokensShort(*n)), *n)
			}}
		})
		return nil
	}
	return row
}

// tokensOf reads 120000, 120k, 1.5M, none (nil).
func tokensOf(text string) (*int, bool) {
	text = strings.ToLower(strings.NewReplacer(",", "", "_", "", " ", "").Replace(strings.TrimSpace(text)))
	if text == "none" {
		return nil, true
	}
	by := 1.0
	switch {
	case strings.HasSuffix(text, "k"):
		by, text = 1e3, strings.TrimSuffix(text, "k")
	case strings.HasSuffix(text, "m"):
		by, text = 1e6, strings.TrimSuffix(text, "m")
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f*by > 1e9 || f*by < 0 || f != f {
		return nil, false
	}
	n := int(f*by + 0.5)
	return &n, true
}

// A textList is a list of texts in setup.json: rules, names of tools.
type textList struct {
	at, title, add, ask string
	now                 []string
}

func (s *settings) texts(l textList) []setRow {
	rows := []setRow{}
	at := setup.ParsePath(l.at)
	for i, text := range l.now {
		row := setRow{key: fmt.Sprintf("%s:%d", l.at, i), title: l.title + " " + text, controls: true, removes: "remove"}
		row.remove = func() tea.Cmd {
			return s.change(s.key(), settingOp{says: "Removed: " + oneLine(text) + ".", edits: func(info SettingsInfo) ([]SettingEdit, error) {
				list, e, err := rawList(info, at)
				if err != nil {
					return nil, err
				}
				if i := slices.IndexFunc(list, func(raw jsontext.Value) bool { return holdsText(raw, text) }); i >= 0 {
					list = slices.Delete(list, i, i+1)
				}
				e.To, err = json.Marshal(list)
				return []SettingEdit{e}, err
			}})
		}
		rows = append(rows, row)
	}
	add := setRow{key: l.at + ":add", title: "+ " + l.add, enters: "add"}
	add.enter = func() tea.Cmd {
		s.child = newAsk(l.add, l.ask, false, func(text string) tea.Msg {
			return settingMsg{s, func() tea.Cmd {
				return s.change(s.key(), settingOp{says: "Saved: " + l.title + " " + oneLine(text) + ".", edits: func(info SettingsInfo) ([]SettingEdit, error) {
					list, e, err := rawList(info, at)
					if err != nil {
						return nil, err
					}
					if slices.ContainsFunc(list, func(raw jsontext.Value) bool { return holdsText(raw, text) }) {
						return nil, fmt.Errorf("%s is on the list already", oneLine(text))
					}
					raw, err := json.Marshal(text)
					if err != nil {
						return nil, err
					}
					e.To, err = json.Marshal(append(list, raw))
					return []SettingEdit{e}, err
				}})
			}}
		})
		return nil
	}
	return append(rows, add)
}

// rawList is a list of the file as it stands there, what is nonsense in it
// included.
func rawList(info SettingsInfo, at setup.Path) (list []jsontext.Value, e SettingEdit, err error) {
	e = SettingEdit{At: at, Was: info.Set.Raw(at)}
	list = []jsontext.Value{}
	if e.Was != nil && string(e.Was) != "null" {
		if err := json.Unmarshal(e.Was, &list); err != nil {
			return nil, e, fmt.Errorf("%s is no list in setup.json: mend it with `agent config edit`", at)
		}
	}
	return list, e, nil
}

func holdsText(raw jsontext.Value, text string) bool {
	var s string
	return json.Unmarshal(raw, &s) == nil && s == text
}
