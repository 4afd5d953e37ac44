package compact

import "bytes"

// Finished judges a reply of a summarizer, whoever spoke and whatever for
// (FIN-1): "" if it is evidence, else why it is none. class is how the stream
// ended; calls counts its tool calls, which are never run.
func Finished(class string, calls int, text []byte) string {
	switch {
	case calls > 0:
		return "tool_call"
	case class != "natural":
		return class
	case len(bytes.TrimSpace(text)) == 0:
		return "empty"
	}
	return ""
}
