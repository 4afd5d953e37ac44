package harness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"varve/internal/content"
	"varve/internal/harness/drive"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// texts are contents of all sizes that an export cuts differently.
var texts = map[string]string{
	"empty": "", "short": "short", "text": strings.Repeat("ä", session.InlineLimit), "large": strings.Repeat("0123456789abcdef", pieceSize/16*2+1),
	"bytes": strings.Repeat("\xff\x00\x80", 40_000), "even": strings.Repeat("x", pieceSize),
}

// family is a session of several branches: a fork before a message and one
// through it, a revert that was rolled back and one that was not, a queue, a
// plan, files, pictures, and a branch whose parent is deleted.
func exportable(t *testing.T) *shelf {
	t.Helper()
	h := newShelf(t, t.TempDir())
	one := h.says("one")
	h.write("a.txt", texts["large"])
	h.write("a.txt", texts["bytes"])
	h.plans("task-1", one.Item())
	h.record(session.Fact{
		Event: session.UserSaid{Via: "prompt", Text: &session.Text{B: 0}, Media: []session.Media{{Handle: "media:1", B: 1}}},
		Body:  []session.Part{{Bytes: []byte("look")}, h.picture("a picture")},
	})
	two := h.Head()
	h.record(session.Fact{Event: session.RequestSent{Turn: two, Attempt: 1}})
	h.record(session.Fact{
		Event: session.ReplyCompleted{Request: h.Head(), Finish: "tool", Parts: []session.ReplyPart{{Kind: "tool_call", Call: &session.CallName{ID: "c", Name: "bash"}}}},
		Body:  []session.Part{{Bytes: []byte(`{"command":"x"}`)}},
	})
	call := h.Head()
	mine := h.fork(session.Reference{Branch: "main", Seq: call, Select: "through"}) // its result comes later
	h.record(session.Fact{Event: session.ToolFinished{Call: call.Item(), Text: session.Text{B: 0}}, Body: []session.Part{{Bytes: []byte(texts["text"])}}})
	h.record(session.Fact{Event: session.TurnEnded{Turn: two, Status: "completed"}})
	h.plans("task-2", call.Item())
	late := h.fork(session.Reference{Branch: "main", Seq: call, Select: "through"})
	three := h.says("three")
	before := h.fork(session.Reference{Branch: "main", Seq: three, Select: "before"})
	h.operates(drive.Revert{Branch: "main", Message: three})
	h.says("other")
	h.operates(drive.RollBack{Branch: "main", Label: "v1"})
	h.record(session.Fact{Event: session.InputQueued{Kind: "queue"}, Body: []session.Part{{Bytes: []byte("waits")}}})
	h.operates(drive.Revert{Branch: "main", Message: one})
	h.says("anew")
	for _, b := range []string{mine, late, before} {
		h.branch = b
		h.says("on " + b)
	}
	h.fork(session.Reference{Branch: late, Seq: one, Select: "before"})
	h.operates(drive.Delete{Branch: late})
	h.record(session.Fact{Branch: "main", Event: session.SessionRenamed{By: "user"}, Body: []session.Part{{Bytes: []byte("A name")}}})
	return h
}

func (h *shelf) plans(id string, after session.ItemID) {
	h.record(session.Fact{
		Event: session.PlanChanged{Items: []session.PlanItem{{ID: id, Status: "pending", ActiveForm: 1}}, AfterItem: &after, NextID: 3, By: "model"},
		Body:  []session.Part{{Bytes: []byte("do " + id)}, {Bytes: []byte("doing " + id)}},
	})
}

func (h *shelf) picture(bytes string) session.Part {
	return session.Part{Ref: &session.Ref{SHA256: must(h.blobs.Put([]byte(bytes))), MediaType: "image/png", Size: int64(len(bytes))}}
}

func (h *shelf) operates(op drive.Operation) Outcome {
	h.t.Helper()
	out, err := h.Operate(context.Background(), h.place.StateDir, op)
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

func (h *shelf) fork(from session.Reference) string {
	h.t.Helper()
	return h.operates(drive.Fork{From: from}).Branch
}

func exported(t *testing.T, s *Session, branch string) (Export, []byte) {
	t.Helper()
	var b bytes.Buffer
	out, err := s.Export(&b, branch, "test")
	if err != nil {
		t.Fatalf("%s: %v", branch, err)
	}
	return out, b.Bytes()
}

// intoNew imports an export where nothing else is.
func intoNew(t *testing.T, file []byte) (Imported, *Session, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.jsonl")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	im := Importer{DataDir: filepath.Join(dir, "data"), Workspace: "/elsewhere", Program: "test", Clock: System{}}
	out, err := im.Import(path)
	if err != nil {
		if _, serr := os.Stat(im.DataDir); serr == nil {
			t.Error("something remains of what was refused")
		}
		return out, nil, err
	}
	for path, want := range map[string]os.FileMode{out.Path: 0o600, filepath.Dir(out.Path): 0o700, im.DataDir: 0o700} {
		if st := must(os.Stat(path)); st.Mode().Perm() != want {
			t.Errorf("%s: %v", path, st.Mode())
		}
	}
	s, err := Open(out.Path, content.Open(im.DataDir), jsonl.Never, System{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return out, s, nil
}

// Every branch, imported elsewhere, is the branch that was exported: view, plan
// with its words, queue, reverts, and each content. What it did not take over is
// not there.
func TestExportIsImportedAsItWas(t *testing.T) { // BRN-9, LOG-12, SES-11
	defer syscall.Umask(syscall.Umask(0))
	h := exportable(t)
	defer h.Close()
	for _, l := range h.Limbs() {
		if l.Deleted {
			if _, err := h.Export(&bytes.Buffer{}, l.Name, "test"); !errors.Is(err, session.ErrDeleted) {
				t.Errorf("%s: %v", l.Name, err)
			}
			continue
		}
		out, file := exported(t, h.Session, l.Name)
		if !out.Whole() {
			t.Errorf("%s: %+v", l.Name, out)
		}
		in, s, err := intoNew(t, file)
		if err != nil {
			t.Errorf("%s: %v", l.Name, err)
			continue
		}
		if in.Branch != l.Name || in.Events != out.Events || in.Blobs != out.Blobs || s.LastBranch() != l.Name {
			t.Errorf("%s: exported %+v, imported %+v", l.Name, out, in)
		}
		was, is := h.State(l.Name), s.State(l.Name)
		if !reflect.DeepEqual(shape(is.Branch), shape(was.Branch)) {
			t.Errorf("%s is\n%+v\nwas\n%+v", l.Name, shape(is.Branch), shape(was.Branch))
		}
		if got, want := must(s.Todo(is)).Items, must(h.Todo(was)).Items; !reflect.DeepEqual(got, want) {
			t.Errorf("%s plans %+v, planned %+v", l.Name, got, want)
		}
		for _, e := range must(s.Entries(1, 10_000)) {
			if o := must(h.Entry(e.Seq)); o.Type != e.Type || o.At != e.At || !reflect.DeepEqual(bodies(s, e), bodies(h.Session, o)) {
				t.Errorf("event %d became %s of %v", e.Seq, e.Type, e.At)
			}
		}
		if d := s.Damage(); len(d) > 0 {
			t.Error(d)
		}
		for _, v := range l.Labels {
			state := t.TempDir()
			if _, err := s.Operate(t.Context(), state, drive.RollBack{Branch: l.Name, Label: v.Name}); err != nil {
				t.Errorf("%s, %s: %v", l.Name, v.Name, err)
			}
		}
		if l.Name != "main" && bytes.Contains(file, []byte("three")) {
			t.Errorf("%s holds what its parent did", l.Name)
		}
		if !bytes.Contains(file, []byte("A name")) {
			t.Errorf("%s has lost the title", l.Name)
		}
	}
}

func bodies(s *Session, e session.Entry) []string {
	var out []string
	for _, p := range must(e.Parts()) {
		out = append(out, string(must(s.Bytes(p))))
	}
	return out
}

// An export is a session file that can be read as it is, content and all.
func TestExportOpensAsItIs(t *testing.T) { // BRN-9, LOG-4
	h := exportable(t)
	defer h.Close()
	_, file := exported(t, h.Session, "main")
	path := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s := opened(t, path)
	if !reflect.DeepEqual(shape(s.State("main").Branch), shape(h.State("main").Branch)) {
		t.Error("it is another branch")
	}
	for _, e := range must(s.Entries(1, 10_000)) {
		if e.Seq <= h.Head() && !reflect.DeepEqual(bodies(s, e), bodies(h.Session, must(h.Entry(e.Seq)))) {
			t.Errorf("event %d has other texts", e.Seq)
		}
	}
	if rep := must(jsonl.Verify(path, checkLine)); len(rep.Damage) > 0 {
		t.Error(rep.Damage)
	}
	// What is exported from there is the same again.
	if _, again := exported(t, s, "main"); !bytes.Equal(without1(again), without1(file)) {
		t.Error("an export of an export is another one")
	}
}

// without1 is a file's lines without the first, their chain and the last.
func without1(file []byte) []byte {
	var out []byte
	lines := bytes.SplitAfter(file, []byte("\n"))
	for _, l := range lines[1 : len(lines)-2] {
		if bytes.Contains(l, []byte(`"content.carried"`)) {
			_, l, _ = bytes.Cut(l, []byte(`"type":`)) // its time is that of the export
			out = append(out, l...)
			continue
		}
		rest, err := jsonl.Rest(bytes.TrimSuffix(l, []byte("\n")))
		if err != nil {
			panic(err)
		}
		out = append(out, rest...)
	}
	return out
}

// A file that differs from what was exported in a bit, a line or its end is
// refused, with the line's number, and nothing of it remains.
func TestImportRefusesWhatWasChanged(t *testing.T) { // BRN-9, LOG-4
	h := newShelf(t, t.TempDir())
	defer h.Close()
	h.says("one")
	h.write("a.txt", texts["short"])
	h.record(session.Fact{Event: session.UserSaid{Via: "prompt", Text: &session.Text{B: 0}, Media: []session.Media{{B: 1}}}, Body: []session.Part{{Bytes: []byte("look")}, h.picture("a picture")}})
	_, file := exported(t, h.Session, "main")
	if _, _, err := intoNew(t, file); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, changed []byte) {
		t.Helper()
		_, _, err := intoNew(t, changed)
		if !errors.Is(err, ErrBadExport) && !errors.Is(err, ErrNoExport) && !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", what, err)
		} else if errors.Is(err, ErrBadExport) && !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%s: %v names no line", what, err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		b := bytes.Clone(file)
		i, bit := r.IntN(len(b)), byte(1)<<r.IntN(8)
		b[i] ^= bit
		refused(fmt.Sprintf("byte %d, bit %#x", i, bit), b)
	}
	end := bytes.LastIndexByte(file[:len(file)-1], '\n') + 1
	for i := end; i < len(file); i++ { // nothing stands behind the last line that would tell
		b := bytes.Clone(file)
		b[i] ^= 1
		refused(fmt.Sprintf("byte %d of the end", i-end), b)
	}
	lines := bytes.SplitAfter(file, []byte("\n"))
	lines = lines[:len(lines)-1]
	for i := range lines {
		refused(fmt.Sprint("without line ", i+1), bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil))
		refused(fmt.Sprint("ends before line ", i+1), bytes.Join(lines[:i], nil))
		refused(fmt.Sprint("twice line ", i+1), bytes.Join(slices.Insert(slices.Clone(lines), i, lines[i]), nil))
	}
	refused("more behind it", append(bytes.Clone(file), "{"...))
	refused("a session of its own", must(os.ReadFile(h.path)))
	// Who knows how the chain is made can write another export; what it says has
	// to hold together all the same.
	for what, change := range map[string]func([]string) []string{
		"a content that differs": func(l []string) []string { return replaced(l, "a picture", "a picturf") },
		"a content too few":      func(l []string) []string { return slices.Delete(l, len(l)-2, len(l)-1) },
		"a content that nobody has": func(l []string) []string {
			return replaced(l, `"type":"content.carried","data":{"sha256":"`, `"type":"content.carried","data":{"sha256":"0`)
		},
		"a reference to another": func(l []string) []string { return replaced(l, `"size":9`, `"size":8`) },
		"a fork of what isn't there": func(l []string) []string {
			return replaced(l, `"type":"turn.ended","data":{`, `"type":"branch.rolled_back","must":true,"data":{"label":"v9",`)
		},
		"a repair":             func(l []string) []string { return replaced(l, `"type":"files.changed"`, `"type":"log.repaired"`) },
		"another branch's end": func(l []string) []string { return replaced(l, `"data":{"branch":"main"`, `"data":{"branch":"b7"`) },
	} {
		refused(what, forgedFile(t, file, change))
	}
	if _, _, err := intoNew(t, forgedFile(t, file, func(l []string) []string { return l })); err != nil {
		t.Errorf("forgedFile as it was: %v", err)
	}
}

func replaced(lines []string, old, new string) []string {
	for i, l := range lines {
		if strings.Contains(l, old) && !strings.Contains(l, "session.exported") || strings.Contains(l, "session.exported") && strings.HasPrefix(old, `"data"`) {
			lines[i] = strings.Replace(l, old, new, 1)
			return lines
		}
	}
	panic("no line has " + old)
}

// forgedFile is an export with other lines, whose chain and end are right.
func forgedFile(t *testing.T, file []byte, change func([]string) []string) []byte {
	t.Helper()
	var seqs []uint64
	var rests []string
	for _, l := range linesOfBytes(file) {
		e := must(session.Decode(l))
		seqs, rests = append(seqs, uint64(e.Seq)), append(rests, string(must(jsonl.Rest(l))))
	}
	rests = change(rests)
	var b bytes.Buffer
	w := jsonl.NewWriter(&b)
	for i, rest := range rests {
		if i == len(rests)-1 {
			head, _, _ := strings.Cut(rest, `"sha256":"`)
			rest = head + `"sha256":"` + sumHex(b.Bytes()) + `"}}`
		}
		if err := w.Add(seqs[i], []byte(rest)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func linesOfBytes(b []byte) [][]byte {
	return bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
}

func sumHex(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// Of a damaged session the rest is exported. What is missing is said, in the
// file too, and who imports it is told.
func TestExportOfWhatIsDamaged(t *testing.T) { // BRN-9, CAS-3, LOG-7
	h := exportable(t)
	path := h.path
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	lines := linesOf(t, path)
	lines[3] = append(bytes.Clone(lines[3][:40]), '\n')
	if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("a picture"))
	if err := os.Remove(must(h.blobs.Path(hex.EncodeToString(sum[:])))); err != nil {
		t.Fatal(err)
	}
	s := must(Open(path, h.blobs, jsonl.Never, System{}))
	defer s.Close()
	out, file := exported(t, s, "main")
	if len(out.Damage) != 1 || out.Damage[0].Line != 4 || len(out.Lost) != 1 || !errors.Is(out.Lost[0].Err, content.ErrMissing) {
		t.Errorf("%+v", out)
	}
	in, is, err := intoNew(t, file)
	if err != nil {
		t.Fatal(err)
	}
	if in.Missing != 1 || is.State("main").Session.Toasts != 1 {
		t.Errorf("%+v, %d toasts", in, is.State("main").Session.Toasts)
	}
	if _, err := is.Load(out.Lost[0].At, 1); !errors.Is(err, content.ErrMissing) {
		t.Errorf("what is missing: %v", err)
	}
}

// What was imported once is not imported twice unasked.
func TestImportTwice(t *testing.T) { // BRN-9
	h := newShelf(t, t.TempDir())
	defer h.Close()
	h.says("one")
	_, file := exported(t, h.Session, "main")
	path := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	im := Importer{DataDir: t.TempDir(), Workspace: "/w[1]", Program: "test", Clock: System{}}
	first := must(im.Import(path))
	if second := must(im.Import(path)); !second.Before || second.ID != first.ID {
		t.Errorf("%+v, then %+v", first, second)
	}
	im.Again = true
	if third := must(im.Import(path)); third.Before || third.ID == first.ID {
		t.Errorf("%+v, then %+v", first, third)
	}
}

// A session that somebody else wrote does not bring their settings: a mode that
// claims to be ours by its fingerprint is replaced when a run begins.
func TestImportedSettingsAreNotOurs(t *testing.T) { // BRN-9, PERM-2
	synctest.Test(t, func(t *testing.T) {
		w := alone(t, text("Done."))
		ours := w.opts.Settings
		ours.PermissionMode = "ask"
		w.opts.Settings = ours
		forged := ours
		forged.Fingerprint, forged.PermissionMode = fingerprint(ours), "full"
		s := New(PathFor(w.opts.DataDir, w.opts.Workspace, "s"), w.opts.blobs(), jsonl.Never, w.opts.Clock)
		if err := s.Record(t.Context(), "main", 0, []session.Fact{
			{Event: session.SessionCreated{Format: session.Format, ID: "s", Workspace: w.opts.Workspace}}, {Event: forged},
		}); err != nil {
			t.Fatal(err)
		}
		s.Close()
		l := must(Resume(t.Context(), w.opts, s.Path()))
		defer l.Close()
		say(t, l, "go on")
		ended(t, l, 1)
		if mode := l.State().Session.Mode; mode != "ask" {
			t.Errorf("the mode is %s", mode)
		}
	})
}
