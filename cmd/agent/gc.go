package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"varve/internal/content"
	"varve/internal/harness"
	"varve/internal/words"
)

// gcCommand removes content that no session refers to (CAS-4).
func gcCommand(e *env, f *flags) *cobra.Command {
	var dry, asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "gc", Short: "Remove stored content that no session refers to any more", Args: cobra.NoArgs,
		Long: "Gc reads every session, and removes stored content that none refers to and that was put last more than\n" +
			"7 days ago. While one session can't be read, nothing is removed. It may run beside open sessions.",
		Example: "  agent gc --dry-run",
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 0 {
				return exit(exitUsage, "--limit %d: a number of blobs, or 0 for no limit", limit)
			}
			m, err := warned(e, f)
			if err != nil {
				return err
			}
			out, err := harness.Collection{
				DataDir: m.folders.Data, Blobs: content.Open(m.folders.Data), Now: time.Now(), Grace: harness.Grace, Limit: limit, DryRun: dry,
			}.Run(c.Context())
			if errors.Is(err, harness.ErrUnread) {
				return exit(exitSession, "%s: %w", map[bool]string{true: "nothing was removed", false: "nothing more was removed"}[len(out.Gone) == 0], err)
			}
			sayCollected(e, out, dry, asJSON)
			if err != nil {
				return exit(exitFailed, "%w", err)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "list what would go, and remove nothing")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().IntVar(&limit, "limit", 0, "remove at most this many blobs (default: no limit)")
	return c
}

func sayCollected(e *env, out harness.Collected, dry, asJSON bool) {
	size := func(all []harness.Waste) (n int64) {
		for _, w := range all {
			n += w.Size
		}
		return n
	}
	if asJSON {
		type waste struct {
			SHA256 string     `json:"sha256,omitempty"`
			Path   string     `json:"path,omitempty"`
			Bytes  int64      `json:"bytes"`
			Put    *time.Time `json:"put,omitempty"`
		}
		gone, left := []waste{}, []waste{}
		for _, w := range out.Gone {
			gone = append(gone, waste{SHA256: w.Name, Bytes: w.Size, Put: &w.Put})
		}
		for _, w := range out.Leftover {
			left = append(left, waste{Path: w.Name, Bytes: w.Size})
		}
		printJSON(e.out, map[string]any{
			"dry_run": dry, "sessions": out.Sessions, "blobs": out.Blobs, "kept": out.Kept, "young": out.Young,
			"gone": gone, "leftovers": left, "bytes": size(out.Gone) + size(out.Leftover), "more": out.More,
		})
		return
	}
	for _, w := range out.Gone {
		fprintln(e.out, fmt.Sprintf("%s  %s", w.Name, words.Bytes(w.Size)))
	}
	for _, w := range out.Leftover {
		fprintln(e.out, fmt.Sprintf("%s  %s", words.OneLine(w.Name), words.Bytes(w.Size)))
	}
	verb := "removed"
	if dry {
		verb = "would be removed"
	}
	fprintln(e.err, fmt.Sprintf("%s and %s of killed writers %s, %s. %s in use by %s; %s in use but younger than %d days.",
		words.Count(len(out.Gone), "blob"), words.Count(len(out.Leftover), "leftover"), verb, words.Bytes(size(out.Gone)+size(out.Leftover)),
		words.Count(out.Kept, "blob"), words.Count(out.Sessions, "session"), words.Count(out.Young, "blob")+" not", int(harness.Grace.Hours()/24)))
	if out.More {
		fprintln(e.err, "There is more: the limit ended this pass.")
	}
}
