package tools

import "golang.org/x/sys/unix"

// searchDir opens a folder to pass through it.
const searchDir = unix.O_RDONLY

// renameNew renames a file to a name that must not exist yet.
func renameNew(dir int, from, to string) error {
	return unix.RenameatxNp(dir, from, dir, to, unix.RENAME_EXCL)
}
