package tools

import "golang.org/x/sys/unix"

// searchDir opens a folder that may be passed through but not listed.
const searchDir = unix.O_PATH

// renameNew renames a file to a name that must not exist yet.
func renameNew(dir int, from, to string) error {
	return unix.Renameat2(dir, from, dir, to, unix.RENAME_NOREPLACE)
}
