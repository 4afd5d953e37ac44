package permit

import (
	"fmt"
	"slices"
	"strings"
)

// A Mode is how much runs without a question (PERM-1).
type Mode string

const (
	ModeAsk  Mode = "ask"  // reads in the workspace are free
	ModeEdit Mode = "edit" // and so are writes of files there
	ModeFull Mode = "full" // everything but what PERM-4 keeps
)

// ParseMode reads a mode's name.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case ModeAsk, ModeEdit, ModeFull:
		return m, nil
	}
	return "", fmt.Errorf("%q is not one of ask, edit, full", s)
}

// An Effect is something a call does to the world.
type Effect string

const (
	Read  Effect = "read"
	Write Effect = "write"
	Exec  Effect = "exec"
	Net   Effect = "net"
)

// A Call is what is judged. Its facts are the caller's: paths are resolved (links, ..,
// the last component too) before they come here (PERM-4).
type Call struct {
	Tool    string
	Effects []Effect // none: it touches nothing outside the session
	Paths   []Path   // files and folders, each of which it may read or write by its effects
	Command string   // of a call with Exec: the whole text that a shell gets
	Host    string   // of a call with Net, without port
	Root    string   // the workspace, absolute and resolved
}

// A Path is one file or folder of a call, slash-separated.
type Path struct {
	Name      string // as the model wrote it
	Real      string // absolute, where it really leads
	Inside    bool   // Real is the workspace or below it
	Protected bool   // Varve's own config, credentials or sessions
}

// A Verdict is the judgement: the rule that decided, if one did, and a reason for people.
type Verdict struct {
	Decision Decision
	Rule     *Rule
	Why      string
}

func (c Call) has(e Effect) bool { return slices.Contains(c.Effects, e) }

// only says whether the call does nothing but these.
func (c Call) only(effects ...Effect) bool {
	for _, e := range c.Effects {
		if !slices.Contains(effects, e) {
			return false
		}
	}
	return true
}

// Judge says whether a call runs. The first of these that speaks decides:
//
//  1. A write to what is Varve's own is denied (PERM-4).
//  2. A deny rule that is seen in the call denies it.
//  3. A path outside the workspace asks, in every mode and against every rule (PERM-4); so
//     does reading what is Varve's own.
//  4. A deny rule that may be hidden in the call makes it ask (PERM-3).
//  5. Allow rules allow it, each of its paths or its whole command.
//  6. The mode says (PERM-1).
func Judge(c Call, mode Mode, rules []Rule) Verdict {
	for _, p := range c.Paths {
		if p.Protected && !c.only(Read, Net) {
			return Verdict{Deny, nil, p.Name + " belongs to Varve itself and is never written by a tool"}
		}
	}
	var seen view
	if c.Command != "" {
		seen = look(c.Command)
	}
	var doubt *Verdict
	for i, r := range rules {
		if r.Effect != Deny {
			continue
		}
		switch s, what := r.sees(c, seen); s {
		case yes:
			return Verdict{Deny, &rules[i], "the rule " + r.String() + " forbids it"}
		case maybe:
			if doubt == nil {
				doubt = &Verdict{Ask, &rules[i], what + " may hide what the rule " + r.String() + " forbids"}
			}
		}
	}
	for _, p := range c.Paths {
		switch {
		case p.Protected:
			return Verdict{Ask, nil, p.Name + " belongs to Varve itself"}
		case !p.Inside:
			return Verdict{Ask, nil, p.Name + " is outside the workspace"}
		}
	}
	if doubt != nil {
		return *doubt
	}
	if r := allowed(c, rules); r != nil {
		return Verdict{Allow, r, "the rule " + r.String() + " allows it"}
	}
	switch {
	case mode == ModeFull:
		return Verdict{Allow, nil, "mode full"}
	case len(c.Effects) == 0:
		return Verdict{Allow, nil, "it touches nothing outside the session"}
	case c.only(Read):
		return Verdict{Allow, nil, "it reads in the workspace"}
	case mode == ModeEdit && c.only(Read, Write) && len(c.Paths) > 0:
		return Verdict{Allow, nil, "it edits in the workspace, mode edit"}
	case c.Command != "":
		if _, why := simple(c.Command); why != "" && slices.ContainsFunc(rules, func(r Rule) bool { return r.Effect == Allow && r.allowing(c) }) {
			return Verdict{Ask, nil, "no allow rule applies to a command that has " + why}
		}
		return Verdict{Ask, nil, "commands ask"}
	}
	return Verdict{Ask, nil, "no rule allows it, and mode " + string(mode) + " asks"}
}

// sees looks for what a deny rule forbids.
func (r Rule) sees(c Call, v view) (sight, string) {
	if r.forbidding(c) {
		if r.Pattern == "" {
			return yes, ""
		}
		if c.Command != "" {
			switch s := v.forbids(r.Pattern); {
			case s == yes:
				return yes, ""
			case s == maybe:
				return maybe, "the command"
			case v.hidden != "":
				return maybe, v.hidden
			}
			return no, ""
		}
		for _, p := range c.Paths {
			if p.denies(r.Pattern, c.Root) {
				return yes, ""
			}
		}
		if c.Host != "" && matchHost(r.Pattern, c.Host) {
			return yes, ""
		}
		return no, ""
	}
	if c.Command == "" || r.Tool != "read" && r.Tool != "edit" && r.Tool != "write" {
		return no, ""
	}
	// A rule about files, and a command, which may use files. A word that names one may
	// be read or written: only a rule against reading is sure.
	if r.Pattern == "" {
		return maybe, "a command"
	}
	seen := v.touches(r.Pattern)
	for _, p := range c.Paths {
		if p.denies(r.Pattern, c.Root) {
			seen = yes
		}
	}
	switch {
	case seen == yes && r.Tool == "read":
		return yes, ""
	case seen != no:
		return maybe, "the command"
	case v.hidden != "":
		return maybe, v.hidden
	}
	return no, ""
}

// allowed is the rule that allows the call; for several paths, the one for the last.
func allowed(c Call, rules []Rule) *Rule {
	var by *Rule
	find := func(fits func(Rule) bool) bool {
		for i, r := range rules {
			if r.Effect == Allow && r.allowing(c) && (r.Pattern == "" || fits(r)) {
				by = &rules[i]
				return true
			}
		}
		return false
	}
	switch {
	case c.Command != "":
		words, not := simple(c.Command)
		find(func(r Rule) bool {
			pat, why := plain(r.Pattern)
			return not == "" && why == "" && matchWords(pat, words, narrow)
		})
	case len(c.Paths) > 0:
		for _, p := range c.Paths {
			if !find(func(r Rule) bool { return p.allows(r.Pattern, c.Root) }) {
				return nil
			}
		}
	default:
		find(func(r Rule) bool { return c.Host != "" && matchHost(r.Pattern, c.Host) })
	}
	return by
}

// matchHost compares host names; * is any characters.
func matchHost(pattern, host string) bool {
	fold := func(s string) string { return strings.ToLower(strings.TrimSuffix(s, ".")) }
	return matchName(fold(pattern), fold(host))
}
