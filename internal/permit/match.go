package permit

import "strings"

// How a * inside a word, and a lone *, take characters and words.
type reach int

const (
	anyChar reach = iota // deny: anything
	narrow               // allow: no folder, no way up, no option that runs or writes something
)

// matchWords matches words; a lone live * in the pattern is any number of them.
func matchWords(pat, words []word, r reach) bool {
	at := make([]bool, len(pat)+1)
	at[0] = true
	skip := func() {
		for i, p := range pat {
			if p.any() && at[i] {
				at[i+1] = true
			}
		}
	}
	skip()
	for _, w := range words {
		next := make([]bool, len(pat)+1)
		for i, p := range pat {
			switch {
			case !at[i]:
			case p.any():
				next[i] = next[i] || r == anyChar || !carrier(w.text) && !mayCarry(words[0].text, w)
			case matchWord(p, w, r):
				next[i+1] = true
			}
		}
		at = next
		skip()
	}
	return at[len(pat)]
}

// mayCarry says whether the shell may turn a word into an option that runs or writes
// something: braces with a dash in them, or a leading * where a file in a hostile
// repository may have such a name and the program such options.
func mayCarry(program string, w word) bool {
	if !w.wild() {
		return false
	}
	if strings.Contains(w.text, "{") && strings.Contains(w.text, "-") {
		return true
	}
	switch baseName(program) {
	case "find", "fd", "fdfind", "tar", "gtar", "bsdtar", "rg", "git", "go", "rsync", "sort", "zip":
		return w.live[0] && strings.IndexByte("*?[{", w.text[0]) >= 0
	}
	return false
}

func literal(words []string) []word {
	out := make([]word, len(words))
	for i, w := range words {
		out[i].text = w
	}
	return out
}

func (w word) any() bool { return w.text == "*" && w.live[0] }

// matchWord matches one word. Only a live * is a wildcard.
func matchWord(p, given word, r reach) bool {
	w := given.text
	pieces := []string{""}
	for i := 0; i < len(p.text); i++ {
		if p.text[i] == '*' && p.live[i] {
			pieces = append(pieces, "")
		} else {
			pieces[len(pieces)-1] += p.text[i : i+1]
		}
	}
	if len(pieces) == 1 {
		// What the shell will change is not yet what the rule names.
		return w == p.text && (r == anyChar || !given.wild())
	}
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(w) < len(first)+len(last) || !strings.HasPrefix(w, first) || !strings.HasSuffix(w, last) {
		return false
	}
	taken := []string{}
	mid := w[len(first) : len(w)-len(last)]
	for _, piece := range pieces[1 : len(pieces)-1] {
		before, after, ok := strings.Cut(mid, piece)
		if !ok {
			return false
		}
		taken, mid = append(taken, before), after
	}
	taken = append(taken, mid)
	if r == anyChar {
		return true
	}
	for _, t := range taken {
		if strings.Contains(t, "/") {
			return false
		}
	}
	for _, seg := range strings.Split(w, "/") {
		if seg == ".." && !strings.Contains(p.text, "..") {
			return false
		}
	}
	return true
}
