package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"varve/internal/harness"
	"varve/internal/index"
	"varve/internal/session"
	"varve/internal/words"
)

// A purge takes texts out of a session's file, and out of what is kept beside it
// (RPR-2).
type purge struct {
	e            *env
	f            *flags
	asJSON       *bool
	on, yes, dry bool
}

// beside is a file of the state folder that holds a text too.
type beside struct {
	what, path string
	now        []byte // without it; nil: the file goes
}

func (p *purge) run(ctx context.Context, id string, items []session.ItemID) error {
	m, err := warned(p.e, p.f)
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
	plan, err := s.PlanPurge(ctx, m.folders.Data, items)
	if err != nil {
		return purgeErr(err)
	}
	if err := notReplaced(plan.Items); err != nil {
		for _, w := range plan.Items {
			fprintln(p.e.err, w.Item.String()+" "+outcomeWords(w))
		}
		return exit(exitUsage, "nothing was purged: %w", err)
	}
	also, err := besides(m.folders.State, plan.Eraser)
	if err != nil {
		return err
	}
	p.list(plan, also)
	switch {
	case len(plan.Shared) > 0:
		return exit(exitSession, "nothing was purged: %s refers to the same content: purge or delete it there first", strings.Join(plan.Shared, ", "))
	case p.dry:
		return nil
	}
	if err := p.agreed(); err != nil {
		return err
	}
	for _, b := range also {
		if err := b.write(); err != nil {
			return exit(exitFailed, "nothing was purged from the session: %w", err)
		}
	}
	done, err := s.Purge(ctx, m.folders.Data, m.folders.State, items)
	if ierr := dropIndex(ctx, m.folders.Data, m.folders.State); err == nil {
		err = ierr
	}
	if err != nil {
		return purgeErr(err)
	}
	if !*p.asJSON {
		fprintln(p.e.err, asStarted(fmt.Sprintf("%s of the session changed; the old file is deleted. `agent session verify %s` checks the new one.", words.Count(len(done.Holdings), "event"), id)))
	}
	stays := len(plan.Also)
	for _, h := range plan.Holdings {
		if h.Stays {
			stays++
		}
	}
	return remain(plan.Remnants, stays, id)
}

// remain is an error where words of what was taken out stand elsewhere still: in
// what says them again, and in other places.
func remain(said []harness.Remnant, other int, id string) error {
	if len(said)+other == 0 {
		return nil
	}
	shown, asks := 0, ""
	for _, r := range said {
		if len(r.Shown) > 0 {
			shown++
		}
		if r.Kind == string(session.UserItem) || r.Kind == string(session.ResultItem) {
			asks = ". Those that are messages of yours or results can be redacted too"
		}
	}
	where := fmt.Sprintf("what was named is taken out, but words of it stand in %s still (STAYS, above): a search of the disk finds them", words.Count(len(said)+other, "other place"))
	if shown > 0 {
		where += ", and the model is shown " + strconv.Itoa(shown) + " of them"
	}
	return exit(exitFailed, "%s%s. What the agent said itself is out of the model's sight after `agent session revert %s ITEM` to before it", where, asks, id)
}

// mostRemnants are listed for a person; JSON has all of them.
const mostRemnants = 40

func sayRemnants(e *env, all []harness.Remnant) {
	for i, r := range all {
		if i == mostRemnants {
			fprintln(e.out, "STAYS: "+words.Count(len(all)-i, "other place")+"; --json lists them")
			return
		}
		fprintln(e.out, remnantWords(r))
	}
}

// remnantWords say where words stand still.
func remnantWords(r harness.Remnant) string {
	s := fmt.Sprintf("STAYS: event %d on %s, %s", r.Event, words.OneLine(r.Branch), typeWords(r.Type))
	if !r.Item.IsZero() {
		s = strings.TrimSpace(fmt.Sprintf("STAYS: %s %s %s", r.Item, r.Kind, words.OneLine(r.Name)))
	}
	if r.Content {
		s += " (stored content)"
	}
	s += " holds " + words.Count(r.Words, "word") + " of it"
	if len(r.Shown) > 0 {
		s += "; the model is shown it on " + words.OneLine(strings.Join(r.Shown, ", "))
	}
	return s
}

func typeWords(t string) string { return holdingWords(harness.Holding{Type: t}) }

func purgeErr(err error) error {
	if errors.Is(err, harness.ErrShared) || errors.Is(err, harness.ErrUnread) || errors.Is(err, harness.ErrNothing) || errors.Is(err, harness.ErrNoRoom) {
		return exit(exitSession, "nothing was purged: %w", err)
	}
	return sessionErr(err)
}

// agreed asks, or refuses where nobody can be asked.
func (p *purge) agreed() error {
	if p.yes {
		return nil
	}
	in, ok := p.e.in.(*os.File)
	if !ok || !term.IsTerminal(in.Fd()) {
		return exit(exitUsage, "nothing was purged: no terminal is there to ask on; look at --dry-run, then say --yes")
	}
	fmt.Fprint(p.e.err, "This can't be taken back. Type `purge` to go on: ")
	line, _ := bufio.NewReader(in).ReadString('\n')
	if strings.TrimSpace(line) != "purge" {
		return exit(exitRefused, "nothing was purged")
	}
	return nil
}

// list says what holds it.
func (p *purge) list(plan *harness.Purging, also []beside) {
	files := []string{}
	for _, b := range also {
		files = append(files, b.path)
	}
	if *p.asJSON {
		printJSON(p.e.out, map[string]any{
			"dry_run": p.dry, "items": plan.Items, "events": orEmpty(plan.Holdings), "branches": orEmpty(plan.Shown), "checkpoints": orEmpty(plan.Covered),
			"requests": orEmpty(plan.Requests), "contents": orEmpty(plan.Contents), "shared": orEmpty(plan.Shared), "also": orEmpty(plan.Also), "files": files,
			"stays": orEmpty(plan.Remnants),
		})
		return
	}
	for _, h := range plan.Holdings {
		fprintln(p.e.out, fmt.Sprintf("event %d on %s: %s", h.Event, words.OneLine(h.Branch), holdingWords(h)))
	}
	say := func(n int, format string, args ...any) {
		if n > 0 {
			fprintln(p.e.out, words.OneLine(fmt.Sprintf(format, args...)))
		}
	}
	say(len(plan.Shown), "shown on: %s", strings.Join(plan.Shown, ", "))
	say(len(plan.Covered), "covered by %s, whose words may tell of it: they stay", words.Count(len(plan.Covered), "checkpoint"))
	say(len(plan.Requests), "%s that carried it can't be printed byte for byte any more", words.Count(len(plan.Requests), "request"))
	say(len(plan.Contents), "%s of stored content", words.Count(len(plan.Contents), "blob"))
	for _, b := range also {
		say(1, "%s: %s", b.what, b.path)
	}
	say(1, "the index of sessions, which is made anew")
	for _, path := range plan.Also {
		say(1, "STAYS: %s holds the same text", path)
	}
	sayRemnants(p.e, plan.Remnants)
	say(len(plan.Holdings), "%s; look with `%s session search` for others.", wordsLookedFor, self)
	say(len(plan.Short), "The text is short: other texts that hold it by chance are not looked for.")
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func holdingWords(h harness.Holding) string {
	what := map[string]string{
		"user.said": "a message", "tool.finished": "a tool's result", "tool.interrupted": "a tool's result", "input.queued": "an entry of the queue",
		"input.edited": "an entry of the queue", "item.replaced": "a replacement", "item.masked": "a mask", "branch.reverted": "the preview of a revert",
		"reply.completed": "a reply", "reply.rejected": "a reply", "request.sent": "a piece of a request", "approval.requested": "an approval that shows it",
		"files.changed": "files that were changed", "restore.planned": "files that were restored", "plan.changed": "the plan", "plan.shown": "the plan",
		"session.renamed": "a title", "branch.renamed": "a title", "checkpoint.committed": "a checkpoint", "shell.ran": "a command of yours",
		"job.ended": "a background job", "toast.posted": "a notice", "instruction.published": "an instruction",
	}
	s := cmp.Or(what[h.Type], "it")
	if h.Content {
		s += ", with stored content"
	}
	if h.Stays {
		return "STAYS: " + s + " holds it among its facts (" + h.Type + ")"
	}
	return s + " (" + h.Type + ")"
}

// wordsLookedFor says which words are told of where they stay.
const wordsLookedFor = "Of parts of the text, words of this session that have 8 letters or a digit are told of, and none in the files of the folder"

// besides are the drafts and the history of prompts that hold what goes. A draft
// that a window has is refused: it would come back.
func besides(state string, x *session.Eraser) ([]beside, error) {
	var out []beside
	drafts, err := namedIn(state, "draft-")
	if err != nil {
		return nil, err
	}
	for _, path := range drafts {
		if !strings.HasSuffix(path, ".txt") {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, exit(exitFailed, "%w", err)
		}
		if _, held := x.Text(b); !held {
			continue
		}
		lock := flock.New(path+".lock", flock.SetPermissions(0o600))
		free, err := lock.TryLock()
		if err == nil && !free {
			return nil, exit(exitSession, "nothing was purged: an open window has it in its draft (%s): empty the draft, or close the window", path)
		}
		_ = lock.Close()
		out = append(out, beside{what: "a draft, which is emptied", path: path})
	}
	path := filepath.Join(state, "history.jsonl")
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, exit(exitFailed, "%w", err)
	}
	now, held := []byte{}, false
	for line := range bytes.Lines(b) {
		var l historyLine
		text := line
		if json.Unmarshal(line, &l) == nil {
			text = []byte(l.Line)
		}
		if _, in := x.Text(text); in {
			held = true
		} else {
			now = append(now, line...)
		}
	}
	if held {
		out = append(out, beside{"the history of prompts", path, now})
	}
	return out, nil
}

// namedIn are the files of a folder whose names begin with something.
func namedIn(dir, prefix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, exit(exitFailed, "%w", err)
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && e.Type().IsRegular() {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

func (b beside) write() error {
	if b.now == nil {
		if err := os.Remove(b.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	return renameio.WriteFile(b.path, b.now, 0o600, renameio.WithTempDir(filepath.Dir(b.path)), renameio.WithStaticPermissions(0o600))
}

// dropIndex makes the index of sessions anew: deleting it loses nothing (LOG-11).
func dropIndex(ctx context.Context, data, state string) error {
	path := filepath.Join(state, index.FileName)
	old, err := namedIn(state, "."+index.FileName) // what a killed writer left
	if err != nil {
		return err
	}
	for _, name := range append(old, path) {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return exit(exitFailed, "the index still holds it: %w", err)
		}
	}
	x := index.Open(data, state)
	if err := x.Refresh(ctx); err != nil {
		return err
	}
	return x.Save()
}
