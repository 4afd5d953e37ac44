package permit

import (
	"path"
	"slices"
	"strings"
)

// A sight is how surely something is there.
type sight int

const (
	no sight = iota
	maybe
	yes
)

// forbids says whether a deny rule's pattern is in the command: yes where it can be seen,
// maybe where options, unknown words or a program that is not known to run others leave
// it open.
func (v view) forbids(pattern string) sight {
	pat, why := plain(pattern)
	if why != "" {
		return maybe // a rule that was not parsed: it can't be matched, so it can't be passed
	}
	name := baseName(pat[0].text)
	seen := no
	for _, c := range v.commands {
		seen = max(seen, forbidden(pat, c.words))
		base := baseName(c.words[0])
		if c.wild && (base == name || wrapper(base) || pat[0].wild()) {
			seen = max(seen, maybe)
		}
		if c.suffix {
			continue
		}
		for i := 1; i < len(c.words) && seen == no; i++ {
			if forbidden(pat, c.words[i:]) == yes {
				seen = maybe
			}
		}
	}
	for _, text := range v.code {
		if strings.Contains(strings.ToLower(text), name) {
			seen = max(seen, maybe)
		}
	}
	return seen
}

// forbidden matches one command. Its name counts without its folder and without case;
// options count wherever they stand, in any order, split or joined; words behind the
// pattern's own change nothing. An option that is not in the pattern may be another
// spelling of one that is (-f for --force, +ref), and an option's value may stand between
// words: then it is maybe.
func forbidden(pat []word, words []string) sight {
	var names, options []word
	for i, p := range pat {
		if i > 0 && isOption(p.text) {
			options = append(options, p)
		} else {
			names = append(names, p)
		}
	}
	var plainWords, given []string
	for i, w := range words {
		switch {
		case i == 0:
			plainWords = append(plainWords, baseName(w))
		case isOption(w):
			given = append(given, w)
		default:
			plainWords = append(plainWords, w)
		}
	}
	if len(names) > 0 {
		n := names[0]
		cut := strings.LastIndexByte(n.text, '/') + 1
		n = word{text: baseName(n.text), live: n.live[cut:]}
		if len(n.live) != len(n.text) { // letters whose small form is longer
			n.live = make([]bool, len(n.text))
		}
		names[0] = n
	}
	rest := word{text: "*", live: []bool{true}}
	strong := matchWords(append(slices.Clone(names), rest), literal(plainWords), anyChar)
	weak := strong
	if !weak && len(names) > 1 {
		var loose []word
		for _, n := range names {
			loose = append(loose, n, rest)
		}
		weak = len(given) > 0 && matchWords(loose, literal(plainWords), anyChar)
	}
	if !weak {
		return no
	}
	met := 0
	for _, o := range options {
		if hasOption(o, given) {
			met++
		}
	}
	switch {
	case strong && met == len(options):
		return yes
	case met == len(options) || len(given) > 0:
		return maybe
	}
	return no
}

func isOption(w string) bool { return len(w) > 1 && (w[0] == '-' || w[0] == '+') }

// hasOption finds an option of a pattern among those given: as written, or letter by
// letter for short ones (-rf in -fr, in -r -f).
func hasOption(o word, given []string) bool {
	for _, g := range given {
		if matchWord(o, word{text: g}, anyChar) {
			return true
		}
	}
	if strings.HasPrefix(o.text, "--") || strings.Contains(o.text, "*") {
		return false
	}
	var letters string
	for _, g := range given {
		if !strings.HasPrefix(g, "--") {
			letters += g[1:]
		}
	}
	return strings.Trim(o.text[1:], letters) == "" && letters != ""
}

// touches says whether a word of the command is, or may be, a path of the pattern.
func (v view) touches(pattern string) sight {
	folders := []string{"."}
	for _, c := range v.commands {
		if b := baseName(c.words[0]); (b == "cd" || b == "pushd") && len(c.words) > 1 {
			folders = append(folders, c.words[len(c.words)-1])
		}
	}
	if len(folders) > maxFolders {
		return maybe
	}
	for _, w := range v.mentions {
		parts := []string{w}
		for _, cut := range []string{"=", ":", "@", ","} {
			parts = append(parts, strings.Split(w, cut)[1:]...)
		}
		for _, p := range parts {
			if p == "" {
				continue
			}
			for _, dir := range folders {
				full := path.Join(dir, p)
				if path.IsAbs(p) {
					full = path.Clean(p)
				}
				if deniesNames(pattern, []string{full, strings.TrimPrefix(full, "/")}) {
					return yes
				}
			}
		}
	}
	for _, text := range v.code {
		if strings.Contains(strings.ToLower(text), keyName(pattern)) {
			return maybe
		}
	}
	// A glob below another folder than this one may be anywhere.
	if v.unknown != "" || len(v.globs) > 0 && len(folders) > 1 || slices.ContainsFunc(v.globs, func(g string) bool { return mayExpand(g, pattern) }) {
		return maybe
	}
	return no
}

// keyName is the last name in a pattern that says something: .env of **/.env, vendor of
// vendor/**.
func keyName(pattern string) string {
	for _, seg := range slices.Backward(strings.Split(strings.ToLower(pattern), "/")) {
		if seg = strings.Trim(seg, "*?"); seg != "" {
			return seg
		}
	}
	return ""
}

// mayExpand says whether a shell's glob may come to name a file of the pattern: judged by
// the first name of a pattern that has one, and by the last name, since folders between
// can be anything.
func mayExpand(glob, pattern string) bool {
	pattern, glob = strings.ToLower(tidy(pattern)), strings.ToLower(tidy(glob))
	if strings.Contains(glob, "{") {
		return true
	}
	if i := strings.IndexByte(glob, '['); i >= 0 {
		glob = glob[:i] + "*" + glob[strings.LastIndexByte(glob, ']')+1:]
	}
	first, _, deep := strings.Cut(pattern, "/")
	top, _, _ := strings.Cut(glob, "/")
	if deep && first != "" && !strings.ContainsAny(first, "*?") && top != "" && top != "~" && !strings.Contains(glob, "..") && !matchName(top, first) {
		return false
	}
	last, g := path.Base(pattern), path.Base(glob)
	switch {
	case strings.ContainsAny(last, "*?"):
		return true
	case strings.HasPrefix(last, ".") && !strings.HasPrefix(g, "."):
		return false // * does not take a leading dot
	}
	return matchName(g, last)
}
