// Package setup reads, checks and saves setup.json.
//
// A setup.json is read as a document (document.go), its scalars go up a ladder of
// sources (scalars.go), its maps and lists are decoded with the case and the dots that
// the user gave them (decode.go), and it is changed by splicing the bytes of one value
// (splice.go) under a lock (draft.go). Keys and commands are looked at last, just
// before I/O (key.go).
//
// What may be relied on:
//
//   - Load always returns settings that can run. A file that can't be parsed is a Fault,
//     the defaults run, and nothing is ever saved over it (CFG-2).
//   - A value that is nonsense is a Problem that names its key; the value beneath it runs.
//   - No secret is in any error, Problem or Origin.
package setup
