// Package openaichat speaks Chat Completions, as OpenAI and those who imitate it do.
//
// A view becomes one JSON body (encode.go walks, message.go writes, check.go
// mirrors what vendors refuse), a stream becomes a reply (send.go reads,
// stream.go and calls.go put together, finish.go judges). What differs between
// servers is data: profile.go, and the quirks that an endpoint has shown.
package openaichat

import (
	"fmt"

	"github.com/tidwall/gjson"

	"varve/internal/providers"
	"varve/internal/session"
)

// API is the kind's name in models and in the log.
const API = "openai-chat"

// The encodings of native material (CAS-1). What follows the slash is the
// field of the message that it came in.
const (
	encodingPrefix  = API + "/"
	encodingMessage = API + "/message"
	encodingDetails = API + "/reasoning_details"
	encodingParts   = API + "/content" // Mistral: parts of type thinking
)

// Adapter is the adapter of this kind. Its zero value is ready to use.
type Adapter struct{}

var _ providers.Adapter = Adapter{}

// API returns "openai-chat".
func (Adapter) API() string { return API }

// Tools renders definitions as a JSON list, in the order given.
func (Adapter) Tools(specs []providers.ToolSpec) ([]byte, error) {
	out := []byte{'['}
	for i, s := range specs {
		if !gjson.ValidBytes(s.Schema) || !gjson.ParseBytes(s.Schema).IsObject() {
			return nil, fmt.Errorf("tool %s: its schema is no JSON object", s.Name)
		}
		if !validName(s.Name) {
			return nil, fmt.Errorf("tool %q: want a name of 1 to 64 letters, digits, _ and -", s.Name)
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"type":"function","function":{"name":`...)
		out = session.AppendQuoted(out, []byte(s.Name))
		out = append(out, `,"description":`...)
		out = session.AppendQuoted(out, []byte(s.Description))
		out = append(out, `,"parameters":`...)
		out = append(out, s.Schema...)
		out = append(out, "}}"...)
	}
	return append(out, ']'), nil
}

// NewEncoder returns an encoder for one branch.
func (Adapter) NewEncoder() providers.Encoder { return &encoder{kept: map[key]*kept{}} }
