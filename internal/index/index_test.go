package index

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"varve/internal/session"
)

// write makes a session file of events, each with a text of its own.
func write(t *testing.T, dir, id string, events ...any) string {
	t.Helper()
	path := filepath.Join(dir, "sessions", "w", id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	prev, at := strings.Repeat("0", 32), time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	seq := 0
	for i := 0; i < len(events); i += 2 {
		f := session.Fact{Branch: session.MainBranch, Event: events[i].(session.Event)}
		if s := events[i+1].(string); s != "" {
			f.Body = []session.Part{{Bytes: []byte(s)}}
		}
		at = at.Add(time.Minute)
		rest, err := session.EncodeRest(f, at)
		if err != nil {
			t.Fatal(err)
		}
		seq++
		line := fmt.Sprintf(`{"seq":%d,"prev":"%s",%s`, seq, prev, rest)
		sum := sha256.Sum256([]byte(line))
		prev = hex.EncodeToString(sum[:16])
		out.WriteString(line + "\n")
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	created = session.SessionCreated{Format: session.Format, ID: "x", Workspace: "/w", Program: "test"}
	said    = session.UserSaid{Via: "prompt", Text: &session.Text{}, Tokens: session.Estimate(5)}
	done    = session.TurnEnded{Turn: 2, Status: "completed"}
	result  = session.ToolFinished{Call: session.ItemID{Seq: 3, Part: 1}, Text: session.Text{}, Tokens: session.Estimate(5)}
)

func TestListShowsOpenTurns(t *testing.T) {
	dir := t.TempDir()
	long := []any{created, "", said, "a long turn"}
	for range 40 {
		long = append(long, result, strings.Repeat("output ", 5000))
	}
	write(t, dir, "long-open", long...)
	write(t, dir, "long-done", append(long, done, "")...)
	write(t, dir, "open", created, "", said, "hello")
	write(t, dir, "silent", created, "")
	write(t, dir, "named", created, "", said, "hello", session.SessionRenamed{By: "user"}, "A name", done, "")

	infos, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Info{}
	for _, i := range infos {
		if i.Damage != "" {
			t.Errorf("%s: %s", i.ID, i.Damage)
		}
		got[i.ID] = i
	}
	for id, open := range map[string]bool{"long-open": true, "long-done": false, "open": true, "named": false} {
		if i, ok := got[id]; !ok || i.Open != open {
			t.Errorf("%s: open is %v, listed %v", id, i.Open, ok)
		}
	}
	if _, ok := got["silent"]; ok {
		t.Error("a session without a message is listed (LOG-9)")
	}
	if n := got["named"]; n.Title != "A name" || !n.Named || got["open"].Title != "hello" {
		t.Errorf("titles: %q, %q", n.Title, got["open"].Title)
	}
	if infos[0].ID != "long-done" {
		t.Errorf("the newest is not first: %s", infos[0].ID)
	}
}

func TestDamageIsListed(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir, "good", created, "", said, "hello")
	for name, content := range map[string]string{
		"nonsense": "hello\n", "other": `{"some":"json"}` + "\n",
		"newer": strings.Replace(read(t, good), `"format":1`, `"format":9`, 1),
	} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(good), name+".jsonl"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	infos, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		if (i.Damage == "") != (i.ID == "good") {
			t.Errorf("%s: damage %q", i.ID, i.Damage)
		}
	}
	if len(infos) != 4 {
		t.Errorf("%d sessions are listed, 4 are there: damage hides nothing (LOG-6)", len(infos))
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	a := write(t, dir, "abc1", created, "", said, "x")
	write(t, dir, "abd2", created, "", said, "x")
	for _, c := range []struct{ id, path, err string }{
		{"abc1", a, ""},
		{"abc", a, ""},
		{a, a, ""},
		{"ab", "", `2 sessions begin with "ab", give more of the id: abc, abd`},
		{"", "", "begins with"},
		{"zz", "", "begins with"},
		{"../abc1", "", "no file"},
		{filepath.Join(dir, "gone.jsonl"), "", "no file"},
	} {
		got, err := Find(dir, c.id)
		if got != c.path || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("find %q: %q, %v", c.id, got, err)
		}
	}
}

// Listing reads the ends of a file, however large it is.
func TestListIsBounded(t *testing.T) { // case SES-05
	dir := t.TempDir()
	events := []any{created, "", said, "a long turn"}
	for range 1200 {
		events = append(events, result, strings.Repeat("output ", 8000))
	}
	path := write(t, dir, "large", append(events, session.UserSaid{Via: "prompt", Text: &session.Text{}}, "go on", done, "")...)
	if st, err := os.Stat(path); err != nil || st.Size() < 60<<20 {
		t.Fatal(st.Size(), err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	info, ok := Look(path)
	runtime.ReadMemStats(&after)
	if !ok || info.Open || info.Title != "a long turn" {
		t.Errorf("%v %+v", ok, info)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
		t.Errorf("listing allocated %d bytes for a session of %d", n, info.Size)
	}
}
