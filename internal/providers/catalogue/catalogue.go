// Package catalogue knows what vendors publish of their models: windows,
// output caps, prices and abilities.
//
// It is the last that is asked (PRV-8): the user's setting and the provider's
// own report go before it, and a limit that was learnt or is lower wins. One
// list is part of the program, of [Snapshot]; `agent models refresh` puts a
// newer one beside it. Reading costs some milliseconds, once, when somebody
// asks; nothing here runs at start, and only [Fetch] uses the network.
package catalogue

import (
	"net/url"
	"slices"
	"strings"
	"sync"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
)

// Snapshot is the day of the list that is part of the program.
const Snapshot = "2026-08-19"

// A Model is what is published of a model. Sizes are in tokens and prices in
// USD per million tokens; 0 is not known.
type Model struct {
	Provider  string // as the catalogue names it
	ID, Name  string
	Window    int // input and output together
	MaxOutput int // what an answer usually may have
	In, Out   float64
	// CacheRead and CacheWrite are 0 where no price of their own is known.
	CacheRead, CacheWrite float64
	Priced                bool // In and Out are known; they are 0 for what costs nothing
	Reasons, Images       bool
	Levels                []string // of reasoning, in the vendor's words
}

// A Catalogue is one list of models.
type Catalogue struct {
	Date      string // YYYY-MM-DD
	Providers []Provider
	models    map[[2]string]Model // by provider and id
}

// A Provider is a vendor and its models, in the vendor's order.
type Provider struct {
	ID, Name string
	host     string // where it speaks, "" where it is not one place
	Models   []Model
}

// Embedded is the list that is part of the program.
var Embedded = sync.OnceValue(func() *Catalogue { return of(Snapshot, embedded.GetAll()) })

func of(date string, list []catwalk.Provider) *Catalogue {
	c := &Catalogue{Date: date, models: map[[2]string]Model{}}
	for _, p := range list {
		out := Provider{ID: string(p.ID), Name: p.Name, host: hostOf(string(p.ID), p.APIEndpoint)}
		for _, m := range p.Models {
			if m.ID == "" {
				continue
			}
			made := modelOf(out.ID, m)
			out.Models = append(out.Models, made)
			c.models[[2]string{out.ID, made.ID}] = made
		}
		c.Providers = append(c.Providers, out)
	}
	return c
}

func modelOf(provider string, m catwalk.Model) Model {
	out := Model{
		Provider: provider, ID: m.ID, Name: m.Name, Window: size(m.ContextWindow), MaxOutput: size(m.DefaultMaxTokens),
		Reasons: m.CanReason, Images: m.SupportsImages, Levels: m.ReasoningLevels,
	}
	in, cost := max(m.CostPer1MIn, 0), max(m.CostPer1MOut, 0)
	// Nothing for both is what lists say that don't know, and what subscriptions
	// have: an unknown price is unknown (PRV-10).
	if out.Priced = in > 0 || cost > 0 || strings.HasSuffix(m.ID, ":free"); out.Priced {
		out.In, out.Out = in, cost
		out.CacheRead, out.CacheWrite = cachePrices(provider, in, cost, m.CostPer1MInCached, m.CostPer1MOutCached)
	}
	return out
}

// largest is beyond every window; more is a mistake of the list.
const largest = 1 << 30

func size(n int64) int {
	if n < 0 || n > largest {
		return 0
	}
	return int(n)
}

// cachePrices tells what reading from and writing to the provider's cache
// costs. Lists disagree on which of the two fields is which (for Anthropic the
// first is the price of a write, for others that of a read), and some repeat
// the plain prices: a read is cheaper than input, a write dearer, and what
// equals a plain price says nothing.
func cachePrices(provider string, in, out float64, fields ...float64) (read, write float64) {
	for _, v := range fields {
		switch {
		case v <= 0 || v == in || v == out:
		case v > in && v <= 2*in:
			write = v
		case v < in && (read == 0 || v < read):
			// Google's lists have the price of an hour's storage there too.
			if strings.HasPrefix(provider, "gemini") || strings.HasPrefix(provider, "vertexai") {
				if v > in/2 {
					continue
				}
			}
			read = v
		}
	}
	return read, write
}

// hostOf is where a vendor speaks. Three leave it to a variable.
func hostOf(id, endpoint string) string {
	switch id {
	case "openai":
		return "api.openai.com"
	case "anthropic":
		return "api.anthropic.com"
	case "gemini":
		return "generativelanguage.googleapis.com"
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" {
		return ""
	}
	return strings.ToLower(u.Host)
}

// Of is the vendor behind an address, "" for none that is known: a server of
// the user's own may say what it likes in a vendor's name.
func (c *Catalogue) Of(name, baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" {
		return ""
	}
	host, found := strings.ToLower(u.Host), ""
	for _, p := range c.Providers {
		if p.host == host && (found == "" || p.ID == name) {
			found = p.ID
		}
	}
	return found
}

// Lookup is a vendor's model. A date at the end of its name may be missing in
// the list.
func (c *Catalogue) Lookup(provider, model string) (Model, bool) {
	for _, id := range []string{model, undated(model)} {
		if m, ok := c.models[[2]string{provider, id}]; ok {
			return m, true
		}
	}
	return Model{}, false
}

// Models are a vendor's, in its order.
func (c *Catalogue) Models(provider string) []Model {
	for _, p := range c.Providers {
		if p.ID == provider {
			return slices.Clone(p.Models)
		}
	}
	return nil
}

// undated is a model's name without the day of its release, as -2026-08-19 or
// -20260819.
func undated(id string) string {
	for _, shape := range []string{"-dddd-dd-dd", "-dddddddd"} {
		if n := len(id) - len(shape); n > 0 && looks(id[n:], shape) {
			return id[:n]
		}
	}
	return id
}

func looks(s, shape string) bool {
	for i := range len(shape) {
		digit := s[i] >= '0' && s[i] <= '9'
		if shape[i] == 'd' && !digit || shape[i] == '-' && s[i] != '-' {
			return false
		}
	}
	return true
}
