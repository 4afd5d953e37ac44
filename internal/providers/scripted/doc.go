// Package scripted plays a model provider over real HTTP, as a script says.
//
// A [Server] listens on loopback. It answers either from a [Scenario] (a text file; docs/scripted.md is the reference of
// the format) or from a Go [Handler], and it logs every request. It behaves like a strict vendor unless told otherwise:
// a request that the vendor would refuse gets the vendor's status, text and body shape (wire.md §6.2).
//
// The map of the room:
//
//	scenario.go, expect.go   what a file says: replies, steps, expectations
//	lex.go, parse.go         text -> Scenario
//	step.go                  one instruction of a reply, and its Go constructors
//	program.go, chat.go      steps -> bytes and pauses, made once, before serving
//	server.go, play.go       HTTP: choose a reply, play its program
//	request.go, prefix.go    what came in, and what it shares with the request before
//	strict.go, vendor.go     what a vendor refuses, and in which words
package scripted
