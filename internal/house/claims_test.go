package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// claims are words for what docs/limits.md says is not promised: recall of a summary, an audit that proves it, hits of a
// provider's cache, a file that does not grow.
var claims = regexp.MustCompile(`(?i)\b(lossless(ly)?|never forgets|forgets nothing|nothing (is|gets) forgotten|remembers everything|perfect (recall|memory)|` +
	`(infinite|unlimited) (context|memory)|no (information|detail|context) is lost|without losing (anything|context|detail)|` +
	`verified (summary|handoff)|guarantee\w* (a |that )?(\w+ )?(recall|cache|hit)\w*|always (cached|hits the cache)|cache hits are guaranteed|never grows)\b`)

// No page and no screen claims what can't be promised. // EVAL-4
func TestNothingClaimsWhatIsNotPromised(t *testing.T) {
	look := func(name, text string) {
		for _, m := range claims.FindAllString(text, -1) {
			t.Errorf("%s says %q, which docs/limits.md does not promise", name, m)
		}
	}
	for name, text := range documents(t) {
		look(name, text)
	}
	seen := 0
	for _, dir := range []string{"cmd", "internal/tui", "internal/words", "internal/demo", "internal/export", "internal/compact", "internal/eval"} {
		if err := filepath.WalkDir(filepath.Join(root, dir), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(p) == ".jsonl" {
				return err
			}
			b, err := os.ReadFile(p)
			if seen++; err == nil {
				look(strings.TrimPrefix(p, root+"/"), string(b))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if seen < 100 {
		t.Errorf("%d files were looked at", seen)
	}
	for text, want := range map[string]bool{
		"a lossless summary": true, "nothing is forgotten": true, "guaranteed cache hits": true, "Compaction never forgets.": true,
		"a summary forgets": false, "nothing in it is lost": false, "a cache hit": false,
	} {
		if claims.MatchString(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
