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

// footKeys are in the order in which a narrow foot keeps them.
func (b *browser) footKeys() []footKey {
	tree, folders := "tree", "all folders"
	if b.tree != nil {
		tree = "all sessions"
	}
	if b.all {
		folders = "this folder"
	}
	keys := []footKey{
		{ActChoose, "open"},
		{ActClose, "close"},
		{ActBrowseTree, tree},
		{ActBrowseFork, "fork"},
		{ActBrowseRevert, "revert"},
		{ActBrowseRollback, "rollback"},
		{ActBrowseRename, "rename"},
		{ActBrowseExport, "export"},
		{ActBrowseDelete, "delete"},
	}
	if b.tree == nil {
		keys = append(keys, footKey{ActBrowseFolders, folders}, footKey{ActBrowseSort, "sort"})
	}
	return append(keys, footKey{ActBrowsePreview, "preview"}, footKey{ActPeekUp, "scroll it"})
}
