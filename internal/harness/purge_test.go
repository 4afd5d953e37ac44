package harness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"varve/internal/content"
	"varve/internal/harness/drive"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// secret needs escapes in JSON, in HTML and in both.
const secret = "pass \"swordfish\\77\" <é\u2028>\nsecond line\t&c"

// picture is shown with the message.
const picture = "\x89PNG of a person"

// holders are the files below dirs that hold any of texts, in any of the forms that JSON gives them.
func holders(t *testing.T, texts []string, dirs ...string) (out []string) {
	t.Helper()
	var forms [][]byte
	for _, s := range texts {
		once := string(session.AppendEscaped(nil, []byte(s)))
		web, _ := json.Marshal(s)
		for _, f := range []string{s, once, string(session.AppendEscaped(nil, []byte(once))), string(web[1 : len(web)-1]), base64.StdEncoding.EncodeToString([]byte(s)), "swordfish"} {
			forms = append(forms, []byte(f))
		}
	}
	for _, dir := range dirs {
		for _, name := range fileNames(t, dir) {
			b, err := os.ReadFile(name)
			if err == nil && slices.ContainsFunc(forms, func(f []byte) bool { return bytes.Contains(b, f) }) {
				out = append(out, name)
			}
		}
	}
	return out
}

// whole fails where a session is not what verify wants, or names content that is not there.
func (c *cellar) whole(path string) {
	c.t.Helper()
	rep, err := jsonl.Verify(path, func(f *jsonl.File, _ jsonl.Line, raw []byte) error {
		if _, err := CheckLine(f, raw); err != nil {
			return err
		}
		return Refs(raw, func(r session.Ref) {
			if b, err := c.blobs.Get(r.SHA256); err != nil || int64(len(b)) != r.Size {
				c.t.Errorf("%s: %v", raw, err)
			}
		})
	})
	if err != nil || len(rep.Damage) > 0 || rep.Events == 0 {
		c.t.Errorf("%s: %+v %v", path, rep, err)
	}
}

func (c *cellar) purge(s *Session, items ...session.Seq) (*Purging, error) {
	var ids []session.ItemID
	for _, q := range items {
		ids = append(ids, q.Item())
	}
	return s.Purge(c.t.Context(), c.dir, c.state, ids)
}

func (c *cellar) reopen(s *Session) *Session {
	c.t.Helper()
	if err := s.Close(); err != nil {
		c.t.Fatal(err)
	}
	now := must(Open(s.Path(), c.blobs, jsonl.Never, System{}))
	c.t.Cleanup(func() { now.Close() })
	return now
}

// steeped is a session that holds a text in every place that can hold one, and the item whose text it is.
func (c *cellar) steeped(text string) (*Session, session.Seq) {
	s := c.session()
	b := func(s string) session.Part { return session.Part{Bytes: []byte(s)} }
	in := func(s string) string { return string(must(json.Marshal(s))) }
	large := func(s string) session.Part {
		_, p := c.blob(strings.Repeat("x", 70_000) + s)
		return p
	}
	zero, one := 0, 1
	c.record(s, session.Fact{Event: session.InputQueued{Kind: "queue", Tokens: session.Estimate(9)}, Body: []session.Part{b("first " + text)}})
	entry := s.Head()
	c.record(s, session.Fact{Event: session.InputEdited{Entry: entry, Tokens: session.Estimate(9)}, Body: []session.Part{b(text)}})
	pic, media := c.blob(picture)
	c.record(s, session.Fact{Event: session.MediaAdmitted{Handle: "media:" + pic[:8], Name: session.Text{B: 1}}, Body: []session.Part{media, b("me.png")}})
	c.record(s, session.Fact{Event: session.UserSaid{Via: "queue", Entry: entry, Media: []session.Media{{Handle: "media:" + pic[:8], B: 0}}, Tokens: session.Estimate(9)}, Body: []session.Part{media}})
	item := s.Head()
	c.record(s, session.Fact{Event: session.RequestSent{Job: "j", Turn: item, Attempt: 1, SHA256: "0", Recipe: []session.Step{{L: &zero}, {Seq: entry + 1, As: "str"}, {L: &one}}}, Body: []session.Part{b("{"), b(`{"said":` + in(text) + "}")}})
	request := s.Head()
	c.record(s, session.Fact{Event: session.ReplyCompleted{Request: request, Finish: "tool", Parts: []session.ReplyPart{
		{Kind: "assistant", B: 0, Tokens: session.Estimate(9)},
		{Kind: "tool_call", B: 1, MediaType: "application/json", Tokens: session.Estimate(9), Call: &session.CallName{ID: "c", Name: "bash"}},
	}}, Body: []session.Part{b("You said: " + text), b(fmt.Sprintf(`{"command":"echo \u%04x`, text[0]) + in(text)[2:] + `}`)}})
	call := session.ItemID{Seq: s.Head(), Part: 2}
	c.record(s, session.Fact{Event: session.ApprovalRequested{Call: call, What: "command", ShownSHA256: "0"}, Body: []session.Part{b("echo " + text)}},
		session.Fact{Event: session.ToolStarted{Call: call, Run: "r"}},
		session.Fact{Event: session.ToolFinished{Call: call, Tokens: session.Estimate(9), Full: &session.Text{B: 1}}, Body: []session.Part{b("\xff" + text), large(text)}},
		session.Fact{Event: session.FilesChanged{By: "tool", Call: call, N: 2}, Body: []session.Part{
			b(`[{"path":"a","op":"modify","before":1,"after":2},{"path":"b","op":"create","after":3}]`), large("old"), large(text), large("other"),
		}},
		session.Fact{Event: session.PlanChanged{Items: []session.PlanItem{{ID: "task-1", Status: "pending", Content: 0, ActiveForm: 1}}, AfterItem: &session.ItemID{}, NextID: 2, By: "model"}, Body: []session.Part{b("do " + text), b("doing")}},
		session.Fact{Event: session.SessionRenamed{By: "model"}, Body: []session.Part{b(strings.Join(strings.Fields(text), " ")[:14] + "…")}},
		session.Fact{Event: session.ToastPosted{Level: "info", Code: "shell.started", Args: map[string]string{"command": "echo " + text}}},
		session.Fact{Event: session.TurnEnded{Turn: item, Status: "completed"}})
	c.record(s, session.Fact{Branch: "b2", Event: session.BranchCreated{Name: "b2", From: session.Reference{Branch: "main", Seq: s.State("main").Branch.Head, Select: "head"}, Purpose: "fork"}})
	c.record(s, session.Fact{Event: session.BranchReverted{To: session.Reference{Branch: "main", Seq: item, Select: "before"}, Left: s.State("main").Branch.Head, Label: "v1"}, Body: []session.Part{b(text[:12])}},
		session.Fact{Event: session.ItemReplaced{Item: item.Item(), Why: "repair", Tokens: session.Estimate(3)}, Body: []session.Part{b("almost " + text)}})
	return s, item
}

// After a purge no file holds the text, in no form and wherever it stood; everything else is as it was: numbers, items,
// pairing, plan, the file's chain. // RPR-2, LOG-3, LOG-4, BRN-8
func TestPurge(t *testing.T) {
	c := newCellar(t)
	s, item := c.steeped(secret)
	shape := func(s *Session) (out []string) {
		for _, l := range s.Limbs() {
			for it := range s.State(l.Name).Branch.View.All {
				out = append(out, fmt.Sprint(l.Name, it.ID, it.Kind, it.Call, it.Turn, it.Failed))
			}
			out = append(out, fmt.Sprint(s.State(l.Name).Branch.Plan.At))
		}
		return out
	}
	before, head := shape(s), s.Head()
	old := must(s.Entries(0, 1000))
	if got := holders(t, []string{secret}, c.dir); len(got) < 2 {
		t.Fatalf("it is not steeped: %v", got)
	}
	plan := must(s.PlanPurge(t.Context(), c.dir, []session.ItemID{item.Item()}))
	var types []string
	for _, h := range plan.Holdings {
		types = append(types, h.Type)
	}
	want := []string{
		"input.queued", "input.edited", "media.admitted", "user.said", "request.sent", "reply.completed", "approval.requested", "tool.finished", "files.changed", "plan.changed",
		"session.renamed", "toast.posted", "branch.reverted", "item.replaced",
	}
	if !slices.Equal(types, want) || !slices.Equal(plan.Shown, []string{"b2"}) || len(plan.Requests) != 1 || len(plan.Contents) != 2 {
		t.Errorf("%v\n%+v", types, plan)
	}
	killed := filepath.Join(c.dir, "blobs", "sha256", "tmp-killed") // a put of it that was killed
	if err := os.WriteFile(killed, []byte("xx"+secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.purge(s, item); err != nil {
		t.Fatal(err)
	}
	if sha := hashOf(picture); must(c.blobs.Has(sha)) {
		t.Error("the picture is still there")
	}
	if got := holders(t, []string{secret}, c.dir, c.state); len(got) > 0 {
		for _, f := range got {
			t.Errorf("%s holds it: %.9000s", f, must(os.ReadFile(f)))
		}
	}
	now := c.reopen(s)
	c.whole(now.Path())
	if got := shape(now); !slices.Equal(got, before) {
		t.Errorf("the views are\n%v\nthey were\n%v", got, before)
	}
	if st, _ := os.Stat(now.Path()); st.Mode().Perm() != 0o600 {
		t.Error(st.Mode())
	}
	entries := must(now.Entries(0, 1000))
	if first := entries[0].Event.(session.SessionCreated).From; first == nil || *first != (session.Origin{Session: sessionName(s.Path()), Seq: head, Why: "purge"}) {
		t.Errorf("made from %+v", first)
	}
	told := entries[1].Event.(session.SessionPurged)
	if len(told.Removed) != len(want)+2 || len(told.Requests) != 1 {
		t.Errorf("%+v", told)
	}
	for _, e := range old[4:] {
		got := must(now.Entry(e.Seq))
		if got.Type != e.Type || got.Branch != e.Branch || !got.At.Equal(e.At) || got.Must != e.Must {
			t.Errorf("event %d is %s on %s, it was %s", e.Seq, got.Type, got.Branch, e.Type)
		}
	}
	if last := entries[len(entries)-1]; last.Branch != "b2" || last.Type != "item.replaced" {
		t.Errorf("the last event is %s on %s", last.Type, last.Branch)
	}
	// Files are never restored to a part of what they were.
	changes := must(must(now.Entry(findType(old, "files.changed"))).Parts())
	var list []session.FileChange
	if err := json.Unmarshal(changes[0].Bytes, &list); err != nil || list[0].After != nil || list[0].MissingWhy == "" || list[0].Before == nil || list[1].After == nil {
		t.Errorf("%s %v", changes[0].Bytes, err)
	}
	if st := now.State("main"); st.Session.Mode != "full" || st.Session.Settings.Fingerprint != "f" {
		t.Errorf("settings are lost: %+v", st.Session)
	}
	for it := range now.State("b2").Branch.View.All {
		if len(it.Media) > 0 {
			t.Errorf("%s has %v", it.ID, it.Media)
		}
	}
	if e := must(now.Entry(item)); len(e.Event.(session.UserSaid).Media) > 0 {
		t.Errorf("the message has %+v", e.Event)
	}
	// And it can be written.
	c.record(now, spoke("more"))
	if _, err := c.purge(now, item); !errors.Is(err, ErrNothing) {
		t.Errorf("again: %v", err)
	}
}

// A result goes with its whole output, and stays the result of its call. // RPR-2, TOOL-2
func TestPurgeOfAResult(t *testing.T) {
	c := newCellar(t)
	s, _ := c.steeped(secret)
	q := findType(must(s.Entries(0, 1000)), "tool.finished")
	was := must(s.Entry(q)).Event.(session.ToolFinished)
	full := must(must(s.Entry(q)).Part(was.Full.B)).Ref.SHA256
	p, err := c.purge(s, q)
	if err != nil {
		t.Fatal(err)
	}
	if must(c.blobs.Has(full)) || !slices.Contains(p.Contents, full) {
		t.Error("the whole output is still there")
	}
	s = c.reopen(s)
	c.whole(s.Path())
	now := must(s.Entry(q)).Event.(session.ToolFinished)
	if now.Full != nil || now.Call != was.Call || string(must(s.Load(q, 0))) != drive.WordsRedacted || now.Tokens != session.Estimate(len(drive.WordsRedacted)) {
		t.Errorf("%+v", now)
	}
	if it, ok := s.Result(was.Call); !ok || it.ID != q.Item() {
		t.Errorf("%+v", it)
	}
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func findType(all []session.Entry, name string) session.Seq {
	for _, e := range all {
		if e.Type == name {
			return e.Seq
		}
	}
	return 0
}

// A window that has it open, and another session that refers to the same content, are reasons to change nothing. // RPR-2
func TestPurgeIsRefused(t *testing.T) {
	c := newCellar(t)
	s, item := c.steeped(secret)
	before := fileNames(t, c.dir)
	bytesBefore := must(os.ReadFile(s.Path()))
	same := func(what string) {
		t.Helper()
		if !slices.Equal(fileNames(t, c.dir), before) || !bytes.Equal(must(os.ReadFile(s.Path())), bytesBefore) {
			t.Errorf("%s: something was changed", what)
		}
	}
	h := must(take(t.Context(), c.state, sessionName(s.Path()), "b2"))
	if _, err := c.purge(s, item); !errors.Is(err, ErrHeld) {
		t.Errorf("while another branch is worked on: %v", err)
	}
	h.release()
	same("held")
	if p, err := c.purge(s, 3); err == nil || len(p.Items) != 1 || p.Items[0].Outcome != drive.NotFound {
		t.Errorf("no message: %v", err)
	}
	same("no message")
	other := c.session()
	sha, ref := c.blob(picture)
	c.record(other, spoke("the same picture", ref))
	before = fileNames(t, c.dir)
	if _, err := c.purge(s, item); !errors.Is(err, ErrShared) || !strings.Contains(err.Error(), other.Path()) {
		t.Errorf("shared: %v", err)
	}
	same("shared")
	damaged := must(os.ReadFile(other.Path()))
	if err := os.WriteFile(other.Path(), append([]byte("{"), damaged...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.purge(s, item); !errors.Is(err, ErrUnread) {
		t.Errorf("beside a session that can't be read: %v", err)
	}
	same("unread")
	if !must(c.blobs.Has(sha)) {
		t.Error("shared content is gone")
	}
	if err := os.Remove(other.Path()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.purge(s, item); err != nil {
		t.Error(err)
	}
}

// What broke off, and what a repair has named, is not carried over: it may hold the text too. // RPR-2, LOG-7
func TestPurgeOfARepairedSession(t *testing.T) {
	c := newCellar(t)
	s, item := c.steeped(secret)
	appendTo(t, s.Path(), "foreign "+secret+"\n")
	s = c.reopen(s)
	if _, err := c.purge(s, item); !errors.Is(err, jsonl.ErrDamaged) {
		t.Errorf("damaged: %v", err)
	}
	s = c.reopen(s)
	if _, err := s.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.record(s, spoke("after it"))
	after := s.Head()
	appendTo(t, s.Path(), `{"seq":99,"prev":"`+secret[:20])
	s = c.reopen(s)
	if _, err := c.purge(s, item); err != nil {
		t.Fatal(err)
	}
	if got := holders(t, []string{secret}, c.dir); len(got) > 0 {
		t.Errorf("%v", got)
	}
	s = c.reopen(s)
	c.whole(s.Path())
	if e, err := s.Entry(after); err != nil || e.Type != "user.said" {
		t.Errorf("event %d: %+v %v", after, e, err)
	}
	if len(s.Damage()) > 0 {
		t.Errorf("%+v", s.Damage())
	}
	c.record(s, spoke("more"))
}

// failingLayer is a disk that dies before its nth step.
type failingLayer struct {
	jsonl.Disk
	left int
}

var errDied = errors.New("died")

func (f *failingLayer) step() error {
	if f.left--; f.left < 0 {
		return errDied
	}
	return nil
}

func (f *failingLayer) Write(w *os.File, p []byte) (int, error) {
	if err := f.step(); err != nil {
		n, _ := f.Disk.Write(w, p[:len(p)/2])
		return n, err
	}
	return f.Disk.Write(w, p)
}

func (f *failingLayer) Sync(w *os.File) error {
	return errors.Join(f.step(), f.Disk.Sync(w))
}

// Whatever step of it fails, one of the two files is there, whole, and the next run ends it. // RPR-2
func TestPurgeFails(t *testing.T) {
	for n := range 4 {
		c := newCellar(t)
		s, item := c.steeped(secret)
		before := must(os.ReadFile(s.Path()))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = must(openOn(&failingLayer{left: n}, s.Path(), c.blobs, jsonl.Never, System{}))
		_, err := c.purge(s, item)
		if err == nil {
			if n < 2 {
				t.Errorf("step %d did not fail", n)
			}
			s.Close()
			continue
		}
		if !errors.Is(err, errDied) || !bytes.Equal(must(os.ReadFile(s.Path())), before) {
			t.Errorf("step %d: %v", n, err)
		}
		c.whole(s.Path())
		s = c.reopen(s)
		if _, err := c.purge(s, item); err != nil {
			t.Fatal(err)
		}
		if got := holders(t, []string{secret}, c.dir); len(got) > 0 {
			t.Errorf("step %d: %v", n, got)
		}
		c.whole(s.Path())
	}
}

// A process that is killed before the new file took the old one's place, or before the old content went, leaves one
// whole file; the next purge, or a collection without regard to age, ends it. // RPR-2, CAS-4
func TestPurgeIsKilled(t *testing.T) {
	if os.Getenv("PURGE_DIR") != "" {
		killedPurge(os.Getenv("PURGE_DIR"), os.Getenv("PURGE_STATE"), os.Getenv("PURGE_FILE"), os.Getenv("PURGE_AT"))
		return
	}
	for _, at := range []string{"rename", "contents"} {
		for _, end := range []string{"purge", "gc"} {
			c := newCellar(t)
			s, item := c.steeped(secret)
			before := must(os.ReadFile(s.Path()))
			cmd := exec.Command(os.Args[0], "-test.run=TestPurgeIsKilled$")
			cmd.Env = append(os.Environ(), "PURGE_DIR="+c.dir, "PURGE_STATE="+c.state, "PURGE_FILE="+s.Path(), "PURGE_AT="+at)
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("%v: %s", err, out)
			}
			c.whole(s.Path())
			isOld := bytes.Equal(must(os.ReadFile(s.Path())), before)
			if isOld != (at == "rename") {
				t.Errorf("%s: the old file is there: %v", at, isOld)
			}
			s = c.reopen(s)
			switch {
			case end == "purge":
				if _, err := c.purge(s, item); err != nil && !errors.Is(err, ErrNothing) {
					t.Error(err)
				}
			case at == "contents":
				if _, err := c.collect(nil); err != nil {
					t.Error(err)
				}
			default:
				continue // the old file is whole, with all of its content
			}
			if got := holders(t, []string{secret}, c.dir, c.state); len(got) > 0 {
				t.Errorf("%s, %s: %v", at, end, got)
			}
			if left := must(filepath.Glob(filepath.Join(filepath.Dir(s.Path()), "*"))); len(left) != 1 {
				t.Errorf("%s, %s: %v", at, end, left)
			}
		}
	}
}

// Texts of all kinds are taken out wherever they are put, and nothing else changes. // RPR-2
func TestPurgeProperty(t *testing.T) {
	runs := 0
	rapid.Check(t, func(r *rapid.T) {
		if runs++; runs > 25 { // each syncs a dozen files; the forms have a property of their own
			return
		}
		text := "swordfish" + rapid.StringOfN(rapid.RuneFrom([]rune("ab\"\\<>&'\n\t\r\x00é\u2028😀{}[]:, ")), 4, 40, -1).Draw(r, "text") + "end"
		c := newCellar(t)
		s, item := c.steeped(text)
		nested := text
		for range rapid.IntRange(0, 3).Draw(r, "deep") {
			nested = string(must(json.Marshal(map[string]string{"k": nested})))
		}
		c.record(s, spoke("see "+nested), spoke("nothing of it"))
		last := s.Head()
		if _, err := c.purge(s, item); err != nil {
			r.Fatal(err)
		}
		if got := holders(t, []string{text}, c.dir); len(got) > 0 {
			r.Errorf("%q is still in %v", text, got)
		}
		s = c.reopen(s)
		c.whole(s.Path())
		if b, err := s.Load(last, 0); err != nil || string(b) != "nothing of it" {
			r.Errorf("%q %v", b, err)
		}
		os.RemoveAll(c.dir)
	})
}

// killedPurge is the process that is killed.
func killedPurge(dir, state, file, at string) {
	s := must(openOn(&killer{at: at, file: file}, file, content.Open(dir), jsonl.Never, System{}))
	for it := range s.State("b2").Branch.View.All {
		if it.Kind == session.UserItem && it.At != it.ID.Seq {
			_, err := s.Purge(context.Background(), dir, state, []session.ItemID{it.ID})
			panic(fmt.Sprint("not killed: ", err))
		}
	}
}

// A killer ends the process: after the new file is on the disk, or after it has its name.
type killer struct {
	jsonl.Disk
	at, file string
}

func (k *killer) Sync(f *os.File) error {
	err := k.Disk.Sync(f)
	if k.at == "rename" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return err
}

func (k *killer) SyncDir(dir string) error {
	if k.at == "contents" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return k.Disk.SyncDir(dir)
}
