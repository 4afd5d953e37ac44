package words

// Listed is the title of a session or a branch in a list of them, with what is to
// be known of it first. damage is why not all of it can be read, "" if it can.
func Listed(title string, open bool, damage string) string {
	if damage != "" {
		title = "(damaged: " + damage + ") " + title
	}
	if open {
		title = "(turn left open) " + title
	}
	return title
}
