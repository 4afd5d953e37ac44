package tui

import (
	"fmt"
	"strings"

	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// A todo is the plan that is shown: the one that the state of the branch names
// (PLAN-2, PLAN-5), and before that is known the newest one that was read.
type todo struct {
	at    session.Seq
	tasks []planTask
	words []source                   // of the tasks, where their event is on no page that was read
	read  map[session.Seq][]planTask // by event
	known bool                       // the state has said which one applies
}

// planned takes a plan that was read.
func (t *transcript) planned(q session.Seq, tasks []planTask) {
	d := &t.todo
	if d.read == nil {
		d.read = map[session.Seq][]planTask{}
	}
	d.read[q] = tasks
	if !d.known && q > d.at {
		d.at, d.tasks = q, tasks
	}
}

// holds takes over which plan applies. One that was not read is asked for.
func (t *transcript) holds(p session.Plan) {
	d := &t.todo
	if d.known && d.at == p.At {
		return
	}
	d.known, d.at, d.words = true, p.At, nil
	tasks, ok := d.read[p.At]
	if d.tasks = tasks; ok || p.At == 0 {
		return
	}
	for _, it := range p.Items {
		d.tasks = append(d.tasks, planTask{it.Status, it.ID})
		d.words = append(d.words, source{at: p.At, b: it.Content, missing: true})
	}
}

// give takes the words of a task that were asked for.
func (d *todo) give(w want, b []byte, err error) {
	for i := range d.words {
		if s := &d.words[i]; s.give(w, b, err, true) {
			d.tasks[i].text = plain.Clean(words.OneLine(s.text))
			if s.broken != "" {
				d.tasks[i].text = "its words can't be read: " + plain.Clean(words.OneLine(s.broken))
			}
		}
	}
}

// plan draws the plan; where it is not open, in one line, and only
// while something of it is to be done.
func (t *transcript) plan(w int, l look, open bool) []string {
	done, next := 0, ""
	for _, k := range t.todo.tasks {
		switch {
		case k.status == "completed" || k.status == "cancelled":
			done++
		case next == "" || k.status == "in_progress":
			next = k.text
		}
	}
	if len(t.todo.tasks) == 0 || !open && next == "" {
		return nil
	}
	head := l.ink(inkDim, plain.Truncate(strings.TrimSpace(fmt.Sprintf("▸ Plan %d/%d  %s", done, len(t.todo.tasks), next)), max(w, narrow)))
	if !open {
		return []string{head}
	}
	return append([]string{head}, checklist(t.todo.tasks, max(w, narrow), l)...)
}
