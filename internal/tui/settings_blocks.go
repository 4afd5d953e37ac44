package tui

import (
	"cmp"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/session"
	"varve/internal/setup"
)

// What stands in each block, but for the summarization models.

func (s *settings) modelText() string {
	m := s.info.Set.Model
	if m.Provider == "" || m.Model == "" {
		return "none chosen"
	}
	return m.Provider + "/" + m.Model
}

func (s *settings) modelRows() []setRow {
	set := s.info.Set
	model := s.scalar("model.model", "Model", s.modelText())
	model.remove = nil // a session needs one
	model.enter = func() tea.Cmd {
		now := s.now
		now.Provider, now.Model = set.Model.Provider, set.Model.Model
		if p, ok := set.Provider(now.Provider); ok {
			now.API = p.API
		}
		return s.picks("The model of new sessions", now, nil, func(m ModelInfo) tea.Cmd {
			return s.change(s.key(), settingOp{
				says: s.saved("model.model", "new sessions begin with "+m.Model.String()),
				edits: func(info SettingsInfo) ([]SettingEdit, error) {
					p, err := edit(info, setup.Path{"model", "provider"}, m.Model.Provider)
					if err != nil {
						return nil, err
					}
					n, err := edit(info, setup.Path{"model", "model"}, m.Model.Model)
					return []SettingEdit{p, n}, err
				},
			})
		})
	}
	reason := func(v string) string { return cmp.Or(v, "the provider's default") }
	return []setRow{
		model,
		s.chooses(s.scalar("model.reasoning", "Reasoning", reason(set.Model.Reasoning)), []string{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"}, reason),
		says("model:note", "for new sessions; /model changes this one"),
	}
}

func (s *settings) routerRows() []setRow {
	text := "the model auto comes later"
	if n := len(s.info.Set.Routing.Auto); n > 0 {
		text += fmt.Sprintf("; the %d entries of routing.auto are kept", n)
	}
	return []setRow{says("router:note", text)}
}

// roomText says in a few words when a conversation is made shorter, and by whom.
func (s *settings) roomText() string {
	switch c := s.info.Set.Context.Compaction; c.Effective() {
	case "standalone":
		return "summarized by models, " + s.roomAt()
	case "provider":
		return "summarized by the provider, " + s.roomAt()
	case "disabled":
		return "summarized with /compact alone"
	default:
		return c.Effective()
	}
}

func (s *settings) roomShort() string {
	if s.info.Set.Context.Compaction.Effective() == "disabled" {
		return "by hand"
	}
	return s.roomAt()
}

func (s *settings) roomAt() string {
	if n := s.info.Set.Context.Compaction.ThresholdTokens; n != nil {
		return "at " + tokensShort(*n)
	}
	return "at 80 %"
}

// roomRows are the budget and when a conversation is made shorter (CMP-1, CMP-2).
func (s *settings) roomRows() []setRow {
	c := s.info.Set.Context
	tokens := func(n *int, none string) string {
		if n == nil {
			return none
		}
		return tokensShort(*n) + " tokens"
	}
	mode := func(v string) string {
		switch v {
		case "":
			return "standalone (default)"
		case "standalone":
			return "standalone: a request of its own"
		case "provider":
			return "provider: within an answer, where the provider can"
		case "disabled":
			return "disabled: only with /compact"
		}
		return v
	}
	return []setRow{
		s.chooses(s.scalar("context.compaction.mode", "Mode", c.Compaction.Effective()), []string{"standalone", "provider", "disabled"}, mode),
		s.counts(s.scalar("context.compaction.threshold_tokens", "Compact from", tokens(c.Compaction.ThresholdTokens, "80 % of the budget")), "A conversation of this size is summarized by itself."),
		s.counts(s.scalar("context.compaction.target_tokens", "Size of a summary", tokens(c.Compaction.TargetTokens, "none asked for")), "What a summary is asked to keep to."),
		s.counts(s.scalar("context.input_limit_tokens", "Limit of input", tokens(c.InputLimitTokens, "what the model takes")), "The budget for what is sent. Without it that is the model's window, at most 204,800 tokens."),
		says("context:note", "from the next turn or /compact on"),
	}
}

func (s *settings) keysText() string {
	keyed, here := 0, 0
	for _, p := range s.info.Providers {
		switch {
		case p.Key == setup.KeyPresent, p.Key == setup.KeyByCommand:
			keyed++
		case p.Key == setup.KeyNotNeeded && !p.BuiltIn: // a built-in one need not be there
			here++
		}
	}
	says := fmt.Sprintf("%d with a key", keyed)
	if keyed == 0 {
		says = "none with a key"
	}
	if here > 0 {
		return fmt.Sprintf("%d on this machine, %s", here, says)
	}
	return says
}

func (s *settings) keyRows() []setRow {
	var rows []setRow
	for _, p := range s.info.Providers {
		row := setRow{key: "provider:" + p.Name, title: p.Name, enters: "give a key"}
		switch p.Key {
		case setup.KeyPresent, setup.KeyByCommand:
			row.value = "key: " + p.From
		case setup.KeyMissing:
			row.value = "no key"
		case setup.KeyNotNeeded:
			row.value = "on this machine, " + p.BaseURL
		}
		if p.Key != setup.KeyNotNeeded {
			row.enter = func() tea.Cmd {
				s.child = askKey(p.Name, func(key string) tea.Msg {
					return settingMsg{s, func() tea.Cmd {
						return func() tea.Msg {
							info, err := s.agent.StoreKey(s.ctx, p.Name, key)
							return keyStoredMsg{s, p.Name, info, err}
						}
					}}
				})
				return nil
			}
		}
		rows = append(rows, row)
	}
	return append(rows, says("providers:note", "another address: `agent config set providers.NAME.base_url ADDRESS`"))
}

// keyStoredMsg is no change of setup.json: it has no turn.
type keyStoredMsg struct {
	of       *settings
	provider string
	info     SettingsInfo
	err      error
}

func (m keyStoredMsg) on(r *Root) tea.Cmd {
	s := m.of
	if m.info.Set != nil {
		s.info = m.info
		if len(s.queue) == 0 {
			s.sums = append([]Summarizer(nil), m.info.Summarizers...)
		}
	}
	s.note, s.bad = "The key for "+oneLine(m.provider)+" is kept.", false
	if m.err != nil {
		s.note, s.bad = oneLine(m.err.Error()), true
		if !r.shown(s) {
			r.say("error", m.err.Error())
		}
	}
	s.build(s.key())
	return nil
}

func (s *settings) permitRows() []setRow {
	p := s.info.Set.Permissions
	mode := func(v string) string {
		switch v {
		case "ask":
			return "ask: before each change and command"
		case "edit":
			return "edit: files are changed without asking"
		case "full":
			return "full: nothing is asked inside the workspace"
		}
		return v
	}
	rows := []setRow{s.chooses(s.scalar("permissions.mode", "Mode of new sessions", p.Mode), []string{"ask", "edit", "full"}, mode)}
	const how = "A rule such as bash(go test ./...) or edit(docs/**); docs/setup.md has them all."
	rows = append(rows, s.texts(textList{at: "permissions.allow", title: "allow", add: "Allow without asking", ask: how, now: p.Allow})...)
	return append(rows, s.texts(textList{at: "permissions.deny", title: "deny", add: "Deny always", ask: how, now: p.Deny})...)
}

func (s *settings) toolsText() string {
	if n := len(s.info.Set.Tools.Disabled); n > 0 {
		return fmt.Sprintf("%d switched off", n)
	}
	return "all on"
}

func (s *settings) toolRows() []setRow {
	rows := s.texts(textList{
		at: "tools.disabled", title: "off:", add: "Switch a tool off", ask: "The name of a tool, such as bash. It counts from the next session on.",
		now: s.info.Set.Tools.Disabled,
	})
	text := "MCP servers come later"
	if n := len(s.info.Set.MCP.Servers); n > 0 {
		text += fmt.Sprintf("; the %d of mcp.servers are kept", n)
	}
	return append(rows, says("mcp:note", text))
}

func (s *settings) looksRows() []setRow {
	a := s.info.Set.Appearance
	turns := func(at, title, says string, on bool) setRow {
		word := map[bool]string{true: "on", false: "off"}
		row := s.scalar(at, title, word[on])
		row.enter = func() tea.Cmd { return s.set(at, s.saved(at, says+word[!on]), !on) }
		return row
	}
	theme := s.scalar("appearance.theme", "Theme", a.Theme)
	theme.enter = func() tea.Cmd {
		themes, _ := NewThemes(a.Themes)
		s.child = newThemePicker("Theme", themes, a.Theme, func(name string) tea.Msg {
			return settingMsg{s, func() tea.Cmd {
				return s.set("appearance.theme", s.saved("appearance.theme", "the theme is "+name), name)
			}}
		})
		return nil
	}
	rows := []setRow{
		theme, turns("appearance.mouse", "Mouse", "the mouse is ", a.Mouse),
		s.chooses(s.scalar("appearance.diff", "Changes", diffWord(a.Diff)), []string{"auto", oneColumn}, diffWord),
		turns("appearance.vim", "Vim keys", "the keys of vi are ", a.Vim),
	}
	problems := LookProblems(a)
	keys := says("keys:note", "keys: as they come; appearance.keys in setup.json changes them")
	if len(a.Keys) > 0 {
		keys.title = fmt.Sprintf("keys: %d of your own, in appearance.keys of setup.json", len(a.Keys))
	}
	rows = append(rows, keys)
	for i, p := range problems {
		rows = append(rows, setRow{key: fmt.Sprintf("looks:%d", i), title: strings.TrimPrefix(p.Error(), "appearance."), level: 1, fixed: true, marked: true})
	}
	return rows
}

// looksChanged takes a value of the appearance as it is saved, after a change of
// it: of one that was only shown and could not be saved too. Other changes leave
// what the user switched for now.
func (r *Root) looksChanged(at string, info SettingsInfo) {
	switch a := info.Set.Appearance; at {
	case "appearance.theme":
		r.themes, _ = NewThemes(a.Themes)
		r.wear(a.Theme)
	case "appearance.mouse":
		r.looks.Mouse = a.Mouse
	case "appearance.vim":
		r.looks.Vim = a.Vim
		r.chat.comp.UseVim(a.Vim)
	case "appearance.diff":
		r.looks.Diff = a.Diff
		r.chat.tr.beside(a.Diff != oneColumn)
	}
}

// picks opens the picker of models in place of the list; in may say where a model stands already.
func (s *settings) picks(title string, now session.Model, in func(session.Model) string, then func(ModelInfo) tea.Cmd) tea.Cmd {
	l, cmd := newModelList(s.ctx, s.agent, title, now, func(m ModelInfo) tea.Msg {
		return settingMsg{s, func() tea.Cmd {
			if m.Model.Model == "" { // it only needs a key
				s.open[keysBlock] = true
				s.build("provider:" + m.Model.Provider)
				return s.act(ActChoose)
			}
			used := func() tea.Msg { return preferredMsg{s.agent.Prefer(s.ctx, m.Model, Used)} }
			return tea.Batch(used, then(m))
		}}
	})
	l.in = in
	s.child = l.p
	return cmd
}
