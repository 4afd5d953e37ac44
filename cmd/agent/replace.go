package main

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/words"
)

// maxReplacement is the most that one item's new text may hold, in bytes (MED-1).
const maxReplacement = 1 << 20

const whichReplaced = "which message? Give its number, or several as NUMBER=FILE; `agent session show ID` has them"

// replaceCommand swaps contents of the view (RPR-1).
func replaceCommand(e *env, f *flags, asJSON *bool) *cobra.Command {
	var branch string
	var expect uint64
	c := &cobra.Command{
		Use: "replace ID ITEM [FILE] | ID ITEM=FILE…", Short: "Put another text in the place of a message of yours or of a tool's result",
		Long: "Replace swaps what the model is shown of a message of yours or of a tool's result, from the next request\n" +
			"on. The text comes from a file, or from standard input (- or no FILE). What was recorded stays in the file.",
		Example: "  agent session replace 01a2 14 shorter.txt\n  agent session replace 01a2 14=a.txt 22=b.txt",
		RunE: func(c *cobra.Command, args []string) error {
			if err := takes(2, whichSession, whichReplaced)(c, args[:min(len(args), 2)]); err != nil {
				return err
			}
			swaps, err := swapsOf(e, args[1:])
			if err != nil {
				return err
			}
			return replaced(c, e, f, *asJSON, args[0], drive.Replace{Branch: branch, Expect: session.Seq(expect), Why: "repair", Swaps: swaps})
		},
	}
	c.Flags().StringVar(&branch, "branch", "", "the branch (default: the last used)")
	c.Flags().Uint64Var(&expect, "expect", 0, "refuse where the branch is at another revision than this one")
	return c
}

// swapsOf reads what is to be put where: ITEM [FILE], or ITEM=FILE….
func swapsOf(e *env, args []string) ([]drive.Swap, error) {
	pairs := args
	if !strings.Contains(args[0], "=") {
		if len(args) > 2 {
			return nil, exit(exitUsage, "%q is one argument too many: several messages are given as NUMBER=FILE", args[2])
		}
		pairs = []string{args[0] + "=" + strings.Join(args[1:], "")}
	}
	var swaps []drive.Swap
	for _, p := range pairs {
		number, file, ok := strings.Cut(p, "=")
		id, err := session.ParseItemID(number)
		switch {
		case err != nil || !ok:
			return nil, exit(exitUsage, "%q is no message's number; `agent session show ID` has them", number)
		case file == "" && len(pairs) > 1:
			return nil, exit(exitUsage, "which file for %s? Several messages are given as NUMBER=FILE", number)
		}
		for _, w := range swaps {
			if w.Item == id {
				return nil, exit(exitUsage, "%s is named twice: which text is meant?", id)
			}
		}
		text, err := replacement(e, file)
		if err != nil {
			return nil, err
		}
		swaps = append(swaps, drive.Swap{Item: id, Text: text})
	}
	return swaps, nil
}

func replacement(e *env, file string) ([]byte, error) {
	in, name := e.in, "standard input"
	if file != "" && file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, exit(exitUsage, "%w", err)
		}
		defer f.Close()
		in, name = f, file
	}
	b, err := io.ReadAll(io.LimitReader(in, maxReplacement+1))
	switch {
	case err != nil:
		return nil, exit(exitUsage, "%s: %w", name, err)
	case len(b) > maxReplacement:
		return nil, exit(exitUsage, "%s holds more than %s: give less", name, words.Bytes(maxReplacement))
	case len(strings.TrimSpace(string(b))) == 0:
		return nil, exit(exitUsage, "%s is empty: to take a text away, use `agent session redact`", name)
	}
	return b, nil
}

// replaced does o and says what came of each of its swaps.
func replaced(c *cobra.Command, e *env, f *flags, asJSON bool, id string, o drive.Replace) error {
	m, err := warned(e, f)
	if err != nil {
		return err
	}
	path, err := m.find(id)
	if err != nil {
		return err
	}
	s, err := m.open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	if o.Branch == "" {
		o.Branch = s.LastBranch()
	}
	out, err := s.Replace(c.Context(), m.folders.State, o)
	if conflict := (drive.Conflict{}); errors.As(err, &conflict) {
		if asJSON {
			printJSON(e.out, map[string]any{"conflict": map[string]any{"branch": conflict.Branch, "expected": conflict.Expected, "revision": conflict.Is}})
		}
		return exit(exitSession, "%w", conflict)
	}
	if err != nil {
		return operationErr(err, o.Branch)
	}
	var stays []harness.Remnant
	if o.Why == "redact" {
		if stays, err = s.Remnants(c.Context(), redacted(out.Swapped)); err != nil {
			return sessionErr(err)
		}
	}
	if asJSON {
		came := map[string]any{"branch": out.Branch, "revision": s.State(out.Branch).Branch.Head, "items": out.Swapped}
		if o.Why == "redact" {
			came["stays"] = orEmpty(stays)
		}
		printJSON(e.out, came)
	}
	sayReplaced(e, asJSON, id, o.Why, out.Swapped)
	if !asJSON {
		sayRemnants(e, stays)
	}
	if err := notReplaced(out.Swapped); err != nil {
		return err
	}
	return remain(stays, 0, id)
}

// redacted are the items whose words are not to be shown any more.
func redacted(all []drive.Swapped) (ids []session.ItemID) {
	for _, w := range all {
		if w.Outcome == drive.Replaced || w.Outcome == drive.Unchanged {
			ids = append(ids, w.Item)
		}
	}
	return ids
}

func sayReplaced(e *env, asJSON bool, id, why string, all []drive.Swapped) {
	done := false
	for _, w := range all {
		done = done || w.Outcome == drive.Replaced
		if !asJSON {
			fprintln(e.out, w.Item.String()+" "+outcomeWords(w))
		}
	}
	if !done || asJSON {
		return
	}
	said := "What stood there stays in the session's file."
	if why == "redact" {
		said = "The model is not shown that text there any more. What stood there stays in the session's file, and earlier points of it show it: `agent session redact " + id + " " + strconv.FormatUint(uint64(all[0].Item.Seq), 10) + " --purge` takes it out."
	}
	fprintln(e.err, asStarted(said))
}

func outcomeWords(w drive.Swapped) string {
	switch {
	case w.Outcome == drive.NotFound:
		return "not found: no message has this number"
	case w.Why == "kind":
		return "not replaceable: it is no message of yours and no result of a tool"
	case w.Outcome == drive.NotReplaceable:
		return "not replaceable: the model is not shown it on this branch"
	}
	return w.Outcome
}

// notReplaced is an error where a swap could not be made.
func notReplaced(all []drive.Swapped) error {
	n := 0
	for _, w := range all {
		if w.Outcome == drive.NotFound || w.Outcome == drive.NotReplaceable {
			n++
		}
	}
	if n > 0 {
		return exit(exitUsage, "%s of %d could not be replaced", words.Count(n, "message"), len(all))
	}
	return nil
}

const whichRedacted = "which messages? Give their numbers; `agent session show ID` has them"

// redactCommand takes contents out of the view, or out of the file (RPR-2).
func redactCommand(e *env, f *flags, asJSON *bool) *cobra.Command {
	var branch string
	p := purge{e: e, f: f, asJSON: asJSON}
	c := &cobra.Command{
		Use: "redact ID ITEM…", Short: "Take a message of yours or a tool's result out of what the model is shown",
		Long: "Redact puts \"" + drive.WordsRedacted + "\" in the place of a message of yours or a tool's result, from the next\n" +
			"request on. What was recorded stays in the file.\n\n" +
			"With --purge it goes out of the file, too: every place that holds it is listed, and when you agree the\n" +
			"session is written anew without it and the old file is deleted. This can't be taken back.\n\n" +
			"What the agent said or wrote itself stays where only a part of the text is in it. Such places are listed\n" +
			"(STAYS: …), and the exit code is 1. " + wordsLookedFor + ".",
		Example: "  agent session redact 01a2 14\n  agent session redact 01a2 14 --purge --dry-run",
		RunE: func(c *cobra.Command, args []string) error {
			if err := takes(2, whichSession, whichRedacted)(c, args[:min(len(args), 2)]); err != nil {
				return err
			}
			items, err := itemIDs(args[1:])
			switch {
			case err != nil:
				return err
			case p.on && branch != "":
				return exit(exitUsage, "--purge takes a text out of all branches: it goes without --branch")
			case p.on:
				return p.run(c.Context(), args[0], items)
			case p.yes || p.dry:
				return exit(exitUsage, "--yes and --dry-run are for --purge: without it nothing is deleted")
			}
			o := drive.Replace{Branch: branch, Why: "redact"}
			for _, id := range items {
				o.Swaps = append(o.Swaps, drive.Swap{Item: id, Text: []byte(drive.WordsRedacted)})
			}
			return replaced(c, e, f, *asJSON, args[0], o)
		},
	}
	c.Flags().StringVar(&branch, "branch", "", "the branch (default: the last used)")
	c.Flags().BoolVar(&p.on, "purge", false, "delete it from the session's file, everywhere")
	c.Flags().BoolVar(&p.yes, "yes", false, "with --purge: don't ask")
	c.Flags().BoolVar(&p.dry, "dry-run", false, "with --purge: list what holds it, and do nothing")
	return c
}

func itemIDs(args []string) ([]session.ItemID, error) {
	var out []session.ItemID
	seen := map[session.ItemID]bool{}
	for _, a := range args {
		id, err := session.ParseItemID(a)
		if err != nil {
			return nil, exit(exitUsage, "%q is no message's number; `agent session show ID` has them", a)
		}
		if !seen[id] {
			out = append(out, id)
		}
		seen[id] = true
	}
	return out, nil
}
