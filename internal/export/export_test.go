package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve/internal/session"
)

// A tape records a session without a disk.
type tape struct {
	t       testing.TB
	entries []session.Entry
	blobs   map[string][]byte
}

func newTape(t testing.TB) *tape {
	p := &tape{t: t, blobs: map[string][]byte{}}
	p.add(session.SessionCreated{Format: 1, ID: "0197f3a1-c2d4-7e80-9a51-0242ac120002", Workspace: "/home/ann/calc"})
	p.add(session.ModelChosen{Model: session.Model{Provider: "anthropic", API: "anthropic-messages", Model: "a-model"}, By: "user"})
	return p
}

func (p *tape) add(e session.Event, body ...session.Part) session.Seq {
	p.t.Helper()
	q := session.Seq(len(p.entries) + 1)
	rest, err := session.EncodeRest(session.Fact{Branch: "main", Event: e, Body: body}, time.Date(2026, 11, 30, 12, int(q), 0, 0, time.UTC))
	if err != nil {
		p.t.Fatal(err)
	}
	entry, err := session.Decode(fmt.Appendf(nil, `{"seq":%d,"prev":"%032d",%s`, q, 0, rest))
	if err != nil {
		p.t.Fatal(err)
	}
	p.entries = append(p.entries, entry)
	return q
}

func text(s string) session.Part { return session.Part{Bytes: []byte(s)} }

func (p *tape) ref(media, content string) session.Part {
	sum := sha256.Sum256([]byte(content))
	sha := hex.EncodeToString(sum[:])
	p.blobs[sha] = []byte(content)
	return session.Part{Ref: &session.Ref{SHA256: sha, MediaType: media, Size: int64(len(content))}}
}

func (p *tape) says(words string) session.Seq {
	return p.add(session.UserSaid{Via: "prompt", Text: &session.Text{}}, text(words))
}

// replies is a reply: text, or a tool's name and arguments.
func (p *tape) replies(parts ...string) session.Seq {
	ev := session.ReplyCompleted{Finish: "natural"}
	var body []session.Part
	for i := 0; i < len(parts); i += 2 {
		part := session.ReplyPart{Kind: "assistant", B: i / 2}
		switch parts[i] {
		case "":
		case "reasoning":
			part.Kind = "reasoning"
		default:
			part.Kind, part.Call = "tool_call", &session.CallName{ID: fmt.Sprint(i), Name: parts[i]}
		}
		ev.Parts, body = append(ev.Parts, part), append(body, text(parts[i+1]))
	}
	return p.add(ev, body...)
}

func (p *tape) result(q session.Seq, part int, ev session.ToolFinished, body ...session.Part) session.Seq {
	ev.Call = session.ItemID{Seq: q, Part: part}
	return p.add(ev, body...)
}

func (p *tape) conversation() Conversation {
	return Conversation{
		Session: "0197f3a1-c2d4-7e80-9a51-0242ac120002", Branch: "main", Workspace: "/home/ann/calc", Entries: p.entries,
		Load: func(x session.Part) ([]byte, error) {
			if x.Ref == nil {
				return x.Bytes, nil
			}
			if b, ok := p.blobs[x.Ref.SHA256]; ok {
				return b, nil
			}
			return nil, errors.New("content is missing")
		},
	}
}

func (p *tape) pages() (md, page string) {
	p.t.Helper()
	var m, h bytes.Buffer
	if err := errors.Join(Markdown(&m, p.conversation()), HTML(&h, p.conversation())); err != nil {
		p.t.Fatal(err)
	}
	return m.String(), h.String()
}

// dot is a small picture.
func dot(t testing.TB) string {
	img := image.NewRGBA(image.Rect(0, 0, 160, 90))
	for i := range 160 * 90 {
		img.Set(i%160, i/160, color.RGBA{uint8(i % 160), uint8(2 * (i / 160)), 120, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// fixed is a session in which there is one of everything.
func fixed(t testing.TB) *tape {
	p := newTape(t)
	q := p.add(session.UserSaid{Via: "prompt", Text: &session.Text{}, Media: []session.Media{{Handle: "media:92b2fa58", B: 1}}},
		text("calc divides by zero.\nFix it, **gently** please; the plot shows where."), p.ref("image/png", dot(t)))
	r := p.replies("reasoning", "A guard is enough.\nTests first.", "", "I'll look first.",
		"todo", `{"items":[{},{}]}`, "bash", `{"command":"cd /home/ann/calc/sub && go test ./..."}`, "read", `{"file_path":"/home/ann/calc/calc.go"}`)
	after := session.ItemID{Seq: r, Part: 3}
	p.add(session.PlanChanged{Items: []session.PlanItem{{ID: "task-1", Status: "completed"}, {ID: "task-2", Status: "in_progress", Content: 1}, {ID: "task-3", Status: "cancelled", Content: 2}, {ID: "task-4", Status: "pending", Content: 3}}, AfterItem: &after, NextID: 5, By: "model"},
		text("Read calc.go"), text("Guard the division"), text("Ask [x] `why`"), text("Run the tests"))
	p.result(r, 3, session.ToolFinished{}, text("ok"))
	one := 1
	p.result(r, 4, session.ToolFinished{IsError: true, Exit: &one, DurationMS: 1204, LeftOut: session.LeftOut{Lines: 12}}, text("--- FAIL: TestDiv\n```\npanic: divide by zero\n```\n"))
	p.add(session.ToolInterrupted{Call: session.ItemID{Seq: r, Part: 5}, Why: "denied"}, text("The user refused."))
	w := p.add(session.InputQueued{Kind: "steer"}, text("an error"))
	p.add(session.InputEdited{Entry: w}, text("an error, no panic"))
	p.add(session.UserSaid{Turn: q, Via: "steer", Entry: w})
	r = p.replies("edit", `{"file_path":"/home/ann/calc/calc.go"}`, "bash", "{\"command\":\"for i in 1 2; do\\n  go test\\ndone\"}")
	p.add(session.FilesChanged{By: "tool", Call: r.Item(), N: 1}, text(`[{"path":"/home/ann/calc/calc.go","op":"modify","before":1,"after":2}]`),
		text("package calc\n\nfunc Div(a, b int) int {\n\treturn a / b\n}\n"), text("package calc\n\nfunc Div(a, b int) (int, error) {\n\tif b == 0 {\n\t\treturn 0, errZero\n\t}\n\treturn a / b, nil\n}\n"))
	p.result(r, 1, session.ToolFinished{}, text("edited"))
	p.result(r, 2, session.ToolFinished{DurationMS: 61_000}, text("ok calc"))
	a := p.replies("", "Division is guarded.\n\n| input | before | after |\n|---|:-:|--:|\n| `1/0` | *panic* | **error** |\n\n```go\nif b == 0 { // guard\n\treturn 0, errZero\n}\n```\n\n1. See [the docs](https://go.dev/doc).\n2. Then ~~panic~~ return.\n\n> quoted")
	p.add(session.TurnEnded{Turn: q, Status: "completed", Answer: a.Item()})
	p.add(session.ShellRan{Exit: 1}, text("$ git commit -m guard\nnothing to commit"))
	p.add(session.FilesChanged{By: "restore", N: 2}, text(`[{"path":"/home/ann/calc/new.txt","op":"create","after":1},{"path":"dump.bin","op":"delete","missing_why":"larger than 50 MiB"}]`), text("new\n"))
	p.add(session.BranchReverted{To: session.Reference{Branch: "main", Seq: q, Select: "before"}, Label: "v1"}, text("then commit"))
	p.add(session.ModelChosen{Model: session.Model{Provider: "local", API: "openai-chat", Model: "some-model"}, By: "user"})
	p.add(session.CheckpointCommitted{Kind: "text", Before: session.Tokens{N: 211, By: "provider"}, After: session.Tokens{N: 96, By: "est"}}, text(session.HandoffIs+"## Goal\nGuard the division."))
	secret := p.says("the key is hunter2")
	p.add(session.ItemReplaced{Item: secret.Item(), Why: "redact"}, text("[redacted]"))
	p.add(session.ReplyRejected{Class: "cancelled", Kept: true, Text: &session.Text{}}, text("The guard goes"))
	p.add(session.TurnEnded{Turn: secret, Status: "interrupted"})
	lost := p.ref("text/plain", "gone")
	delete(p.blobs, lost.Ref.SHA256)
	p.add(session.UserSaid{Via: "prompt", Text: &session.Text{}}, lost)
	return p
}

// What a page looks like, as Markdown and as HTML.
func TestPages(t *testing.T) { // BRN-9, CTX-8
	p := fixed(t)
	md, page := p.pages()
	for name, got := range map[string]string{"testdata/page.md": md, "testdata/page.html": strings.Replace(regexp.MustCompile(`base64,[^"]+`).ReplaceAllString(page, "base64,…"), css, "…", 1)} {
		got = regexp.MustCompile(`sha256-[^']+`).ReplaceAllString(got, "sha256-…")
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s (UPDATE=1 rewrites it):\n%s", name, diff)
		}
	}
	if strings.Contains(md+page, "hunter2") {
		t.Error("what was redacted is shown")
	}
	if strings.Contains(md+page, "/home/ann") {
		t.Error("a home folder is named")
	}
	sum := sha256.Sum256([]byte(css))
	if !strings.Contains(page, "style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
		t.Error("the style is not the one that the policy allows")
	}
}

// hostile is what nobody should write.
var hostile = []string{
	"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</section></main><h1>x", "\x1b]0;title\x07\x1b[2J\x1b[31mred",
	"a\u202eb\u2066c\u200bd", "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](data:text/html,<script>alert(1)</script>)",
	"![x](https://evil.example/x.png)", "<javascript:alert(1)>", "[x](&#106;avascript:alert(1))", "\"><svg onload=alert(1)>",
	"```html\n<script>alert(1)</script>\n```", "<iframe src=https://evil.example></iframe>", "`<b>`", "</details></summary>", "````\n```\n````",
	"a\x00b\x9bc\u0085d", "[![x](javascript:a)](vbscript:b)", "| a |\n|---|\n| <script>x</script> |", "&lt;script&gt;", "&#x202e;",
	"[x](https://a.example\"onmouseover=alert(1))", "<https://a.example/\"onclick=alert(1)>", "<style>*{display:none}</style>", "<details open>",
}

// What was written by whomever stays text, wherever it stands: no tag, no link
// that acts, no character that controls a terminal or turns a line around.
func TestHostileTextIsInert(t *testing.T) { // SEC-5, TUI-9
	for _, evil := range hostile {
		raw := evil
		evil := strings.ToValidUTF8(evil, "?") // among the facts there is nothing else
		p := newTape(t)
		q := p.add(session.UserSaid{Via: "prompt", Text: &session.Text{}, Media: []session.Media{{Handle: evil, B: 1}}}, text(raw),
			session.Part{Ref: &session.Ref{SHA256: evil, MediaType: evil, Size: 3}})
		r := p.replies("reasoning", raw, "", raw, "bash", raw, evil, raw)
		p.result(r, 3, session.ToolFinished{Media: []session.Media{{Handle: evil, B: 1}}}, text(raw), p.ref("image/png", raw))
		p.add(session.FilesChanged{By: evil, N: 1}, text(evil))
		p.add(session.PlanChanged{Items: []session.PlanItem{{ID: "task-1", Status: evil}}, By: "user"}, text(evil))
		p.add(session.ShellRan{}, text("$ "+raw+"\n"+raw))
		p.add(session.CheckpointCommitted{Kind: "text"}, text(raw))
		p.add(session.BranchReverted{Label: evil}, text(evil))
		p.add(session.TurnEnded{Turn: q, Status: "failed", Error: &session.TurnError{Kind: evil}, Answer: session.ItemID{Seq: r, Part: 2}})
		c := p.conversation()
		c.Title, c.Missing, c.Branch, c.Workspace = raw, raw, raw, raw
		var m, h bytes.Buffer
		if err := errors.Join(Markdown(&m, c), HTML(&h, c)); err != nil {
			t.Fatal(err)
		}
		for _, out := range []string{m.String(), h.String()} {
			for _, r := range out {
				if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x2066 || r == 0x200b {
					t.Errorf("%q leaves %U", evil, r)
					break
				}
			}
		}
		page := strings.Replace(h.String(), css, "", 1)
		for _, tag := range regexp.MustCompile(`<[^>]*>`).FindAllString(page, -1) {
			if !ours.MatchString(tag) {
				t.Errorf("%q leaves the tag %s", evil, tag)
			}
		}
		if n := strings.Count(page, "<details") - strings.Count(page, "</details>"); n != 0 {
			t.Errorf("%q leaves %d elements open", evil, n)
		}
	}
}

// ours are the tags that a page has. Of attributes only links lead outside.
var ours = regexp.MustCompile(`^<(!DOCTYPE html|html lang="en"|meta [^<>]*|/html|/?(head|title|style|body|header|main|footer|section|h[1-6]|dl|dt|dd|p|div|span|em|strong|del|code|pre|ul|ol|li|details|summary|blockquote|table|tr|th|td|hr|br|img|time|a)|` +
	`(section|p|div|span|pre|ul|li|details|th|td|code) class="[a-z_ ]+"|time datetime="[0-9TZ:-]+"|img src="data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*" alt="[^"<>]*"|` +
	`ol start="\d+"|a rel="noopener noreferrer" href="(https?://|mailto:)[^"<>]*")>$`)

// A fence is longer than any inside it, and an answer of media alone gets no
// words.
func TestMarkdownHolds(t *testing.T) { // CTX-8
	p := newTape(t)
	p.says("look")
	r := p.replies("bash", `{"command":"cat x"}`)
	p.result(r, 1, session.ToolFinished{}, text("````\nin\n`````\nout"))
	a := p.replies("", "")
	p.add(session.TurnEnded{Turn: 3, Status: "completed", Answer: a.Item()})
	md, page := p.pages()
	if !strings.Contains(md, "``````text\n````\nin\n`````\nout\n``````\n") {
		t.Error(md)
	}
	if strings.Contains(md, "Answer") || strings.Contains(page, "Answer") {
		t.Errorf("an empty answer is shown:\n%s", md)
	}
}
