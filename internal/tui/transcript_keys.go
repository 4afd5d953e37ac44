package tui

// The actions of the transcript as a screen, and of what waits.
const (
	ActReadUp       Action = "read_up"
	ActReadDown     Action = "read_down"
	ActReadPageUp   Action = "read_page_up"
	ActReadPageDn   Action = "read_page_down"
	ActReadFirst    Action = "read_first"
	ActReadLast     Action = "read_last"
	ActReadNextItem Action = "read_next_item"
	ActReadPrevItem Action = "read_previous_item"
	ActReadFold     Action = "read_fold"
	ActReadFind     Action = "read_find"
	ActReadOlder    Action = "read_older_match"
	ActReadNewer    Action = "read_newer_match"
	ActReadCopy     Action = "read_copy"
	ActReadCode     Action = "read_copy_code"
	ActReadMark     Action = "read_mark"
	ActReadSides    Action = "read_sides"
	ActReadMouse    Action = "read_mouse"
	ActReadHelp     Action = "read_help"
	ActReadClose    Action = "read_close"

	ActQueue Action = "queue"
)

// readBindings are the rows of the key table for the transcript: no text is
// written there, so letters are keys.
func readBindings() []binding {
	b := func(a Action, says string, keys ...string) binding {
		return binding{Action: a, Keys: keys, Where: InRead, Group: "Transcript", Says: says}
	}
	return []binding{
		b(ActReadFind, "search; case is ignored", "/", "ctrl+f"),
		b(ActReadOlder, "the next match, upwards", "n"),
		b(ActReadNewer, "the match before, downwards", "N"),
		b(ActReadNextItem, "choose the next item", "tab", "]"),
		b(ActReadPrevItem, "choose the item before", "shift+tab", "["),
		b(ActReadFold, "fold or unfold the item", "enter", "o"),
		b(ActReadCopy, "copy the item, or all from the mark on", "c", "y"),
		b(ActReadCode, "copy a code block that is in view; again: the next", "b"),
		b(ActReadMark, "mark the item: what is chosen then is copied with it", "v"),
		b(ActReadSides, "changes side by side, where there is room, or in one column", "d"),
		b(ActReadMouse, "leave the mouse to the terminal, or take it back", "m"),
		b(ActReadUp, "a line up", "up", "k"),
		b(ActReadDown, "a line down", "down", "j"),
		b(ActReadPageUp, "a page up", "pgup", "u"),
		b(ActReadPageDn, "a page down", "pgdown", "space"),
		b(ActReadFirst, "to the very beginning", "home", "g", "ctrl+home"),
		b(ActReadLast, "to the end, and follow it", "end", "G", "ctrl+end"),
		b(ActReadHelp, "this help", "?", "f1"),
		b(ActReadClose, "back to the conversation", "esc", "q", "ctrl+c"),
	}
}
