// Package session is the language of the log: the events a session records
// and the state they add up to.
//
// It does no I/O, starts no goroutine and reads no clock. Two callers that
// hold the same entries hold the same state, which is what lets the terminal,
// a test and a hosted workflow share this package.
//
// An event has two halves. Facts (sizes, ids, hashes, enums, short names)
// stand in a line's data and are all that a fold reads; texts stand in its
// body and are read where they are shown or sent (LOG-12).
package session
