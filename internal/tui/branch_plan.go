package tui

import (
	"fmt"
	"strings"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/words"
)

// A FilePlan is what is done to files: as it would be done, or as it was.
type FilePlan struct {
	To       drive.FilesTo
	Restore  session.Seq      // the event that recorded it, 0 for none
	Steps    []drive.FileStep // by path, as a person would write it
	Commands int              // commands that ran in what is taken back: their changes are not
	There    bool             // the conversation is there already: a revert was taken back, and nothing was done since
	Fault    string           // why it is not known what would be done to files, "" where it is
}

// A FilesBack asks that a restore of files is taken back.
type FilesBack struct {
	Branch  string // that records it
	Restore session.Seq
}

// Of is the branch that it is recorded on.
func (o FilesBack) Of() string { return o.Branch }

// A Restore is a restore of files that can be taken back.
type Restore struct {
	Plan         session.Seq
	Branch       string
	When, Age    string
	Of           string // when the restore was that it took back, "" for none
	Done, Failed int    // files
	Finished     bool   // its process lived to say what was done
	Back         bool   // another one took it back
}

func (x Restore) title(here string) string {
	s := "files of " + x.When + ": "
	if x.Of != "" {
		s += "those of " + x.Of + " taken back, "
	}
	s += fmt.Sprintf("%d restored", x.Done)
	switch {
	case !x.Finished:
		s = "files of " + x.When + ": it broke off, what it did is seen on the disk"
	case x.Failed > 0:
		s += fmt.Sprintf(", %d not", x.Failed)
	}
	if x.Branch != here {
		s += " (in " + x.Branch + ")"
	}
	return s
}

func (x Restore) note() string {
	if x.Back {
		return "taken back"
	}
	return x.Age
}

// changes are the files that are written or deleted, left those that are not.
func (p FilePlan) changes() (changes, left []drive.FileStep) {
	for _, f := range p.Steps {
		if f.Act == drive.LeaveFile {
			left = append(left, f)
		} else {
			changes = append(changes, f)
		}
	}
	return changes, left
}

// leftNamed is how many files a notice names that were left alone.
const leftNamed = 3

// done is the sentence of what was done.
func (p FilePlan) done() string {
	changes, left := p.changes()
	var s string
	switch {
	case len(changes) == 0 && len(left) == 0:
		return "No file has to be changed."
	case len(changes) == 0:
		s = words.Count(len(left), "file") + " left alone"
	case len(left) == 0:
		return words.Count(len(changes), "file") + " restored."
	default:
		s = fmt.Sprintf("%s restored, %d left alone", words.Count(len(changes), "file"), len(left))
	}
	var names []string
	for _, f := range left[:min(len(left), leftNamed)] {
		names = append(names, words.OneLine(f.Path)+" ("+words.OneLine(f.Why)+")")
	}
	if n := len(left) - leftNamed; n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return s + ": " + strings.Join(names, ", ") + "."
}

// commands is the sentence of what can't be taken back, "" for nothing.
func (p FilePlan) commands() string {
	if p.Commands == 0 {
		return ""
	}
	return words.Count(p.Commands, "command") + " in what is taken back may have changed more than was recorded: that is not taken back."
}

// verb is what is done to a file, as the conversation says afterwards that it was.
func verb(f drive.FileStep) string {
	switch {
	case f.Act != drive.WriteFile:
		return f.Act
	case f.Have == "":
		return "create"
	}
	return "modify"
}

// list is a line for each file.
func (p FilePlan) list() string {
	var b strings.Builder
	for _, f := range p.Steps {
		fmt.Fprintf(&b, "\n%s %s", verb(f), words.OneLine(f.Path))
		if f.Act == drive.LeaveFile {
			b.WriteString(": " + words.OneLine(f.Why))
		}
	}
	return b.String()
}
