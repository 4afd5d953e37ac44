// Package harness runs one session on this machine.
//
// One goroutine per driven branch, the loop, compares the work the session
// wants with the work that is running, starts what is missing and stops what
// is no longer wanted. Everyone else sends it commands, sends it results, or
// reads the log.
//
//	Submit ----> commands --\
//	                         loop --record--> log --> Follow
//	jobs ------> results  --/
//
//	session.go  one file: its log, its fold, its blobs; the only writer
//	record.go   facts -> bytes: content first, then the line, then the effect
//	loop.go     the loop
//	pulse.go    what passes: text so far, countdowns
//	finish.go   what came of jobs, and what waits for the log to work again
//	follow.go   readers, and what other processes append
//	hold.go     the run lock
//	operate.go, replace.go, repair.go, purge*.go  what is done to a session that nobody works on
//	census.go, collect.go  what sessions refer to, and what goes
//	discover.go, speak.go, hands.go, plan.go  the runners
package harness
