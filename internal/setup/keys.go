package setup

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A KeyInfo is a key of setup.json, for people who look for one. A segment in capitals
// stands for a name of theirs.
type KeyInfo struct {
	Key, Default, Values, Says string
}

// Keys are all keys, in the order of the schema.
func Keys() []KeyInfo {
	known, err := parse("", schema)
	if err != nil {
		panic("setup: internal error: " + err.Error())
	}
	one := map[string]scalar{}
	for _, c := range (&Setup{}).scalars() {
		one[c.path] = c
	}
	var out []KeyInfo
	var walk func(at Path, rule *node, says string)
	walk = func(at Path, rule *node, says string) {
		if d := rule.get("description"); d != nil && says == "" {
			says = d.text
		}
		if ref := rule.get("$ref"); ref != nil {
			rule = known.at(ParsePath(defPath(ref.text)))
			if d := rule.get("description"); d != nil && says == "" {
				says = d.text
			}
		}
		if c, ok := one[at.String()]; ok {
			out = append(out, KeyInfo{Key: c.path, Default: c.standard(), Values: c.values(), Says: c.says})
			return
		}
		props, names := rule.get("properties"), rule.get("additionalProperties")
		switch {
		case props != nil:
			for _, m := range props.members {
				if m.key != "$schema" {
					walk(at.At(m.key), m.value, "")
				}
			}
		case names != nil && names.kind == '{' && (names.get("$ref") != nil || names.get("type") == nil || names.get("type").text != "object" || names.get("additionalProperties") != nil):
			walk(at.At(placeholder(at)), names, says)
		default:
			k := KeyInfo{Key: at.String(), Default: "none", Values: kindOf(rule), Says: strings.TrimSuffix(says, ".")}
			if d := rule.get("default"); d != nil {
				k.Default = string(schema[d.start:d.end])
			}
			out = append(out, k)
		}
	}
	walk(nil, known, "")
	return out
}

// placeholder is what a name is called that people choose.
func placeholder(at Path) string {
	last := at[len(at)-1]
	switch {
	case last == "keys":
		return "ACTION"
	case len(at) > 1 && at[len(at)-2] == "themes":
		return "ROLE"
	}
	return strings.ToUpper(strings.TrimSuffix(last, "s"))
}

func kindOf(rule *node) string {
	if words := rule.get("enum"); words != nil {
		var out []string
		for _, w := range words.elems {
			out = append(out, w.text)
		}
		return strings.Join(out, ", ")
	}
	kind := rule.get("type")
	switch {
	case kind == nil:
		return "text or a list of texts"
	case kind.kind == '[':
		return fmt.Sprintf("1 to %d, null", MaxTokens)
	case kind.text == "array" && rule.get("items").get("type").text == "object":
		return `a list of {"provider": …, "model": …}`
	case kind.text == "array":
		return "a list of texts"
	case kind.text == "object":
		return "an object"
	case kind.text == "string":
		return "text"
	}
	return kind.text
}

// standard is a scalar's default, as it would stand in the file.
func (c scalar) standard() string {
	switch {
	case c.path == "context.compaction.mode":
		return "omitted"
	case c.nullable:
		return "null"
	}
	b, err := json.Marshal(c.def)
	if err != nil {
		panic("setup: internal error: " + err.Error())
	}
	return string(b)
}

func (c scalar) values() string {
	switch c.field.(type) {
	case *bool:
		return "true, false"
	case **int:
		return fmt.Sprintf("1 to %d, null", MaxTokens)
	}
	if words := slices.DeleteFunc(slices.Clone(c.oneOf), func(w string) bool { return w == "" }); len(words) > 0 {
		return strings.Join(words, ", ")
	}
	return "text"
}

// Nearest is the key that may have been meant, "" where none is near: one that ends in
// the same word, else one that differs in few letters.
func Nearest(key string) string {
	at := ParsePath(key)
	best, least := "", len(key)/3+1
	for _, k := range Keys() {
		p := ParsePath(k.Key)
		for i, seg := range p {
			if seg == strings.ToUpper(seg) && i < len(at) {
				p[i] = at[i] // a name of theirs
			}
		}
		name := p.String()
		if strings.HasSuffix(name, "."+key) {
			return name
		}
		if d := differ(key, name); d < least {
			best, least = name, d
		}
	}
	if best == "" && len(at) > 0 {
		for _, k := range Keys() { // the right word in the wrong place
			if p := ParsePath(k.Key); p[len(p)-1] == at[len(at)-1] && p[len(p)-1] != strings.ToUpper(p[len(p)-1]) {
				return k.Key
			}
		}
	}
	return best
}

// differ is how many letters differ (Levenshtein).
func differ(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		left := row[0]
		row[0] = i + 1
		for j := range y {
			cost := left
			if x[i] != y[j] {
				cost++
			}
			left = row[j+1]
			row[j+1] = min(cost, row[j]+1, left+1)
		}
	}
	return row[len(y)]
}
