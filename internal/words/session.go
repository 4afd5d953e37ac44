package words

// Listed is the title of a session or a branch in a list of them, with what is to
// be known of it first: of its turn, if that has no end, and why not all of it can
// be read; both are "" otherwise.
func Listed(title, turn, damage string) string {
	if damage != "" {
		title = "(damaged: " + damage + ") " + title
	}
	if turn != "" {
		title = "(" + turn + ") " + title
	}
	return title
}
