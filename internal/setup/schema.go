package setup

import _ "embed"

//go:embed setup.schema.json
var schema []byte

// SchemaURL is the value of "$schema" that a new setup.json may carry; editors resolve it,
// the program never does.
const SchemaURL = "./setup.schema.json"

// Schema is the published JSON Schema (draft 2020-12) of setup.json.
func Schema() []byte { return schema }

// Unknown lists the keys of the user's file that nothing reads: kept by every save, and
// worth a look, because a misspelt key is one of them.
func (s *Setup) Unknown() []Problem { return unknown(s.Path, s.doc) }

// Unknown lists those of the document as it would be saved.
func (d *Draft) Unknown() []Problem { return unknown(d.path, d.doc) }

func unknown(path string, doc []byte) []Problem {
	root, err := parse(path, doc)
	if err != nil {
		return nil
	}
	known, err := parse("", schema)
	if err != nil {
		panic("setup: internal error: " + err.Error())
	}
	f := file{s: &Setup{}, from: FromUser, name: path, doc: doc}
	var walk func(at Path, n, rule *node)
	walk = func(at Path, n, rule *node) {
		if ref := rule.get("$ref"); ref != nil {
			rule = known.at(ParsePath(defPath(ref.text)))
		}
		props, any := rule.get("properties"), rule.get("additionalProperties")
		if props == nil && (any == nil || any.kind != '{') {
			return
		}
		for _, m := range n.members {
			if p := props.get(m.key); p != nil {
				walk(at.At(m.key), m.value, p)
			} else if any != nil && any.kind == '{' {
				walk(at.At(m.key), m.value, any)
			} else {
				f.wrong(at.At(m.key), m.value, "is no setting; it is kept and not read")
			}
		}
	}
	walk(nil, root, known)
	return f.s.Problems
}

// defPath turns "#/$defs/limits" into "$defs.limits".
func defPath(ref string) string {
	out := []byte{}
	for i := 2; i < len(ref); i++ {
		if ref[i] == '/' {
			out = append(out, '.')
		} else {
			out = append(out, ref[i])
		}
	}
	return string(out)
}
