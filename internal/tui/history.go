package tui

import (
	"encoding/json"
	"slices"
	"strings"

	"varve/internal/tui/plain"
)

// What the history keeps: so many messages, none of them longer on paper than this. A longer one is kept in memory only.
const (
	historyDepth = 1000
	historyLine  = 64 << 10
)

// A History is what was written before, oldest first. It is memory only: root loads it with ParseHistory and keeps each
// Line that Add returns.
type History struct{ drafts []Draft }

// ParseHistory reads lines as Add made them, oldest first. A line that is no such line is the text itself.
func ParseHistory(lines []string) History {
	var h History
	for _, l := range lines {
		var d Draft
		if !strings.HasPrefix(l, "{") || json.Unmarshal([]byte(l), &d) != nil || d.Text == "" {
			d = Draft{Text: cleanInput(l)}
		}
		h.Add(d)
	}
	return h
}

// Add puts a draft at the end, unless it is what stands there or nothing. The line, one line of JSON, is to be kept; "" is
// not.
func (h *History) Add(d Draft) (line string) {
	d.At = 0
	if strings.TrimSpace(d.Text) == "" || len(h.drafts) > 0 && same(h.drafts[len(h.drafts)-1], d) {
		return ""
	}
	h.drafts = append(h.drafts, d)
	if over := len(h.drafts) - historyDepth; over > 0 {
		h.drafts = slices.Delete(h.drafts, 0, over)
	}
	size := len(d.Text)
	for _, p := range d.Pastes {
		size += len(p)
	}
	if size > historyLine {
		return ""
	}
	b, err := json.Marshal(d)
	if err != nil || len(b) > historyLine {
		return ""
	}
	return string(b)
}

// Len is how many there are.
func (h *History) Len() int { return len(h.drafts) }

func same(a, b Draft) bool { return a.Text == b.Text && slices.Equal(a.Pastes, b.Pastes) }

// older and newer are the next draft from index i that is what find wants, or -1.
func (h *History) older(i int, find func(Draft) bool) int {
	for i = min(i, len(h.drafts)) - 1; i >= 0; i-- {
		if find(h.drafts[i]) {
			return i
		}
	}
	return -1
}

func (h *History) newer(i int, find func(Draft) bool) int {
	for i++; i < len(h.drafts); i++ {
		if find(h.drafts[i]) {
			return i
		}
	}
	return -1
}

// A recall is a walk through the history: the draft that was left, where the walk stands, and what was changed on the way.
// Nothing that was written is lost by it.
type recall struct {
	at     int // index of what is shown; Len() is the draft
	prefix string
	draft  Draft
	edited map[int]Draft
}

// earlier shows the message before; false where there is none. It looks for those that begin with what was written when
// the walk began, or if there are none, for all.
func (c *Composer) earlier() bool {
	if c.recall == nil {
		d := c.Draft()
		c.recall = &recall{at: c.history.Len(), draft: d, edited: map[int]Draft{}}
		if p := d.Text; !strings.Contains(p, chipLead) && c.history.older(c.history.Len(), begins(p)) >= 0 {
			c.recall.prefix = p
		}
	}
	return c.walk(c.history.older(c.recall.at, begins(c.recall.prefix)))
}

// later shows the message after, and at last the draft.
func (c *Composer) later() bool {
	if c.recall == nil || c.recall.at == c.history.Len() {
		return false
	}
	i := c.history.newer(c.recall.at, begins(c.recall.prefix))
	if i < 0 {
		i = c.history.Len()
	}
	return c.walk(i)
}

func begins(prefix string) func(Draft) bool {
	return func(d Draft) bool { return strings.HasPrefix(d.Text, prefix) && d.Text != prefix }
}

func (c *Composer) walk(to int) bool {
	if to < 0 {
		return false
	}
	r := c.recall
	if now := c.Draft(); r.at == c.history.Len() {
		r.draft = now
	} else if !same(now, c.history.drafts[r.at]) {
		r.edited[r.at] = now
	}
	r.at = to
	show := r.draft
	if to < c.history.Len() {
		show = c.history.drafts[to]
		show.At = len(show.Text)
		if d, ok := r.edited[to]; ok {
			show = d
		}
	}
	c.put(show)
	return true
}

// A search looks for a message that holds what is typed (Ctrl+R). The draft comes back when it is given up.
type search struct {
	query string
	at    int // index of the match; Len() before the first
	found bool
	draft Draft
}

func (c *Composer) beginSearch() {
	c.search = &search{at: c.history.Len(), draft: c.Draft(), found: true}
	c.offer = offer{}
}

// seek moves the search: from an index, to older or newer messages.
func (c *Composer) seek(next func(int, func(Draft) bool) int, from int) {
	s := c.search
	query := strings.ToLower(s.query)
	if i := next(from, func(d Draft) bool { return strings.Contains(strings.ToLower(d.Text), query) }); i >= 0 {
		s.at, s.found = i, true
		d := c.history.drafts[i]
		d.At = len(d.Text)
		if query != "" {
			if at := strings.Index(strings.ToLower(d.Text), query); at >= 0 && len(strings.ToLower(d.Text)) == len(d.Text) {
				d.At = at
			}
		}
		c.show(d)
	} else if query != "" {
		s.found = false
	}
}

// searchKey does what a key does while the history is searched.
func (c *Composer) searchKey(act Action, typed string) {
	s := c.search
	switch act {
	case ActSearchOlder:
		c.seek(c.history.older, s.at)
	case ActSearchNewer:
		c.seek(c.history.newer, s.at)
	case ActSearchTake:
		found := c.Draft()
		c.show(s.draft)
		if s.at < c.history.Len() {
			c.recall = &recall{at: s.at, draft: s.draft, edited: map[int]Draft{}}
			c.put(found)
		}
		c.search = nil
	case ActSearchCancel:
		c.search = nil
		c.show(s.draft)
	case ActDeleteBack, ActDeleteWordBk, ActKillToStart:
		q := newField(s.query)
		q.do(act)
		c.ask(q.String())
	default:
		if typed != "" {
			c.ask(s.query + typed)
		}
	}
}

// ask changes what is searched: from the newest again.
func (c *Composer) ask(query string) {
	query, _, _ = strings.Cut(plain.Clean(query), "\n")
	c.search.query = query
	if query == "" {
		c.search.at, c.search.found = c.history.Len(), true
		c.show(c.search.draft)
		return
	}
	c.seek(c.history.older, c.history.Len())
}
