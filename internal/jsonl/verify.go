package jsonl

// A Report is what Verify found.
type Report struct {
	Lines  int      // physical lines that end in LF
	Events int      // those that are events
	Bytes  int64    // of the file
	Piece  int64    // bytes of a last line without LF: not there yet, and no damage
	Damage []Damage // what no repair in the file names, in file order
}

// Bad is the first bad byte, or -1.
func (r Report) Bad() int64 {
	bad := int64(-1)
	for _, d := range r.Damage {
		if bad < 0 || d.Bad < bad {
			bad = d.Bad
		}
	}
	return bad
}

// Verify reads a file from its first byte and checks all that this package can
// know (LOG-4): that each line is JSON, each seq, and each prev. It changes
// nothing. check, if not nil, sees each event, with the File to call Forgive and
// AllowGaps on, and judges what the lines say: ErrUnreadable makes a line damage,
// another error ends the reading.
func Verify(path string, check func(f *File, l Line, raw []byte) error) (Report, error) {
	f, err := Open(path, Options{ReadOnly: true, deep: true})
	if err != nil {
		return Report{}, err
	}
	defer f.Close()
	var r Report
	if r.Bytes, err = f.size(); err != nil {
		return r, err
	}
	err = f.catchUp(r.Bytes, func(l Line, raw []byte) error {
		if check != nil {
			if err := check(f, l, raw); err != nil {
				return err
			}
		}
		r.Events++
		return nil
	})
	r.Lines, r.Piece = f.chain.lines, r.Bytes-f.pos
	r.Damage = f.damage
	return r, err
}
