// Package tools does on this machine what the model asked for.
//
// A call passes two gates. Plan reads and judges: which files, which command, what a person would be shown. Run looks
// again, refuses when that is no longer what was judged, and only then acts. Both answer every mistake of the model
// with a result in words; an error never leaves this room (TOOL-1), and neither does a panic (REL-7).
//
//	table.go    the tools: names, arguments, words for the model, in one frozen order
//	args.go     JSON arguments against the table, aliases, what is wrong and where
//	box.go      Box: Plan and Run, one Box per session
//	path.go     where a name really leads (PERM-4)         openat.go  opening exactly that, and nothing a race put there
//	shown.go    what an approval prompt shows (SEC-11)     bound.go   results are bounded once (TOOL-2)
//	document.go text, BOM and line endings of a file       edit.go    exact and whitespace-insensitive replacement
//	store.go    write to a temporary file, sync, rename (TOOL-3)
//	media.go    pictures and PDFs, kept and named (MED-1)
//	bash.go     commands in the foreground                 job.go     and in the background
//	proc.go     one process group and its one pipe         capture.go the bounded memory of what it printed
//	walk.go     folders under .gitignore, for grep.go, glob.go, ls.go
package tools
