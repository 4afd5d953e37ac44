// Package eval plays one kept trace through every way of making a context
// short, and counts what survives (EVAL-1).
//
// The trace is a session file; each path gets the same bytes of it, the real
// harness and adapter, and a provider on loopback that speaks HTTP and SSE.
// What is scripted is what the models say. So the figures prove transport:
// which items reached which request, in which order, and what stood in the
// request behind. They say nothing of what a model would have kept.
package eval
