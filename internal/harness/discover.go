package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// An Assembly is what was found to instruct the model with (ASM-3). Texts
// stand beside the sources that were published, by key.
type Assembly struct {
	Fingerprint string
	Sources     []session.AssemblySource
	Texts       map[string][]byte
}

// leftOut names the sources that were left out, and why.
func leftOut(a Assembly) string {
	var out []string
	for _, s := range a.Sources {
		if _, ok := a.Texts[s.Key]; !ok && s.Why != "" {
			out = append(out, session.PathKey(s.Path)+": "+s.Why)
		}
	}
	all := strings.Join(out, "; ")
	if len(all) > 1000 {
		all = strings.ToValidUTF8(all[:1000], "") + "…"
	}
	return all
}

// discover looks for instructions and records what has changed since they
// were last published.
func (h *Hands) discover(ctx context.Context, s session.State) drive.Result {
	a, err := h.look(ctx)
	if err != nil {
		return drive.Result{Fault: &drive.Fault{Where: "discover", Kind: "assembly", Text: []byte(err.Error())}}
	}
	now := map[string]session.Item{}
	for it := range s.Branch.View.All {
		if it.Kind != session.InstructionItem {
			break // they come first
		}
		now[it.Key] = it
	}
	var facts []session.Fact
	omitted := 0
	for _, src := range a.Sources {
		text, published := a.Texts[src.Key]
		if !published {
			if src.Why != "" {
				omitted++
			}
			continue
		}
		if old, ok := now[src.Key]; ok {
			delete(now, src.Key)
			if b, err := h.sess.Text(old); err == nil && bytes.Equal(b, text) {
				continue
			}
		}
		facts = append(facts, session.Fact{
			Event: session.InstructionPublished{
				Key: src.Key, Path: session.PathKey(src.Path), Report: a.Fingerprint, Tokens: session.Estimate(len(text)),
			},
			Body: []session.Part{{Bytes: text}},
		})
	}
	for it := range s.Branch.View.All {
		if it.Kind != session.InstructionItem {
			break
		}
		if _, gone := now[it.Key]; gone {
			facts = append(facts, session.Fact{Event: session.InstructionWithdrawn{Key: it.Key}})
		}
	}
	if omitted > 0 && a.Fingerprint != s.Branch.Assembly {
		facts = append(facts, session.Fact{Event: session.ToastPosted{
			Level: "warning", Code: "sources_omitted", Args: map[string]string{"n": strconv.Itoa(omitted), "what": leftOut(a)},
		}})
	}
	report := session.AssemblyReported{Fingerprint: a.Fingerprint, N: len(a.Sources), Omitted: omitted}
	list := []byte("[]")
	if a.Fingerprint != s.Branch.Assembly {
		if list, err = json.Marshal(a.Sources); err != nil {
			return drive.Result{Fault: &drive.Fault{Where: "discover", Kind: "assembly", Text: []byte(err.Error())}}
		}
	}
	report.Sources = session.Text{B: 0, MediaType: "application/json"}
	return drive.Result{Facts: append(facts, session.Fact{Event: report, Body: []session.Part{{Bytes: list, MediaType: "application/json"}}})}
}
