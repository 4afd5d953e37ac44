package demo

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"varve/internal/providers/scripted"
)

func init() {
	if os.Getenv("UPDATE") != "" {
		_ = flag.Set("rewrite", "true")
	}
}

var request = scripted.Request{Body: []byte(requestOf(hello))}

// Reply pages and what becomes of them, for the tools of requestOf.
func TestReplyPages(t *testing.T) {
	datadriven.RunTest(t, "testdata/reply.txt", func(t *testing.T, d *datadriven.TestData) string {
		text := d.Input
		for _, a := range d.CmdArgs {
			switch a.Key {
			case "crlf":
				text = "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")
			case "latin1":
				text = strings.ReplaceAll(text, "é", "\xe9")
			}
		}
		w, sent, err := readReply(text, toolsOf(request))
		var b strings.Builder
		if err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
		}
		if !sent {
			b.WriteString("not sent\n")
		}
		if err == nil && sent {
			for _, p := range w.parts {
				switch {
				case p.name != "":
					fmt.Fprintf(&b, "call %s %s\n", p.name, p.text)
				case p.thought:
					fmt.Fprintf(&b, "think %q\n", p.text)
				default:
					fmt.Fprintf(&b, "text %q\n", p.text)
				}
			}
			fmt.Fprintf(&b, "finish %s\n", w.finish)
		}
		return b.String()
	})
}

var words = rapid.StringOf(rapid.SampledFrom([]rune("ab {}[]\"\\:<@\n\t\r1-.eE,é\x00END")))

// What a page shows of a call can be written back: it is the same call.
func TestCallsAreShownAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := map[string]any{}
		name := rapid.SampledFrom([]string{"read", "todo", "edit", "gone"}).Draw(t, "tool")
		for _, key := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"file_path", "offset", "mode", "old_string", "items", "merge"}), rapid.ID).Draw(t, "keys") {
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				a[key] = rapid.IntRange(-5, 1e9).Draw(t, "n")
			case 1:
				a[key] = rapid.Bool().Draw(t, "b")
			case 2:
				a[key] = []any{map[string]any{"content": words.Draw(t, "s")}}
			default:
				a[key] = words.Draw(t, "s")
			}
		}
		raw := compact(a)
		shown := writeCall(name, raw, toolsOf(request))
		if shown == fmt.Sprintf("@call %s %s\n", name, raw) {
			return // shown as JSON, which is what it was
		}
		w, sent, err := readReply(shown+"@send", toolsOf(request))
		if err != nil || !sent || len(w.parts) != 1 || w.parts[0].name != name || !sameJSON(w.parts[0].text, raw) {
			t.Fatalf("%s is shown as\n%s\nand read as %+v (%v)", raw, shown, w, err)
		}
	})
}

// No beginning of a page is taken for the whole, whatever it says.
func TestNoHalfPageIsSent(t *testing.T) {
	line := rapid.OneOf(
		words, rapid.SampledFrom([]string{"text", "@call read", "file_path: a", "@call edit {", "\"old_string\": 1", "}", "new_string: <<END", "END", "@send me", "@think <<X", "X", "@@send", " @send"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		page := strings.Join(rapid.SliceOf(line).Draw(t, "lines"), "\n") + "\n@send"
		_, sent, err := readReply(page, toolsOf(request))
		if !sent || err != nil {
			return
		}
		for i := range len(page) {
			if _, sent, err := readReply(page[:i], toolsOf(request)); sent && err == nil && strings.TrimSpace(page[i:]) != "" {
				t.Fatalf("of %q the first %d bytes are taken for the whole", page, i)
			}
		}
	})
}

// full is a request with everything that a page has to show.
const fullMessages = `{"role":"system","content":"You are Varve.\n\n# Rules\n- none"},
{"role":"user","content":[{"type":"text","text":"look at this"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},
{"role":"assistant","reasoning_content":"A file, then.\nTwo lines.","content":"I'll look.","tool_calls":[
{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"file_path\":\"a.txt\",\"offset\":3}"}},
{"id":"c2","type":"function","function":{"name":"edit","arguments":"{\"file_path\":\"a.txt\",\"old_string\":\"x\",\"new_string\":\"one\\ntwo\"}"}},
{"id":"c3","type":"function","function":{"name":"gone","arguments":"not json"}}]},
{"role":"tool","tool_call_id":"c1","content":"\u001b[31mred\u001b[0m\r\nthree\n"},
{"role":"tool","tool_call_id":"c2","content":""},
{"role":"tool","tool_call_id":"c3","content":"Unknown tool."},
{"role":"assistant","content":"It says three.","annotations":[{"kept":true}]},
{"role":"user","content":"thanks"}`

// The page of a request, as a person reads it.
func TestPageGolden(t *testing.T) {
	r := scripted.Request{Body: []byte(requestOf(fullMessages)), Shared: scripted.Shared{Messages: 6, Of: 7}}
	got := page(r, 12)
	const name = "testdata/page.golden"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("UPDATE=1 rewrites %s; got\n%s", name, got)
	}
}

// A page shows every name and every text of the request.
func TestPageHidesNothing(t *testing.T) {
	r := scripted.Request{Body: []byte(requestOf(fullMessages))}
	text := page(r, 1)
	var walk func(v gjson.Result)
	walk = func(v gjson.Result) {
		v.ForEach(func(k, v gjson.Result) bool {
			if v.IsObject() || v.IsArray() {
				walk(v)
				return true
			}
			if v.String() == "function" || k.String() == "type" && v.String() == "text" {
				return true // how the wire names a tool and a part
			}
			for line := range strings.SplitSeq(v.String(), "\n") {
				if s := visible(line); !strings.Contains(text, s) && !gjson.Valid(line) {
					t.Errorf("the page hides %q of %s", s, k)
				}
			}
			return true
		})
	}
	walk(r.Get("@this"))
	if strings.IndexFunc(text, hidden) >= 0 {
		t.Error("the page has control characters, which a terminal would obey")
	}
}

// The examples in the page's own head and in docs/puppet.md are replies that
// can be sent.
func TestPuppetExamplesAreReplies(t *testing.T) {
	doc, err := os.ReadFile("../../docs/puppet.md")
	if err != nil {
		t.Fatal(err)
	}
	tools := toolsOf(scripted.Request{Body: []byte(strings.Replace(requestOf(hello), `"tools":[`, `"tools":[
{"type":"function","function":{"name":"bash","parameters":{"properties":{"command":{"type":"string"},"description":{"type":"string"}},"required":["command"]}}},
{"type":"function","function":{"name":"grep","parameters":{"properties":{"pattern":{"type":"string"},"include":{"type":"string"},"context":{"type":"integer"}},"required":["pattern"]}}},
{"type":"function","function":{"name":"write","parameters":{"properties":{"file_path":{"type":"string"},"content":{"type":"string"}},"required":["file_path","content"]}}},`, 1))})
	block := regexp.MustCompile("(?ms)^```text\n(.*?)^```$")
	for name, c := range map[string]struct {
		text  string
		least int
	}{"docs/puppet.md": {string(doc), 4}, "the head": {howTo, 2}} {
		n := 0
		for _, m := range block.FindAllStringSubmatch(c.text, -1) {
			if !strings.Contains(m[1], "@send") {
				continue
			}
			n++
			if _, sent, err := readReply(m[1], tools); !sent || err != nil {
				t.Errorf("%s: this example is no reply: %v\n%s", name, err, m[1])
			}
		}
		if n < c.least {
			t.Errorf("%s has %d examples, want %d", name, n, c.least)
		}
	}
	for _, word := range []string{"@send", "@call", "@call!", "@think", "@finish", "@@", "request-001.md", "reply-001.md", "error-001.md", "--puppet"} {
		if !strings.Contains(string(doc), word) {
			t.Errorf("docs/puppet.md does not tell of %s", word)
		}
	}
}
