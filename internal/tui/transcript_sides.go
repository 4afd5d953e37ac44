package tui

func (d *reader) sides() {}
