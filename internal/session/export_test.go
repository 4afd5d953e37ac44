package session

// ScanLoose is the reader of lines that are not in the canonical form.
var ScanLoose = scanLoose

// Must reports whether lines of this name carry "must".
func Must(name string) bool {
	k, ok := kindOf(name)
	return ok && k.must
}
