// Package plain makes untrusted text safe for a terminal, and measures and cuts text by what the terminal will show.
//
//	Clean    text for reading: control sequences are gone, invisible characters are shown as escapes
//	Visible  text for judging (approval prompts): every control is shown, nothing is dropped
//	Wrap     words to a width; Fold the same without regard for words; Width and Truncate
//
// Everything that a model, a tool, a file or a server wrote passes through Clean or Visible before it is drawn (SEC-5,
// TUI-9). Output of both holds no control byte but newline, so that no text can drive the terminal.
package plain
