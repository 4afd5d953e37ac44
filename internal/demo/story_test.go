package demo

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"varve/internal/providers/scripted"
)

// A talk is a conversation with a story, as a client would record it.
type talk struct {
	t        *testing.T
	story    Story
	messages []string
	open     []gjson.Result // calls without a result
	ids      map[string]bool
}

func newTalk(t *testing.T, s Story) *talk {
	return &talk{t: t, story: s, messages: []string{`{"role":"system","content":"You are a test."}`}, ids: map[string]bool{}}
}

func (k *talk) add(kv ...any) { k.messages = append(k.messages, args(kv...)) }

func (k *talk) user(text string) { k.add("role", "user", "content", text) }

// hear asks for the next reply and records it. What comes back is its text and
// the names of its calls.
func (k *talk) hear() string {
	k.t.Helper()
	at, round, m := k.story.next(gjson.Parse("[" + strings.Join(k.messages, ",") + "]").Array())
	said := m.Say
	var list []map[string]any
	for i, c := range m.Calls {
		id := callID(at, round, i)
		if k.ids[id] {
			k.t.Errorf("the call id %s is used twice", id)
		}
		k.ids[id] = true
		list = append(list, map[string]any{"id": id, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Args}})
		said += " @" + c.Name
	}
	if len(list) == 0 {
		k.add("role", "assistant", "content", m.Say)
	} else {
		k.add("role", "assistant", "content", m.Say, "tool_calls", list)
	}
	k.open = gjson.Get(k.messages[len(k.messages)-1], "tool_calls").Array()
	return strings.TrimSpace(said)
}

// answer gives each open call its result: text, or "done" where there is none.
func (k *talk) answer(texts ...string) {
	for i, c := range k.open {
		text := "done"
		if i < len(texts) && texts[i] != "" {
			text = texts[i]
		}
		k.add("role", "tool", "tool_call_id", c.Get("id").String(), "content", text)
	}
	k.open = nil
}

func (k *talk) hears(want string) {
	k.t.Helper()
	if got := k.hear(); got != want {
		k.t.Fatalf("the story says %q, want %q", got, want)
	}
}

func small() Story {
	return Repair{
		Test: "make test", Red: "red", Green: "green",
		Start:   Move{Say: "start"},
		Look:    Move{Say: "look", Calls: []Call{{"read", `{"file_path":"a"}`}}},
		Fixes:   []Fix{{Say: "one", File: "a", Old: "x", New: "y"}, {Say: "two", File: "a", Old: "u", New: "v"}},
		Summary: "all green", After: "no more",
		Handoff: "## Objective\nAll of it, by a script.\n## Work State\nnone\n## Next Action\nwait",
	}.Story()
}

// PRV-11: which move comes next is read from the conversation alone.
func TestStoryReadsWhereItStands(t *testing.T) {
	const lost = "The program ended while this was running. It may have had part of its effect; it was not run again."
	const again = "That did not run to its end. Once more."
	begin := func(t *testing.T) *talk {
		k := newTalk(t, small())
		k.user("please")
		k.hears("start @todo @bash")
		return k
	}
	rest := func(k *talk) {
		k.hears("look @read")
		k.answer()
		k.hears("one @todo @edit @bash")
		k.answer("", "", "red")
		k.hears("two @edit @bash")
		k.answer("", "green")
		k.hears("@todo")
		k.answer()
		k.hears("all green")
	}
	t.Run("whole", func(t *testing.T) {
		k := begin(t)
		k.answer("", "red")
		rest(k)
		k.user("and now?")
		k.hears("no more")
		k.user("really?")
		k.hears("no more")
	})
	t.Run("summarized", func(t *testing.T) { // CMP-9
		k := begin(t)
		k.answer("", "red")
		rest(k)
		k.user("Write a handoff of the conversation so far, for whoever goes on with this work.")
		k.hears(small().Handoff)
		k = newTalk(t, small())
		k.user("[checkpoint]\n## Objective\nAll of it, by a script.\n## Constraints\n")
		k.user("and now?")
		k.hears("no more")
	})
	t.Run("lost twice", func(t *testing.T) {
		k := begin(t)
		k.answer("", lost)
		k.hears(again + " @bash")
		k.answer(lost)
		k.hears(again + " @bash")
		k.answer("red")
		rest(k)
	})
	t.Run("interrupted, with words between", func(t *testing.T) {
		k := begin(t)
		k.answer("Not run: the user interrupted the turn.", "line\n[interrupted by the user; the command and its children were ended (killed by terminated) after 3 s]")
		k.user("go on")
		k.hears(again + " @todo @bash")
		k.answer("", "red")
		k.user("steering in mid-turn changes nothing")
		rest(k)
	})
	t.Run("a piece of an answer was kept", func(t *testing.T) {
		k := begin(t)
		k.answer("", "red")
		k.add("role", "assistant", "content", "loo")
		k.user("go on")
		rest(k)
	})
	t.Run("another model's calls stand before", func(t *testing.T) {
		k := newTalk(t, small())
		k.user("hello")
		k.messages = append(k.messages, `{"role":"assistant","content":null,"tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"ls","arguments":"{}"}}]}`,
			`{"role":"tool","tool_call_id":"toolu_1","content":"a"}`, `{"role":"assistant","content":"hi"}`)
		k.user("please")
		k.hears("start @todo @bash")
		k.answer("", "red")
		rest(k)
	})
	for name, result := range map[string]string{
		"declined": "The user declined this call. They said: no", "headless": "Refused: this call needs the user's approval, and no user is there. x",
	} {
		t.Run(name, func(t *testing.T) {
			k := begin(t)
			k.answer("", result)
			k.hears(stopped)
			k.user("and now?")
			k.hears("no more")
		})
	}
	t.Run("nothing fails", func(t *testing.T) { // a script claims only what it saw
		k := begin(t)
		k.answer("", "sh: make: not found")
		k.hears(small().Doubt)
	})
	t.Run("still red at the end", func(t *testing.T) {
		k := begin(t)
		k.answer("", "red")
		k.hears("look @read")
		k.answer()
		k.hears("one @todo @edit @bash")
		k.answer("", "", "red")
		k.hears("two @edit @bash")
		k.answer("", "red")
		k.hears(small().Doubt)
	})
	t.Run("results as parts", func(t *testing.T) {
		k := begin(t)
		for i, c := range k.open {
			k.add("role", "tool", "tool_call_id", c.Get("id").String(), "content", []any{map[string]any{"type": "text", "text": []string{"done", "red"}[i]}})
		}
		k.open = nil
		rest(k)
	})
}

// The demo's own story and its project belong together: each edit finds its
// place once, each is needed, and after both the tests pass.
func TestTallyMendsTheSample(t *testing.T) { // CLI-1, PRV-11
	dir := t.TempDir()
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	failing := func() string {
		cmd := exec.Command("go", "test", "-count=1", "./...")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOPROXY=off")
		out, err := cmd.CombinedOutput()
		if s := strings.Join(regexp.MustCompile(`--- FAIL: \w+`).FindAllString(string(out), -1), ", "); s != "" {
			return s
		}
		if err != nil {
			t.Fatalf("go test: %v\n%s", err, out)
		}
		return "none"
	}
	got := []string{failing()}
	for _, m := range Tally().Moves {
		for _, c := range m.Calls {
			a := gjson.Parse(c.Args)
			name := filepath.Join(dir, a.Get("file_path").String())
			switch c.Name {
			case "read":
				if _, err := os.Stat(name); err != nil {
					t.Error(err)
				}
			case "edit":
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				old := a.Get("old_string").String()
				if n := strings.Count(string(b), old); n != 1 {
					t.Fatalf("%q stands %d times in %s", old, n, name)
				}
				if err := os.WriteFile(name, []byte(strings.Replace(string(b), old, a.Get("new_string").String(), 1)), 0o644); err != nil {
					t.Fatal(err)
				}
				got = append(got, failing())
			}
		}
	}
	want := []string{"--- FAIL: TestWordsKeepDigits, --- FAIL: TestTopIsStable", "--- FAIL: TestTopIsStable", "none"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("what fails at first and after each edit:\n%q, want\n%q", got, want)
	}
}

// Only the last move ends the turn, and calls are JSON objects.
func TestStoriesAreWellFormed(t *testing.T) {
	for i, s := range []Story{Tally(), small()} {
		for n, m := range s.Moves {
			if last := n == len(s.Moves)-1; last != (len(m.Calls) == 0) {
				t.Errorf("story %d: move %d of %d has %d calls", i, n, len(s.Moves), len(m.Calls))
			}
			for _, c := range m.Calls {
				if !gjson.Valid(c.Args) || !gjson.Parse(c.Args).IsObject() {
					t.Errorf("story %d: move %d: %s", i, n, c.Args)
				}
			}
		}
		if s.After == "" || s.Doubt == "" {
			t.Errorf("story %d has nothing to say after or instead", i)
		}
	}
}

// A story is a handler of the scripted server: what it says arrives as a
// stream that the strict vendor's own encoder made.
func TestStoryIsServed(t *testing.T) {
	s := scripted.New(scripted.Options{})
	defer s.Close()
	story := small()
	story.Pace = 0
	s.Handle(story.Handle)
	got := ask(t, t.Context(), s, `{"role":"user","content":"please"}`)
	for _, want := range []string{`"content":"start"`, `"name":"todo"`, `"name":"bash"`, `"finish_reason":"tool_calls"`, "[DONE]"} {
		if !strings.Contains(got, want) {
			t.Errorf("the stream lacks %s:\n%s", want, got)
		}
	}
}

// Nothing that is there is touched; a sample that is half mended is made anew
// only where that is asked for. // CLI-1
func TestWriteTouchesNothing(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return ""
		}
		return string(b)
	}
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	was := file("tally.go")
	put("tally.go", "mended")
	if err := Write(dir); err != nil || was == "" || file("tally.go") != "mended" {
		t.Errorf("%v; tally.go was %q, is %q", err, was, file("tally.go"))
	}
	if err := Renew(dir); err != nil || file("tally.go") != was {
		t.Errorf("%v; tally.go is %q", err, file("tally.go"))
	}
	put("AGENTS.md", "mine")
	put("tally.go", "mine")
	for _, write := range []func(string) error{Write, Renew} {
		if err := write(dir); !errors.Is(err, ErrFolder) || file("tally.go") != "mine" || file("AGENTS.md") != "mine" {
			t.Errorf("%v; tally.go is %q", err, file("tally.go"))
		}
	}
}
