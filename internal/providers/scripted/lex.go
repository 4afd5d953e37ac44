package scripted

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A word is one argument of a line: a bare word, a "quoted string", a {json} or [json] value, or key=value of these.
type word struct {
	key    string // "" if the word is not key=value
	val    string
	quoted bool
	json   bool
}

// A line is one logical line: its first word is the verb.
type line struct {
	n     int
	verb  string
	words []word
	rest  string // everything behind the verb, trimmed, for verbs that take free text
}

// lines cuts a file into logical lines: comments and blank lines are gone, a trailing backslash has joined two lines,
// and a heredoc (`<<WORD` up to a line that is WORD) has become a quoted word.
func lines(src string) ([]line, int, error) {
	var out []line
	phys := strings.Split(src, "\n")
	for i := 0; i < len(phys); i++ {
		n := i + 1
		s := strings.TrimSpace(phys[i])
		if s == "" || s[0] == '#' {
			continue
		}
		for strings.HasSuffix(s, `\`) && i+1 < len(phys) {
			i++
			s = s[:len(s)-1] + strings.TrimSpace(phys[i])
		}
		var doc *string
		if at := strings.LastIndex(s, "<<"); at > 0 && isBare(s[at+2:]) && !strings.ContainsAny(s[at:], `"}`) {
			end := s[at+2:]
			s = strings.TrimSpace(s[:at])
			var body []string
			for i++; ; i++ {
				if i >= len(phys) {
					return nil, n, fmt.Errorf("the text <<%s has no closing %s line", end, end)
				}
				if strings.TrimSpace(phys[i]) == end {
					break
				}
				body = append(body, phys[i])
			}
			text := strings.Join(dedent(body), "\n")
			doc = &text
		}
		verb, rest, _ := strings.Cut(s, " ")
		ln := line{n: n, verb: verb, rest: strings.TrimSpace(rest)}
		if verb != "about" && verb != "header" {
			ws, err := words(ln.rest)
			if err != nil {
				return nil, n, err
			}
			ln.words = ws
		}
		if doc != nil {
			ln.words = append(ln.words, word{val: *doc, quoted: true})
		}
		out = append(out, ln)
	}
	return out, 0, nil
}

func dedent(body []string) []string {
	cut := -1
	for _, s := range body {
		if t := strings.TrimLeft(s, " \t"); t != "" && (cut < 0 || len(s)-len(t) < cut) {
			cut = len(s) - len(t)
		}
	}
	out := make([]string, len(body))
	for i, s := range body {
		out[i] = s[min(max(cut, 0), len(s)):]
	}
	return out
}

func isBare(s string) bool {
	if s == "" {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') }) < 0
}

// words splits the arguments of a line.
func words(s string) ([]word, error) {
	var out []word
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" {
			return out, nil
		}
		var w word
		if eq := strings.IndexByte(s, '='); eq > 0 && !strings.ContainsAny(s[:eq], " \t\"{[") {
			w.key, s = s[:eq], s[eq+1:]
		}
		switch {
		case s == "" || s[0] == ' ' || s[0] == '\t': // key= with an empty value
		case s[0] == '"':
			end := stringEnd(s)
			if end < 0 {
				return nil, fmt.Errorf("unclosed string %s", clip(s))
			}
			v, err := unescape(s[1 : end-1])
			if err != nil {
				return nil, err
			}
			w.val, w.quoted, s = v, true, s[end:]
		case s[0] == '{' || s[0] == '[':
			end := jsonEnd(s)
			if end < 0 {
				return nil, fmt.Errorf("unbalanced %s", clip(s))
			}
			w.val, w.json, s = s[:end], true, s[end:]
		default:
			end := strings.IndexAny(s, " \t")
			if end < 0 {
				end = len(s)
			}
			w.val, s = s[:end], s[end:]
		}
		out = append(out, w)
	}
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// stringEnd returns the index behind the closing quote of the string that s starts with, or -1.
func stringEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// jsonEnd returns the index behind the JSON value that s starts with, or -1. It balances brackets only: a scenario may
// hold JSON that a strict parser refuses (lone surrogates).
func jsonEnd(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			end := stringEnd(s[i:])
			if end < 0 {
				return -1
			}
			i += end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// unescape resolves \n \r \t \" \\ \xHH (a byte) and \uHHHH (a code point) in a quoted string.
func unescape(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", fmt.Errorf("a string ends in a backslash")
		}
		digits := 0
		switch s[i] {
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case '"', '\\':
			b = append(b, s[i])
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		default:
			return "", fmt.Errorf(`unknown escape \%c: use \n \r \t \" \\ \xHH \uHHHH`, s[i])
		}
		if digits == 0 {
			continue
		}
		if i+digits >= len(s) {
			return "", fmt.Errorf("a hexadecimal escape is cut short")
		}
		v, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
		if err != nil {
			return "", fmt.Errorf("a hexadecimal escape is not a number: %q", s[i+1:i+1+digits])
		}
		i += digits
		if digits == 2 {
			b = append(b, byte(v))
		} else {
			b = utf8.AppendRune(b, rune(v))
		}
	}
	return string(b), nil
}
