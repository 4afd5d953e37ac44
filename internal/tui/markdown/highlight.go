package markdown

import (
	"embed"
	"io/fs"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

// The lexers are those of chroma v2.27.0 (MIT, lexers/COPYING). Its own package lexers is not imported, because it reads
// some 270 files when a program starts (11 ms, PERF-13); these are read when the first code block is coloured.
//
//go:embed lexers/*.xml
var lexerFiles embed.FS

// maxCode is the size in bytes above which code isn't coloured.
const maxCode = 64 << 10

var registry = sync.OnceValue(func() *chroma.LexerRegistry {
	reg := chroma.NewLexerRegistry()
	paths, err := fs.Glob(lexerFiles, "lexers/*.xml")
	if err != nil {
		panic("markdown: internal error: " + err.Error())
	}
	for _, path := range paths {
		reg.Register(chroma.MustNewXMLLexer(lexerFiles, path))
	}
	return reg
})

// lexer finds the lexer for a fence's language, or nil. Text is never guessed at.
func lexer(lang string) chroma.Lexer {
	if lang == "" || len(lang) > 32 || strings.ContainsAny(lang, `/\*?[`) {
		return nil
	}
	lang = strings.ToLower(lang)
	switch lang {
	case "text", "txt", "plain", "plaintext", "output", "log", "none":
		return nil
	case "jsx", "mjs", "cjs":
		lang = "javascript"
	case "jsonc", "json5", "jsonl", "ndjson":
		lang = "json"
	case "console", "shell-session", "shellscript", "fish":
		lang = "bash"
	}
	return registry().Get(lang)
}

// language is the first word of a fence's info string, without attributes: "go" of "go {.numbered}" and of "go,ignore".
func language(info string) string {
	info = strings.TrimSpace(info)
	if i := strings.IndexAny(info, " ,{:"); i >= 0 {
		info = info[:i]
	}
	return info
}

// A token ends at a byte of the code and begins where the one before ends.
type token struct {
	end  int
	role role
}

// A job is code that is being coloured, a piece at a time.
type job struct {
	key, text string
	next      chroma.Iterator
	tokens    []token
	pos       int
	blocks    []int // who waits for it
}

// work colours about n bytes and reports whether all is done. A lexer that fails leaves the rest uncoloured.
func (j *job) work(n int) (done bool) {
	defer func() {
		if recover() != nil { // chroma's state machines panic on a state they lack
			j.pos, done = len(j.text), true
		}
	}()
	for stop := j.pos + n; j.pos < stop; {
		t := j.next()
		if t == chroma.EOF || t.Value == "" && j.pos >= len(j.text) {
			return true
		}
		if !strings.HasPrefix(j.text[j.pos:], t.Value) {
			return true // it isn't our text any more; what is coloured so far is right
		}
		j.pos += len(t.Value)
		r := roleOf(t.Type)
		if k := len(j.tokens); k > 0 && j.tokens[k-1].role == r {
			j.tokens[k-1].end = j.pos
		} else {
			j.tokens = append(j.tokens, token{j.pos, r})
		}
	}
	return j.pos >= len(j.text)
}

func roleOf(t chroma.TokenType) role {
	switch {
	case t == chroma.KeywordType, t == chroma.NameClass, t == chroma.NameTag, t == chroma.NameNamespace:
		return roleType
	case t == chroma.KeywordConstant:
		return roleNumber
	case t.InCategory(chroma.Keyword):
		return roleKeyword
	case t == chroma.NameFunction, t == chroma.NameBuiltin, t == chroma.NameAttribute, t == chroma.NameDecorator:
		return roleFunc
	case t.InSubCategory(chroma.LiteralString):
		return roleString
	case t.InSubCategory(chroma.LiteralNumber):
		return roleNumber
	case t.InCategory(chroma.Comment):
		return roleComment
	case t == chroma.GenericHeading, t == chroma.GenericSubheading:
		return roleHeading
	case t == chroma.GenericInserted:
		return roleAdded
	case t == chroma.GenericDeleted:
		return roleRemoved
	}
	return roleText
}

// diffTokens colours the lines of a unified diff by their first character.
func diffTokens(text string) []token {
	var out []token
	pos := 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		pos += len(line)
		r := roleText
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "diff "):
			r = roleHunk
		case strings.HasPrefix(line, "+"):
			r = roleAdded
		case strings.HasPrefix(line, "-"):
			r = roleRemoved
		}
		out = append(out, token{pos, r})
	}
	return out
}

// A colourer keeps the tokens of code that is coloured once, whatever width it is drawn at.
type colourer struct {
	known  map[string][]token
	queue  []*job
	budget int // bytes that may still be coloured in this call
}

// tokens returns the colours of code. If they are not to be had within the budget, the code is queued for block and
// waits is true; a negative block asks only for what is known.
func (c *colourer) tokens(lang, text string, block int) (tokens []token, waits bool) {
	if lang == "" || text == "" || len(text) > maxCode {
		return nil, false
	}
	if lang == "diff" || lang == "patch" {
		return diffTokens(text), false
	}
	key := lang + "\x00" + text
	if t, ok := c.known[key]; ok {
		return t, false
	}
	if block < 0 {
		return nil, false
	}
	for _, j := range c.queue {
		if j.key == key {
			j.blocks = append(j.blocks, block)
			return nil, true
		}
	}
	j := start(lang, key, text)
	if j == nil {
		return nil, false
	}
	if len(c.queue) == 0 && c.run(j) {
		return j.tokens, false
	}
	j.blocks = append(j.blocks, block)
	c.queue = append(c.queue, j)
	return nil, true
}

// start begins a job, or returns nil if no lexer knows the language.
func start(lang, key, text string) (j *job) {
	defer func() {
		if recover() != nil {
			j = nil
		}
	}()
	lx := lexer(lang)
	if lx == nil {
		return nil
	}
	next, err := lx.Tokenise(nil, text)
	if err != nil {
		return nil
	}
	return &job{key: key, text: text, next: next}
}

// run works on j within the budget and keeps the result when it is done.
func (c *colourer) run(j *job) bool {
	if c.budget <= 0 {
		return false
	}
	from := j.pos
	done := j.work(c.budget)
	c.budget -= max(j.pos-from, 1)
	if done {
		if c.known == nil {
			c.known = map[string][]token{}
		}
		c.known[j.key] = j.tokens
		j.next = nil
	}
	return done
}
