package tui

// An Action is what a key does. Its name is the one that setup.json's appearance.keys uses.
type Action string

// The actions. Their keys and words are in bindings; nothing else in this room names a key.
const (
	ActSend           Action = "send"
	ActNewline        Action = "newline"
	ActSteer          Action = "steer"
	ActInterrupt      Action = "interrupt"
	ActMessageActions Action = "message_actions"
	ActClear          Action = "clear"
	ActQuit           Action = "quit"
	ActQuitEmpty      Action = "quit_empty"
	ActEditQueued     Action = "edit_queued"
	ActMode           Action = "mode"
	ActModels         Action = "models"
	ActReasoning      Action = "reasoning"
	ActSessions       Action = "sessions"
	ActSettings       Action = "settings"
	ActPalette        Action = "palette"
	ActHelp           Action = "help"
	ActEditor         Action = "editor"
	ActPlan           Action = "plan"
	ActExpand         Action = "expand"
	ActRedraw         Action = "redraw"
	ActSuspend        Action = "suspend"
	ActDismiss        Action = "dismiss"
	ActSumAgain       Action = "summarize_again"
	ActSumModels      Action = "summarize_models"
	ActSumWithout     Action = "summarize_without"

	ActScrollUp     Action = "scroll_up"
	ActScrollDown   Action = "scroll_down"
	ActScrollLineUp Action = "scroll_line_up"
	ActScrollLineDn Action = "scroll_line_down"
	ActScrollTop    Action = "scroll_top"
	ActScrollBottom Action = "scroll_bottom"

	ActUp            Action = "up"
	ActDown          Action = "down"
	ActLeft          Action = "left"
	ActRight         Action = "right"
	ActWordLeft      Action = "word_left"
	ActWordRight     Action = "word_right"
	ActLineStart     Action = "line_start"
	ActLineEnd       Action = "line_end"
	ActTextStart     Action = "text_start"
	ActTextEnd       Action = "text_end"
	ActDeleteBack    Action = "delete_back"
	ActDeleteForward Action = "delete_forward"
	ActDeleteWordBk  Action = "delete_word_back"
	ActDeleteWordFw  Action = "delete_word_forward"
	ActKillToEnd     Action = "kill_to_end"
	ActKillToStart   Action = "kill_to_start"
	ActYank          Action = "yank"
	ActUndo          Action = "undo"
	ActRedo          Action = "redo"
	ActHistorySearch Action = "history_search"
	ActExpandPaste   Action = "expand_paste"
	ActComplete      Action = "complete"

	ActOfferNext  Action = "offer_next"
	ActOfferPrev  Action = "offer_previous"
	ActOfferTake  Action = "offer_take"
	ActOfferEnter Action = "offer_enter"
	ActOfferClose Action = "offer_close"

	ActSearchOlder  Action = "search_older"
	ActSearchNewer  Action = "search_newer"
	ActSearchTake   Action = "search_take"
	ActSearchCancel Action = "search_cancel"

	ActListUp     Action = "list_up"
	ActListDown   Action = "list_down"
	ActListPageUp Action = "list_page_up"
	ActListPageDn Action = "list_page_down"
	ActListFirst  Action = "list_first"
	ActListLast   Action = "list_last"
	ActChoose     Action = "choose"
	ActClose      Action = "close"
	ActRemove     Action = "remove"
	ActMoveUp     Action = "move_up"
	ActMoveDown   Action = "move_down"
	ActFavourite  Action = "favourite"
)

// Where says where a key was pressed, or where a binding holds. The place is one of the first group (a binding may hold
// in several); what follows narrows it, and a binding holds only where all of its own are true. Of the bindings of a key
// that hold, the narrowest acts.
type Where uint16

const (
	InChat    Where = 1 << iota // the composer has the keys
	InOffer                     // and offers completions
	InSearch                    // and searches the history
	InList                      // an overlay with rows, perhaps with a line to filter them
	InView                      // an overlay or screen that only scrolls
	InBrowser                   // the session browser, before InList
	InRead                      // the transcript as a screen

	WhenEmpty   // nothing is written
	WhenWorking // a turn runs
	WhenAgain   // the same key was just pressed

	places = InChat | InOffer | InSearch | InList | InView | InBrowser | InRead
	typing = InChat | InOffer
)

// A binding is one row of the key table. An action may have several rows, the first has its words.
type binding struct {
	Action Action
	Keys   []string
	Where  Where
	Group  string // of help and docs
	Says   string
	Later  bool // its engine does not stand yet
}

// bindings is the table of keys (TUI-12): help, palette, docs/keys.md and Keymap are made from it. A key is written as
// Bubble Tea names it.
func bindings() []binding {
	b := func(group string, a Action, w Where, says string, keys ...string) binding {
		return binding{Action: a, Keys: keys, Where: w, Group: group, Says: says}
	}
	const chat, write, scroll, offer, find, list, browse = "Conversation", "Writing", "Scrolling", "Completion", "History search", "Lists", "Session browser"
	return append([]binding{
		b(chat, ActSend, InChat, "send; while the agent works, the message waits in the queue", "enter"),
		b(chat, ActNewline, typing, `begin a new line (also \ and then Enter)`, "ctrl+j", "shift+enter", "alt+enter"),
		b(chat, ActSteer, typing|WhenWorking, "while the agent works: send into the running turn", "alt+enter"),
		b(chat, ActInterrupt, InChat, "interrupt the turn", "esc"),
		b(chat, ActMessageActions, InChat|WhenAgain, "act on a message: copy, revert, fork", "esc"),
		b(chat, ActClear, typing, "clear what is written; it stays in the history", "ctrl+c"),
		b(chat, ActQuit, typing|WhenAgain, "quit; once more where that asks first", "ctrl+c"),
		b(chat, ActQuitEmpty, InChat|WhenEmpty, "quit, where nothing is written", "ctrl+d"),
		b(chat, ActEditQueued, InChat, "take the newest queued message back to edit it", "alt+up"),
		b(chat, ActQueue, InChat, "the messages that wait: edit, move, remove", "alt+q"),
		b(chat, ActMode, InChat, "next permission mode", "shift+tab"),
		b(chat, ActModels, InChat, "choose a model", "alt+p"),
		b(chat, ActReasoning, InChat, "choose how much the model thinks", "alt+t"),
		b(chat, ActSessions, InChat, "sessions", "ctrl+s"),
		b(chat, ActSettings, InChat, "settings", "ctrl+,"),
		b(chat, ActPalette, typing, "find an action or a command", "ctrl+p"),
		b(chat, ActHelp, InChat|WhenEmpty, "this help (? where nothing is written)", "?"),
		b(chat, ActHelp, typing, "", "f1"),
		b(chat, ActEditor, typing, "write in your editor", "ctrl+g"),
		b(chat, ActPlan, InChat|InView, "show or hide the plan", "ctrl+t"),
		b(chat, ActExpand, InChat|InView|InRead, "the transcript: everything in full, search, copy", "ctrl+o"),
		b(chat, ActDismiss, typing, "hide the newest notice; /toasts has them all", "alt+x"),
		b(chat, ActSumAgain, InChat, "after a failed summary, while its notice stands: try again", "alt+1"),
		b(chat, ActSumModels, InChat, "after a failed summary: the summarization models", "alt+2"),
		b(chat, ActSumWithout, InChat, "after a failed summary: go on without", "alt+3"),
		b(chat, ActRedraw, places, "draw the screen again", "ctrl+l"),
		b(chat, ActSuspend, places, "suspend; fg brings it back", "ctrl+z"),

		b(scroll, ActScrollUp, InChat, "a page up", "pgup"),
		b(scroll, ActScrollDown, InChat, "a page down", "pgdown"),
		b(scroll, ActScrollLineUp, InChat, "a line up", "ctrl+up", "shift+up"),
		b(scroll, ActScrollLineDn, InChat, "a line down", "ctrl+down", "shift+down"),
		b(scroll, ActScrollTop, InChat, "to the beginning", "ctrl+home"),
		b(scroll, ActScrollTop, InChat|WhenEmpty, "", "home"),
		b(scroll, ActScrollBottom, InChat, "to the end, and follow it", "ctrl+end"),
		b(scroll, ActScrollBottom, InChat|WhenEmpty, "", "end"),

		b(write, ActUp, InChat, "a row up; at the first row, earlier messages that begin with what is written", "up"),
		b(write, ActDown, InChat, "a row down; at the last row, later messages", "down"),
		b(write, ActHistorySearch, InChat, "search in earlier messages", "ctrl+r"),
		b(write, ActExpandPaste, typing, "show the text of a paste at or before the cursor", "alt+o"),
		b(write, ActComplete, InChat, "complete the word at the cursor (@file, /command)", "tab"),
		b(write, ActUndo, typing, "undo", "ctrl+_", "alt+z"),
		b(write, ActRedo, typing, "redo", "alt+r"),
		b(write, ActLeft, typing|InList, "left", "left", "ctrl+b"),
		b(write, ActRight, typing|InList, "right", "right", "ctrl+f"),
		b(write, ActWordLeft, typing|InList, "a word left", "alt+left", "ctrl+left", "alt+b"),
		b(write, ActWordRight, typing|InList, "a word right", "alt+right", "ctrl+right", "alt+f"),
		b(write, ActLineStart, typing, "to the start of the row", "ctrl+a", "home"),
		b(write, ActLineEnd, typing, "to the end of the row", "ctrl+e", "end"),
		b(write, ActTextStart, typing, "to the start of the text", "alt+<"),
		b(write, ActTextEnd, typing, "to the end of the text", "alt+>"),
		b(write, ActDeleteBack, typing|InList|InSearch, "delete the character before the cursor; a paste goes as one", "backspace", "ctrl+h", "shift+backspace"),
		b(write, ActDeleteForward, typing, "delete the character at the cursor", "delete", "ctrl+d"),
		b(write, ActDeleteWordBk, typing|InList|InSearch, "delete the word before the cursor", "ctrl+w", "alt+backspace", "ctrl+backspace"),
		b(write, ActDeleteWordFw, typing, "delete the word after the cursor", "alt+d", "alt+delete", "ctrl+delete"),
		b(write, ActKillToEnd, typing, "cut to the end of the line", "ctrl+k"),
		b(write, ActKillToStart, typing|InList|InSearch, "cut to the start of the line", "ctrl+u"),
		b(write, ActYank, typing, "put in what was cut last", "ctrl+y"),

		b(offer, ActOfferNext, InOffer, "next", "down", "ctrl+n"),
		b(offer, ActOfferPrev, InOffer, "previous", "up"),
		b(offer, ActOfferTake, InOffer, "take it", "tab"),
		b(offer, ActOfferEnter, InOffer, "take it; a command that needs no words is run", "enter"),
		b(offer, ActOfferClose, InOffer, "close", "esc"),

		b(find, ActSearchOlder, InSearch, "an older match", "ctrl+r", "up"),
		b(find, ActSearchNewer, InSearch, "a newer match", "ctrl+s", "down"),
		b(find, ActSearchTake, InSearch, "take it to edit", "enter", "tab"),
		b(find, ActSearchCancel, InSearch, "back to what was written", "esc", "ctrl+g", "ctrl+c"),

		b(list, ActListUp, InList|InView, "up", "up", "ctrl+p"),
		b(list, ActListDown, InList|InView, "down", "down", "ctrl+n"),
		b(list, ActListPageUp, InList|InView, "a page up", "pgup"),
		b(list, ActListPageDn, InList|InView, "a page down", "pgdown"),
		b(list, ActListFirst, InList|InView, "first", "home", "ctrl+home"),
		b(list, ActListLast, InList|InView, "last", "end", "ctrl+end"),
		b(list, ActChoose, InList, "choose", "enter"),
		b(list, ActClose, InList|InView, "close", "esc", "ctrl+c"),
		b(list, ActRemove, InList, "remove the entry, where that can be done", "delete"),
		b(list, ActMoveUp, InList, "move the entry up, where that can be done", "alt+up"),
		b(list, ActMoveDown, InList, "move the entry down, where that can be done", "alt+down"),
		b(list, ActFavourite, InList, "make a model a favourite, and back", "alt+s"),

		b(browse, ActBrowseTree, InBrowser, "the branches of the session; again: all sessions", "alt+t"),
		b(browse, ActBrowsePreview, InBrowser, "show or hide what was said there", "tab"),
		b(browse, ActPeekUp, InBrowser, "scroll that up", "shift+up", "ctrl+up"),
		b(browse, ActPeekDown, InBrowser, "scroll that down", "shift+down", "ctrl+down"),
		b(browse, ActBrowseFork, InBrowser, "fork: a new branch from there, before a message", "alt+f"),
		b(browse, ActBrowseRevert, InBrowser, "revert: go back to before a message", "alt+r"),
		b(browse, ActBrowseRollback, InBrowser, "rollback: take a revert back, or a restore of files", "alt+b"),
		b(browse, ActBrowseRename, InBrowser, "give a session or a branch a title", "alt+n", "f2"),
		b(browse, ActBrowseExport, InBrowser, "write the branch to a file", "alt+e"),
		b(browse, ActBrowseDelete, InBrowser, "delete the branch; it is asked first", "delete"),
		b(browse, ActBrowseFolders, InBrowser, "sessions of all folders; again: of this one", "alt+a"),
		b(browse, ActBrowseSort, InBrowser, "another order: newest, largest, most messages, title", "alt+s"),
		b(browse, ActBrowseKeys, InBrowser, "the next keys in the foot, where not all have room", "f1"),
	}, readBindings()...)
}
