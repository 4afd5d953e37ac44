package scripted

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/scripted.md is the reference: its examples are valid, and every word of the format is on it.
func TestReference(t *testing.T) {
	b, err := os.ReadFile("../../../docs/scripted.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	examples := regexp.MustCompile("(?s)```scenario\n(.*?)```").FindAllStringSubmatch(doc, -1)
	if len(examples) < 2 {
		t.Fatal("the examples are gone")
	}
	for _, m := range examples {
		list, err := Parse("docs/scripted.md", m[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, sc := range list {
			if _, err := stage(sc); err != nil {
				t.Error(err)
			}
			if sc.ID == "HELLO" {
				s, cl := open(t, Options{})
				if err := s.Play(sc); err != nil {
					t.Fatal(err)
				}
				_, body, err := ask(t, cl, s.URL(), hello)
				if got := read(200, "text/event-stream", body); err != nil || got.class != "natural" || got.text != "Hello" {
					t.Errorf("%+v %v", got, err)
				}
			}
		}
	}
	words := strings.Fields(givenKeys + runKeys + kinds + subs + classes)
	words = append(words, Vendors()...)
	for _, file := range []string{"parse.go", "expect.go"} {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^\tcase "([a-z_", ]+)":$`).FindAllStringSubmatch(string(src), -1) {
			words = append(words, strings.Split(m[1], `", "`)...)
		}
		for _, m := range regexp.MustCompile(`ln\.verb == "(\w+)"`).FindAllStringSubmatch(string(src), -1) {
			words = append(words, m[1])
		}
	}
	if len(words) < 100 {
		t.Fatalf("only %d words found in the source", len(words))
	}
	code := strings.Join(regexp.MustCompile("`[^`\n]+`").FindAllString(doc, -1), " ")
	for _, w := range words {
		if !regexp.MustCompile(`\b` + w + `\b`).MatchString(code) {
			t.Errorf("%q is not in docs/scripted.md", w)
		}
	}
}
