package main

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"varve/internal/providers/catalogue"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/words"
)

// What the catalogue of models says (PRV-8).

func cataloguePath(f setup.Folders) string { return filepath.Join(f.State, "models.json") }

// published is what the catalogue has of a model. It counts at the vendor's own
// address alone: what another server calls by the same name may be anything.
func published(m session.Model, baseURL string) (catalogue.Model, bool) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()) != nil {
		return catalogue.Model{}, false // the list isn't read for it
	}
	c, _ := catalogue.Current()
	vendor := c.Of(m.Provider, baseURL)
	if vendor == "" {
		return catalogue.Model{}, false
	}
	return c.Lookup(vendor, m.Model)
}

// catalogueWords names the catalogue with its day.
func catalogueWords() string {
	c, _ := catalogue.Current()
	return "catalogue of " + c.Date
}

// warnCatalogue says on standard error that the fetched one is not used.
func warnCatalogue(e *env) {
	if err := catalogueProblem(); err != nil {
		fprintln(e.err, "agent: "+err.Error())
	}
}

// priceWords is what a million tokens cost.
func priceWords(m catalogue.Model) string {
	if !m.Priced {
		return "not known"
	}
	if m.In == 0 && m.Out == 0 {
		return "free"
	}
	s := fmt.Sprintf("%s in, %s out", dollars(m.In), dollars(m.Out))
	if m.CacheRead > 0 {
		s += ", " + dollars(m.CacheRead) + " cached"
	}
	return s + " per million tokens"
}

// dollars is a price with as few digits as it needs.
func dollars(usd float64) string {
	return "$" + strconv.FormatFloat(usd, 'f', -1, 64)
}

// shortPrice is in and out of a million tokens, "" where it is not known.
func shortPrice(m catalogue.Model) string {
	switch {
	case !m.Priced:
		return ""
	case m.In == 0 && m.Out == 0:
		return "free"
	}
	return dollars(m.In) + "/" + dollars(m.Out)
}

// abilities are what a model can do beyond answering in text.
func abilities(m catalogue.Model) []string {
	var can []string
	if m.Reasons {
		can = append(can, "reasons")
	}
	if m.Images {
		can = append(can, "sees pictures")
	}
	return can
}

func refreshCommand(e *env, f *flags) *cobra.Command {
	from := catalogue.Address
	c := &cobra.Command{
		Use: "refresh", Short: "Fetch a newer catalogue of models: windows, prices, abilities", Args: cobra.NoArgs,
		Long: "Fetch a newer catalogue of models and keep it beside the one that came with the program. Nothing else asks for it, and nothing is sent.",
		RunE: func(c *cobra.Command, _ []string) error {
			m, err := warned(e, f)
			if err != nil {
				return err
			}
			client, err := m.client()
			if err != nil {
				return exit(exitUsage, "%w", err)
			}
			got, err := catalogue.Fetch(c.Context(), client, from, cataloguePath(m.folders), time.Now())
			if err != nil {
				return exit(exitFailed, "%w", err)
			}
			n := 0
			for _, p := range got.Providers {
				n += len(p.Models)
			}
			fmt.Fprintf(e.out, "The catalogue is of %s now: %s of %s.\n", got.Date, words.Count(n, "model"), words.Count(len(got.Providers), "provider"))
			return nil
		},
	}
	c.Flags().StringVar(&from, "from", from, "an https address, or a file, to take it from")
	return c
}

// catalogueProblem says why the fetched catalogue is not used.
func catalogueProblem() error {
	_, err := catalogue.Current()
	return err
}
