package tui

// The keys of the session browser. Its letters write into the filter, so what it
// does has other keys.

const (
	ActBrowseTree     Action = "browse_tree"
	ActBrowsePreview  Action = "browse_preview"
	ActBrowseFork     Action = "browse_fork"
	ActBrowseRevert   Action = "browse_revert"
	ActBrowseRollback Action = "browse_rollback"
	ActBrowseRename   Action = "browse_rename"
	ActBrowseExport   Action = "browse_export"
	ActBrowseDelete   Action = "browse_delete"
	ActBrowseFolders  Action = "browse_folders"
	ActBrowseSort     Action = "browse_sort"
	ActBrowseKeys     Action = "browse_keys"
	ActPeekUp         Action = "browse_preview_up"
	ActPeekDown       Action = "browse_preview_down"
)

// A footKey is a key in the foot of the browser, and what it does in a word.
type footKey struct {
	act  Action
	says string
}

// A lineKind is what a row of the browser is, for what keys do to it.
type lineKind int

const (
	sessionRow lineKind = iota // or a branch in the list
	limbRow
	messageRow
	checkpointRow
	revertRow
	takenRow // a revert that was taken back
)

func (l browseLine) kind() lineKind {
	switch {
	case l.revert != nil && l.revert.Taken:
		return takenRow
	case l.revert != nil:
		return revertRow
	case l.mark != nil && l.mark.Checkpoint:
		return checkpointRow
	case l.mark != nil:
		return messageRow
	case l.limb != nil:
		return limbRow
	}
	return sessionRow
}

// footKeys are what keys do to a row, in the order in which a narrow foot keeps
// them. What asks first has an ellipsis.
func (b *browser) footKeys(kind lineKind, pane bool) []footKey {
	tree, folders := "tree", "all folders"
	if b.tree != nil {
		tree = "all sessions"
	}
	if b.all {
		folders = "this folder"
	}
	fork, revert, rollback := "fork from its end", "revert…", "take a revert back…"
	switch kind {
	case messageRow:
		fork, revert = "fork before it", "revert to before it"
	case checkpointRow:
		fork = "fork behind it"
	case revertRow:
		fork, rollback = "fork what it left", "take it back"
	case takenRow:
		fork, rollback = "fork what it left", "go there again"
	}
	keys := []footKey{
		{ActChoose, "open"},
		{ActClose, "close"},
		{ActBrowseTree, tree},
		{ActBrowseFork, fork},
		{ActBrowseRevert, revert},
		{ActBrowseRollback, rollback},
		{ActBrowseRename, "rename"},
		{ActBrowseExport, "export"},
	}
	if kind == sessionRow || kind == limbRow {
		keys = append(keys, footKey{ActBrowseDelete, "delete…"})
	}
	if b.tree == nil {
		keys = append(keys, footKey{ActBrowseFolders, folders}, footKey{ActBrowseSort, "sort"})
	}
	if !pane {
		return append(keys, footKey{ActBrowsePreview, "preview"})
	}
	return append(keys, footKey{ActBrowsePreview, "hide the preview"}, footKey{ActPeekUp, "scroll the preview"})
}
