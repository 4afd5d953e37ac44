package permit

import (
	"slices"
	"strings"
)

// How much of a command is looked into: its length, what is read in all (nested texts are
// read again), the words of one command, the folders it changes to. What is beyond is
// hidden, so a long command costs little and asks.
const (
	maxText    = 1 << 16
	maxRead    = 1 << 18
	maxWords   = 100
	maxFolders = 8
)

// A view is what can be seen in a command by someone who looks for what is forbidden. It
// takes more apart than simple does and errs on the side of seeing too much.
type view struct {
	commands []inner  // each command in it, quotes and escapes resolved
	mentions []string // every word and redirection target, for rules about paths
	globs    []string // those of them that the shell expands by file names
	code     []string // arguments of interpreters
	hidden   string   // what could not be looked into; "" if everything was
	unknown  string   // what may stand for any word (a variable); "" if nothing does

	spent int // bytes read
}

// An inner is one command. wild: the shell, or xargs, adds words that are not known.
// suffix: it begins inside the words of another command, behind a wrapper.
type inner struct {
	words        []string
	wild, suffix bool
}

func look(command string) view {
	var v view
	if len(command) > maxText {
		v.hide("a very long command")
		command = command[:maxText]
	}
	v.read(command, 0)
	return v
}

func (v *view) hide(what string) {
	if v.hidden == "" {
		v.hidden = what
	}
}

// A scan is the state of taking one text apart.
type scan struct {
	word       strings.Builder
	open       bool // a word has begun
	target     bool // it is a redirection's
	glob, wild bool // of the word: file names, anything
	words      []string
	first, any bool // wild: the command's name, some word
}

// read takes a text apart at operators and resolves quotes and escapes, as a shell does.
func (v *view) read(text string, depth int) {
	if v.spent += len(text); depth > 4 || v.spent > maxRead {
		v.hide("deep nesting")
		return
	}
	var s scan
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == ' ' || c == '\t':
			v.word(&s)
		case c == '\'':
			n := strings.IndexByte(text[i+1:], '\'')
			if n < 0 {
				v.hide("an open quote")
				n = len(text) - i - 1
			}
			s.word.WriteString(text[i+1 : i+1+n])
			s.open = true
			i += n + 1
		case c == '"':
			s.open = true
			for i++; i < len(text) && text[i] != '"'; i++ {
				switch {
				case text[i] == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0:
					if i++; text[i] != '\n' {
						s.word.WriteByte(text[i])
					}
				case text[i] == '$' || text[i] == '`':
					v.expansion(&s, text[i:], depth)
					s.word.WriteByte(text[i])
				default:
					s.word.WriteByte(text[i])
				}
			}
			if i >= len(text) {
				v.hide("an open quote")
			}
		case c == '\\':
			if i+1 < len(text) {
				if i++; text[i] != '\n' { // a line that goes on
					s.word.WriteByte(text[i])
					s.open = true
				}
			}
		case c == '#' && !s.open:
			n := strings.IndexByte(text[i:], '\n')
			if n < 0 {
				n = len(text) - i
			}
			i += n - 1
		case c == '$' || c == '`':
			v.expansion(&s, text[i:], depth)
			s.word.WriteByte(c)
			s.open = true
		case c == '<' || c == '>':
			if strings.Trim(s.word.String(), "0123456789") == "" { // the 2 of 2>
				s.word.Reset()
				s.open = false
			}
			v.word(&s)
			if strings.HasPrefix(text[i:], "<<") {
				v.hide("a here-document")
			}
			if strings.HasPrefix(text[i:], "<(") || strings.HasPrefix(text[i:], ">(") {
				v.hide("a process substitution")
				continue
			}
			for i+1 < len(text) && strings.IndexByte("<>&|", text[i+1]) >= 0 {
				i++
			}
			s.target = true
		case strings.IndexByte(";&|()\n\r", c) >= 0:
			v.end(&s, depth)
		default:
			s.glob = s.glob || strings.IndexByte("*?[{", c) >= 0 || c == '~' && !s.open
			if c < ' ' || c == 0x7f {
				v.hide("a character that can't be seen")
			}
			s.word.WriteByte(c)
			s.open = true
		}
	}
	v.end(&s, depth)
}

func (v *view) word(s *scan) {
	if !s.open {
		return
	}
	w := s.word.String()
	v.mentions = append(v.mentions, w)
	if s.glob {
		v.globs = append(v.globs, w)
	}
	if !s.target {
		if s.glob && w == "{" || w == "}" {
			s.glob = false // a group
		}
		if (s.glob || s.wild) && !slices.ContainsFunc(s.words, func(w string) bool { return !leads(w) && !assigns(w) }) {
			s.first = true
		}
		// A name with a slash is neither an option nor a subcommand, whatever * becomes.
		s.any = s.any || s.wild || s.glob && (strings.Contains(w, "{") || !strings.Contains(w, "/"))
		s.words = append(s.words, w)
	}
	s.word.Reset()
	s.open, s.target, s.glob, s.wild = false, false, false, false
}

func (v *view) end(s *scan, depth int) {
	v.word(s)
	if s.first {
		v.hide("a command name that the shell makes")
	}
	v.command(inner{words: s.words, wild: s.any}, depth)
	*s = scan{}
}

// expansion looks at a $ or a backquote. A plain variable stands for words that are not
// known; anything more may run a command.
func (v *view) expansion(s *scan, text string, depth int) {
	name := strings.TrimPrefix(text, "$")
	if inside, ok := strings.CutPrefix(name, "{"); ok {
		name, _, _ = strings.Cut(inside, "}")
	} else {
		name = name[:len(name)-len(strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@*#?!-"))]
	}
	if text[0] == '$' && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@*#?!-") == "" {
		s.wild = true
		v.unknown = "a variable"
		return
	}
	s.wild = true
	v.hide("an expansion")
	// The rest of the text is read as commands: too much is seen, never too little.
	if depth <= 1 && v.spent < maxRead {
		v.read(strings.NewReplacer("`", " ", "\"", " ").Replace(strings.TrimPrefix(text[1:], "(")), depth+3)
	}
}

// command looks at the words of one command, and at what it runs in its turn.
func (v *view) command(c inner, depth int) {
	for len(c.words) > 0 && (leads(c.words[0]) || assigns(c.words[0])) {
		c.words = c.words[1:]
	}
	if len(c.words) == 0 {
		return
	}
	if len(c.words) > maxWords {
		v.hide("a very long command")
		c.words = c.words[:maxWords]
	}
	v.commands = append(v.commands, c)
	v.inspect(c, depth)
	base := baseName(c.words[0])
	if base == "ssh" || base == "script" {
		v.hide(base)
	}
	for i := 1; i < len(c.words); i++ {
		runs := wrapper(base)
		switch c.words[i-1] {
		case "-exec", "-execdir", "-ok", "-okdir", "--exec", "-x":
			runs = true
		}
		if !runs {
			continue
		}
		next := inner{c.words[i:], c.wild || base == "xargs" || base == "parallel", true}
		v.commands = append(v.commands, next)
		v.inspect(next, depth)
		if strings.ContainsAny(c.words[i], " \t\n;&|") {
			v.read(c.words[i], depth+1)
		}
	}
}

// inspect looks for what runs code that is given in words.
func (v *view) inspect(c inner, depth int) {
	args := c.words[1:]
	switch base := baseName(c.words[0]); {
	case base == "case" || base == "for" || base == "select" || base == "function" || base == "alias" || base == "trap":
		v.hide("the shell's word " + base)
	case base == "eval":
		v.read(strings.Join(args, " "), depth+1)
	case base == "source" || base == ".":
		v.hide("a script that is read in")
	case shell(base):
		given := false
		for _, w := range args {
			v.read(w, depth+1)
			given = given || !isOption(w)
		}
		if !given {
			v.hide("code for " + base)
		}
	case interpreter(base):
		v.code = append(v.code, args...)
		inline := len(args) == 0
		for _, w := range args {
			if base == "sed" || base == "gsed" || base == "docker" || base == "podman" || base == "kubectl" {
				break // their options give no code, and what they run is among the words
			}
			inline = inline || w == "-" || strings.HasPrefix(w, "--eval") || strings.HasPrefix(w, "--print") ||
				isOption(w) && !strings.HasPrefix(w, "--") && strings.ContainsAny(w, "ceErp")
		}
		if inline {
			v.hide("code for " + base)
		}
	case base == "git" && slices.ContainsFunc(args, func(w string) bool {
		return strings.HasPrefix(w, "-c") || strings.HasPrefix(w, "--config") || strings.HasPrefix(w, "--exec-path")
	}):
		v.hide("git with its own configuration")
	}
}

// leads says whether a word stands before a command and leaves it one.
func leads(w string) bool {
	switch w {
	case "{", "}", "!", "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "coproc":
		return true
	}
	return false
}

func assigns(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	name = strings.TrimSuffix(name, "+")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_[]") == ""
}

func baseName(w string) string {
	return strings.ToLower(w[strings.LastIndexByte(w, '/')+1:])
}
