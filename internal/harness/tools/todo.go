package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

func prepareTodo(_ context.Context, p *prep) (step, error) {
	had := p.known.Todo()
	next := Todo{NextID: max(had.NextID, 1)}
	used := map[string]bool{}
	working := 0
	for i, a := range p.args.list("items") {
		it := TodoItem{Content: strings.TrimSpace(a.str("content")), ActiveForm: a.str("active_form"), Status: a.str("status")}
		if it.Content == "" {
			return nil, fmt.Errorf("item %d has no content", i+1)
		}
		if it.Status == "in_progress" {
			working++
		}
		it.ID = keptID(had, a.str("id"), it.Content, used)
		used[it.ID] = true
		next.Items = append(next.Items, it)
	}
	if working > 1 {
		return nil, fmt.Errorf("%d items are in_progress; at most one may be. The list is unchanged", working)
	}
	for i := range next.Items {
		if it := &next.Items[i]; it.ID == "" {
			it.ID = fmt.Sprintf("task-%d", next.NextID)
			next.NextID++
		}
	}
	return func(context.Context, Progress) Result {
		text := "[the list is empty]"
		if len(next.Items) > 0 {
			var b strings.Builder
			for _, it := range next.Items {
				fmt.Fprintf(&b, "%s [%s] %s\n", it.ID, it.Status, it.Content)
			}
			text = b.String()
		}
		r := Result{Todo: &next}
		p.headOnly(&r, text, "")
		return r
	}, nil
}

// keptID is the id of the item that this one goes on with: by its id, else by its words; "" for a new one.
func keptID(had Todo, id, content string, used map[string]bool) string {
	free := func(ok func(TodoItem) bool) string {
		if i := slices.IndexFunc(had.Items, func(h TodoItem) bool { return !used[h.ID] && ok(h) }); i >= 0 {
			return had.Items[i].ID
		}
		return ""
	}
	if kept := free(func(h TodoItem) bool { return id != "" && h.ID == id }); kept != "" {
		return kept
	}
	return free(func(h TodoItem) bool { return h.Content == content })
}

var errNoPattern = errors.New("pattern is empty")
