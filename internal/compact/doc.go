// Package compact decides how a long context becomes a short one.
//
// It plans and judges; it never calls a model. Progress is the session's:
// [session.Compacting] and [session.Staging], folded from the log, so no file
// here keeps state, and going on after a crash is the same call as going on.
// Read it in the order in which a compaction runs:
//
//	trigger.go  should one start?                     state            -> yes or no
//	plan.go     what is covered, what stays raw?      view, budget     -> Cut
//	fit.go      does a request fit this window?       sizes            -> yes or no
//	pack.go     whole items in groups                 items, target    -> segments
//	next.go     which work is missing?                staging          -> units
//	chain.go    who is asked next, and when?          tries            -> entry, wait, spent
//	finish.go   did the model really finish?          reply            -> reason
//	reread.go   which raw items does a reducer want?  text             -> ranges
//	handoff.go  is it a handoff? what is added to it? text, facts      -> text
//	commit.go   does the view that it makes fit?      sizes            -> reason
//	render.go   what is the summarizer asked?         unit, texts      -> prompt
//	report.go   what fills the window, what would be? state, askers    -> report
package compact
