package compact

import "varve/internal/session"

// The routes of a compaction (CMP-13).
const (
	OneShot   = "one_shot"
	MapReduce = "map_reduce"
	Native    = "native" // an operation of the agent's own API kind, that gives an opaque item (PRV-9)
)

// Route is the way that a compaction begins. A list of summarizers is asked by
// text; without one the agent's own model does what its kind has of its own.
// Such an operation reads the items as the model had them: where some are
// masked, they are read by text in full (SUM-10).
func Route(own, native, masked bool) string {
	if own && native && !masked {
		return Native
	}
	return OneShot
}

// Opaque reports whether the checkpoint is native to the provider: whoever reads
// a transcript can't read it, and would leave out all that it stands for.
func Opaque(v session.View) bool {
	it, ok := v.Checkpoint()
	return ok && it.Text.Encoding != ""
}

// FinishedNative judges the end of a native operation: "" if it is evidence,
// else why it is none. Success is its own end with exactly one item (PRV-5).
func FinishedNative(class string, items, calls int) string {
	switch {
	case calls > 0:
		return "tool_call"
	case class != "compaction":
		return class
	case items != 1:
		return "no_item"
	}
	return ""
}

// unsupported reports whether the operation is not offered there, as the
// provider itself said: the same model is asked by text (PRV-9).
func unsupported(c session.Compacting) bool {
	for _, t := range c.Tries {
		if t.Unit == Native && t.Error != nil && t.Error.Kind == "unsupported" {
			return true
		}
	}
	return false
}
