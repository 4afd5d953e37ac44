package openaichat

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"varve/internal/providers"
	"varve/internal/session"
)

// A head is the frame before the messages, kept while nothing in it changes.
// Messages come last, so that a request begins with the bytes of the one
// before (PFX-1).
type head struct {
	fields []field
	tools  []session.Text
	at     []session.Seq
	block  providers.Block
}

func (h *head) encode(ask providers.Ask, p Profile, drop map[string]bool, load providers.Load) (providers.Block, error) {
	tools := flat(nil, ask.Tools)
	fields := headFields(ask, p, drop, len(tools) > 0)
	var at []session.Seq
	var texts []session.Text
	for _, t := range tools {
		at, texts = append(at, t.At), append(texts, t.Definitions)
	}
	if h.block.Bytes != nil && slices.Equal(h.fields, fields) && slices.Equal(h.at, at) && slices.Equal(h.tools, texts) {
		return h.block, nil
	}
	w := new(providers.Builder)
	for i, f := range fields {
		lead := `,"`
		if i == 0 {
			lead = `{"`
		}
		w.Lit(lead + f.name + `":` + f.json)
	}
	if err := writeTools(w, tools, load); err != nil {
		return providers.Block{}, err
	}
	w.Lit(`,"messages":[`)
	b := w.Block(session.ItemID{})
	if err := checkFrame(append(slices.Clip(b.Bytes), "]}"...), p); err != nil {
		return b, fmt.Errorf("internal error: the request would be refused: %w", err)
	}
	*h = head{fields, texts, at, b}
	return b, nil
}

func headFields(ask providers.Ask, p Profile, drop map[string]bool, tools bool) []field {
	all := []field{{"model", quoted(ask.Model.Model)}, {"stream", "true"}, {"stream_options", `{"include_usage":true}`}}
	all = append(all, p.reasoningFields(ask.Model.Model, ask.Reasoning)...)
	all = append(all, p.Extra...)
	if tools {
		all = append(all, p.ExtraTools...)
	}
	if p.NoStore {
		all = append(all, field{"store", "false"})
	}
	if ask.OutputLimit > 0 {
		all = append(all, field{p.MaxField, strconv.Itoa(ask.OutputLimit)})
	}
	if p.CacheKey && ask.CacheKey != "" {
		all = append(all, field{"prompt_cache_key", quoted(ask.CacheKey)})
	}
	return slices.DeleteFunc(all, func(f field) bool { return drop[f.name] })
}

func quoted(s string) string { return string(session.AppendQuoted(nil, []byte(s))) }

func flat(out, in []session.Tools) []session.Tools {
	for _, t := range in {
		more := t.More
		t.More = nil
		if t.At != 0 {
			out = append(out, t)
		}
		out = flat(out, more)
	}
	return out
}

// writeTools writes the recorded definitions. One list stands as it is;
// several are joined, the first of a name wins. No list is written where there
// is no tool: some servers refuse an empty one.
func writeTools(w *providers.Builder, tools []session.Tools, load providers.Load) error {
	var lists [][]byte
	for _, t := range tools {
		list, err := load(t.At, t.Definitions.B)
		if err != nil {
			return fmt.Errorf("tool definitions %d: %w", t.At, err)
		}
		if !gjson.ValidBytes(list) || !gjson.ParseBytes(list).IsArray() {
			return fmt.Errorf("tool definitions %d: want a JSON list as openai-chat records it", t.At)
		}
		lists = append(lists, list)
	}
	if len(lists) == 1 {
		if len(gjson.ParseBytes(lists[0]).Array()) > 0 {
			w.Lit(`,"tools":`).Raw(tools[0].At, tools[0].Definitions.B, lists[0])
		}
		return nil
	}
	seen := map[string]bool{}
	lead := `,"tools":[`
	for _, list := range lists {
		for _, def := range gjson.ParseBytes(list).Array() {
			if name := def.Get("function.name").String(); !seen[name] {
				seen[name] = true
				w.Lit(lead + def.Raw)
				lead = ","
			}
		}
	}
	if len(seen) > 0 {
		w.Lit("]")
	}
	return nil
}
