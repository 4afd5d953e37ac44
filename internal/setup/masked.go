package setup

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// secretPaths are the places of setup.json that may hold a secret, * for any name: what stands
// there, and below, is one unless it is a reference.
var secretPaths = []Path{
	{"providers", "*", "api_key"},
	{"providers", "*", "headers", "*"},
	{"mcp", "servers", "*", "api_key"},
	{"mcp", "servers", "*", "headers", "*"},
	{"mcp", "servers", "*", "env", "*"},
}

// IsSecret says whether a value there may be a secret.
func IsSecret(at Path) bool {
	for _, s := range secretPaths {
		if len(at) < len(s) {
			continue
		}
		fits := true
		for i, seg := range s {
			fits = fits && (seg == "*" || seg == at[i])
		}
		if fits {
			return true
		}
	}
	return false
}

// Masked is a value of setup.json as it may be shown: in place of each secret stand dots.
// A reference, $NAME or !command, is none, and stays.
func Masked(at Path, value jsontext.Value) jsontext.Value {
	r := reader{value, jsontext.NewDecoder(bytes.NewReader(value))}
	root, err := r.value()
	if err != nil {
		return jsontext.Value(`"` + hidden + `"`)
	}
	var out jsontext.Value
	done := 0
	var walk func(at Path, n *node)
	walk = func(at Path, n *node) {
		for _, m := range n.members {
			walk(at.At(m.key), m.value)
		}
		for _, e := range n.elems {
			walk(at.At(""), e)
		}
		if n.kind != '"' && n.kind != '0' || n.text == "" || !IsSecret(at) {
			return
		}
		_, env := Secret(n.text).variable()
		if _, cmd := Secret(n.text).command(); env || cmd {
			return
		}
		out = append(append(out, value[done:n.start]...), `"`+hidden+`"`...)
		done = n.end
	}
	walk(at, root)
	return append(out, value[done:]...)
}
