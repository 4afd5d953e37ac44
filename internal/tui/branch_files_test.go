package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// goesBack is a session of two turns, of which the second can be gone back to, with files
// behind it.
func goesBack(s *stage, files ...[3]string) {
	turn := s.works("first of all")
	s.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
	s.a.branches.turns = []Turn{{Item: 14, Text: "the second"}, {Item: 6, Text: "first of all"}}
	s.a.branches.back = "the second"
	s.a.branches.plan = FilePlan{To: drive.FilesTo{At: 13}, Steps: steps(files...)}
	s.now()
}

var someFiles = [][3]string{{"write", "greet.go"}, {"delete", "cmd/greet/main.go"}, {"leave", "notes.txt", "changed since"}}

// What would be done to files is asked before anything is done. // BRN-8, BRW-3, SES-16
func TestFilesAreAskedFor(t *testing.T) {
	moment(t, "files", "What a revert would do to files, before anything is done: c, f, b, arrows and Enter, Esc; the harmless one is chosen.", Options{}, func(s *stage) {
		goesBack(s, someFiles...)
		s.a.branches.plan.Commands = 2
	}, func(s *stage) {
		s.press("/revert<enter><enter>")
	})
	moment(t, "files_many", "More files than there is room for: the list scrolls, the choices stay.", Options{}, func(s *stage) {
		var many [][3]string
		for i := range 60 {
			many = append(many, [3]string{"write", fmt.Sprintf("internal/a/rather/long/path/to/file%02d.go", i), ""})
		}
		goesBack(s, many...)
	}, func(s *stage) {
		s.press("/revert<enter><enter><pgdown><down>")
	})
	moment(t, "files_restore", "A restore of files is taken back: asked, with what would be done.", Options{}, func(s *stage) {
		goesBack(s, someFiles...)
		s.a.branches.restores = []Restore{{Plan: 30, Branch: "main", When: "14:02", Age: "1 min ago", Done: 3, Finished: true}}
	}, func(s *stage) {
		s.press("/rollback<enter><enter>")
	})
	moment(t, "files_done", "What was done to files is said, with what was left alone, and how it is taken back.", Options{}, func(s *stage) {
		goesBack(s, someFiles...)
		s.a.branches.did = FilePlan{Restore: 30, Steps: steps(someFiles...)}
	}, func(s *stage) {
		s.press("/revert<enter><enter>b")
	})
}

// Each key does what it says, in its order, and Esc does nothing. // BRN-8, SES-17
func TestWhatGoesAlong(t *testing.T) {
	operates, restores := "drive.Revert", "restore {At:13 UndoOf:0}"
	for _, c := range []struct {
		keys  string
		does  []string
		says  []string
		draft string
	}{
		{"<enter>", []string{operates}, []string{"Back to before “the second”", "are as they were", "/rollback v1 takes it back."}, "the second"},
		{"c", []string{operates}, []string{"are as they were"}, "the second"},
		{"b", []string{operates, restores}, []string{"2 files restored, 1 left alone: notes.txt (changed since).", "/rollback v1 takes it back: choose both."}, "the second"},
		{"<down><down><enter>", []string{operates, restores}, []string{"2 files restored"}, "the second"},
		{"f", []string{restores}, []string{"2 files restored, 1 left alone: notes.txt (changed since).", "The conversation is as it was.", "/rollback lists this restore"}, ""},
		{"<down><enter>", []string{restores}, []string{"The conversation is as it was."}, ""},
		{"<esc>", nil, nil, ""},
		{"x<esc>", nil, nil, ""},
	} {
		t.Run(c.keys, func(t *testing.T) {
			onStage(t, 200, 24, noColours(), nil, func(s *stage) {
				goesBack(s, someFiles...)
				s.a.branches.did = FilePlan{Restore: 30, Steps: steps(someFiles...)}
				s.press("/revert<enter><enter>")
				s.sees("Conversation, files, or both?", "Back to before “the second”.", "2 files would be restored, 1 left alone.",
					"modify greet.go", "delete cmd/greet/main.go", "leave notes.txt: changed since", "▸ c  Conversation only", "f  Files only", "b  Both")
				s.a.did = nil
				s.press(c.keys)
				s.sees(c.says...)
				s.lacks("Files only")
				var did []string
				for _, d := range s.a.did {
					if strings.HasPrefix(d, "drive.") || strings.HasPrefix(d, "restore") {
						did = append(did, strings.Fields(d)[0])
					}
				}
				var want []string
				for _, d := range c.does {
					want = append(want, strings.Fields(d)[0])
				}
				if fmt.Sprint(did) != fmt.Sprint(want) {
					t.Errorf("did %q, want %q", did, want)
				}
				for _, d := range c.does {
					if s.asksOf(d) != 1 {
						t.Errorf("not %s: %q", d, s.a.did)
					}
				}
				s.wantDraft(c.draft)
			})
		})
	}
}

// Where no file would change nothing is asked; what is not taken back is said. // BRN-8, SES-17
func TestNothingToAskAboutFiles(t *testing.T) {
	for name, c := range map[string]struct {
		plan FilePlan
		says string
	}{
		"nothing":  {FilePlan{}, "Files are as they were. /rollback v1 takes it back."},
		"commands": {FilePlan{Commands: 2}, "2 commands in what is taken back may have changed more than was recorded: that is not taken back."},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, 300, 24, noColours(), nil, func(s *stage) {
				goesBack(s)
				s.a.branches.plan = c.plan
				s.press("/revert<enter><enter>")
				s.sees(c.says)
				if s.asksOf("drive.Revert") != 1 || s.asksOf("restore") != 0 || len(s.overlays) != 0 {
					t.Errorf("%q", s.a.did)
				}
			})
		})
	}
}

// Where every file would be left alone that is said before anything is done. // BRN-8
func TestEveryFileLeftAloneIsShown(t *testing.T) {
	left := FilePlan{Steps: steps([3]string{"leave", "notes.txt", "changed since"})}
	there := left
	there.There = true
	for name, c := range map[string]struct {
		plan      FilePlan
		keys      string
		sees      []string
		asks, may string
	}{
		"revert":       {left, "/revert<enter><enter>", []string{"Conversation, files, or both?", "Back to before “the second”.", "▸ c  Conversation only"}, "drive.Revert", "Files are as they were."},
		"rollback":     {left, "/rollback v1<enter>", []string{"Conversation, files, or both?", "Revert v1 is taken back: what it left is here again.", "▸ c  Conversation only"}, "drive.RollBack", "Files are as they were."},
		"fork":         {left, "/fork<enter><down><enter>", []string{"A new branch that ends before", "▸ c  Conversation only"}, "drive.Fork", "Files are as they were."},
		"back already": {there, "/rollback v1<enter>", []string{"v1 is taken back already", "▸ n  Leave them"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, 100, 24, noColours(), nil, func(s *stage) {
				goesBack(s)
				s.a.branches.plan = c.plan
				s.press(c.keys)
				s.sees(append(c.sees, "No file would be restored, 1 left alone.", "leave notes.txt: changed since")...)
				s.lacks("Files only", "Both", "Take the files back")
				if n := s.asksOf("drive."); n != 0 {
					t.Fatalf("it was done: %q", s.a.did)
				}
				s.press("<enter>")
				s.sees(c.may)
				if c.asks != "" && s.asksOf(c.asks) != 1 || s.asksOf("restore") != 0 {
					t.Errorf("%q", s.a.did)
				}
			})
		})
	}
}

// What a rollback holds is said where something waits. // BRN-5, PLAN-7
func TestRollbackSaysWhatIsHeld(t *testing.T) {
	for _, held := range []bool{true, false} {
		scene(t, func(s *stage) {
			goesBack(s)
			s.a.branches.held = held
			s.press("/rollback v1<enter>")
			s.sees("✓ Revert v1 is taken back: what it left is here again.")
			if got := strings.Contains(s.screen(), "What waited in the queue"); got != held {
				t.Errorf("held %v:\n%s", held, s.screen())
			}
		})
	}
}

// What is looked at may take its time: Esc closes it, and then nothing is done; what can't
// be done, or can't be found out, is said. // BRN-8
func TestLookingAtFiles(t *testing.T) {
	scene(t, func(s *stage) {
		goesBack(s, someFiles...)
		s.a.branches.slow = make(chan struct{})
		s.press("/revert<enter><enter>cfb")
		s.sees("Looking at what would be done to files")
		s.press("<esc>")
		close(s.a.branches.slow)
		s.settle()
		s.lacks("Looking", "Files only")
		if s.asksOf("drive.")+s.asksOf("restore") != 0 {
			t.Errorf("%q", s.a.did)
		}
		s.a.branches.slow, s.a.branches.noPlan = nil, session.ErrNoMessage
		s.press("/revert<enter><enter>")
		s.sees("✗ no message of that branch begins there")
		s.a.branches.noPlan, s.a.branches.plan = nil, FilePlan{Fault: "event 9: \x1b[2Jno such content"}
		s.press("/revert<enter><enter>")
		s.sees("What would be done to files can't be found out, so they stay as they", "are: event 9: no such content", "▸ c  Conversation only")
		s.lacks("Both")
		s.press("<enter>")
		if s.asksOf("drive.Revert") != 1 || s.asksOf("restore") != 0 {
			t.Errorf("%q", s.a.did)
		}
	})
}

// A turn that began while the question lay there is not gone back under. // BRW-3
func TestFilesWaitForTheTurn(t *testing.T) {
	scene(t, func(s *stage) {
		goesBack(s, someFiles...)
		s.press("/revert<enter><enter>")
		s.works("from the queue")
		s.now()
		s.press("b")
		s.sees("A turn is running: stop it first (Esc), or wait.")
		if s.asksOf("drive.Revert")+s.asksOf("restore") != 0 {
			t.Errorf("%q", s.a.did)
		}
	})
}

// Files that can't be restored are said so, and that the conversation went. // SES-17
func TestFilesThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		key  string
		did  FilePlan
		err  error
		says []string
	}{
		"both, nothing":   {"b", FilePlan{}, errors.New("the disk is full"), []string{"✗ Back to before “the second”", "But files: the disk is full"}},
		"files, nothing":  {"f", FilePlan{}, drive.ErrHeld, []string{"✗ No file was changed: another window or process"}},
		"files, recorded": {"f", FilePlan{Restore: 30, Steps: steps(someFiles...)}, errors.New("the disk is full"), []string{"✗ 2 files restored, 1 left alone", "It can't be recorded: the disk is full"}},
		"one failed":      {"b", FilePlan{Restore: 30, Steps: steps([3]string{"write", "a"}, [3]string{"leave", "b", "permission denied"})}, nil, []string{"! Back", "1 file restored, 1 left alone: b (permission denied)."}},
		"many failed": {
			"f",
			FilePlan{Restore: 30, Steps: steps([3]string{"leave", "a", "x"}, [3]string{"leave", "b", "x"}, [3]string{"leave", "c", "x"}, [3]string{"leave", "d", "x"}, [3]string{"leave", "e", "x"})},
			nil,
			[]string{"! 5 files left alone: a (x), b (x), c (x), and 2 more."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, 200, 24, noColours(), nil, func(s *stage) {
				goesBack(s, someFiles...)
				s.a.branches.did, s.a.branches.noFiles = c.did, c.err
				s.press("/revert<enter><enter>" + c.key)
				s.sees(c.says...)
			})
		})
	}
}

// /rollback lists reverts and restores of files; what is taken back already is said, and
// not recorded again. // BRN-5, BRN-8
func TestRollbackOfRestores(t *testing.T) {
	onStage(t, 120, 24, Options{Colors: colorprofile.NoTTY}, nil, func(s *stage) {
		goesBack(s)
		s.a.branches.limbs = []Limb{{Name: "main", Here: true, Reverts: []Revert{{Label: "v1", Preview: "an old way", Back: true}, {Label: "v2", Preview: "a newer way", Age: "1 h ago"}}}}
		s.a.branches.restores = []Restore{
			{Plan: 40, Branch: "main", When: "14:05", Of: "14:02", Done: 2, Finished: true, Age: "1 min ago"},
			{Plan: 30, Branch: "b2", When: "14:02", Done: 3, Failed: 1, Finished: true, Back: true},
			{Plan: 20, Branch: "main", When: "13:00"},
		}
		s.press("/rollback<enter>")
		s.sees("v2  a newer way", "taken back, and nothing was done since", "files of 14:05: those of 14:02 taken back, 2 restored",
			"files of 14:02: 3 restored, 1 not (in b2)", "files of 13:00: it broke off")
		s.a.branches.plan = FilePlan{There: true}
		s.press("v1<enter>")
		s.sees("v1 is taken back already, and nothing was done since: there is nothing to do.")
		if n := s.asksOf("drive.RollBack"); n != 0 {
			t.Errorf("%d rollbacks", n)
		}
		s.a.branches.plan.Steps = steps([3]string{"write", "a.txt"})
		s.press("/rollback v1<enter>")
		s.sees("nothing was done since; only files", "▸ n  Leave them", "f  Files only")
		s.lacks("Both")
		s.press("<esc>")
		s.a.branches.plan = FilePlan{}
		s.press("/rollback<enter>14:02 restored in b2<enter>")
		s.sees("No file has to be changed.")
		s.a.branches.plan = FilePlan{To: drive.FilesTo{UndoOf: 30}, Steps: steps([3]string{"write", "a.txt"})}
		s.a.branches.did = FilePlan{Restore: 50, Steps: s.a.branches.plan.Steps}
		s.press("/rollback<enter>14:02 restored in b2<enter>")
		s.sees("Take a restore of files back?", "Files as they were before the restore of 14:02.", "modify a.txt", "▸ n  Leave them")
		s.press("<enter>")
		if n := s.asksOf("restore"); n != 0 {
			t.Errorf("%d restores", n)
		}
		s.press("/rollback<enter>14:02 restored in b2<enter>f")
		s.sees("1 file restored. The conversation is as it was. /rollback lists this restore, to take it back.")
		if n := s.asksOf("restore {At:0 UndoOf:30}"); n != 1 {
			t.Errorf("%q", s.a.did)
		}
	})
}

// The other operations ask the same. // BRN-8
func TestForkAndRollbackAskToo(t *testing.T) {
	onStage(t, 120, 24, noColours(), nil, func(s *stage) {
		goesBack(s, someFiles...)
		s.a.branches.did = FilePlan{Restore: 30, Steps: steps([3]string{"write", "a.txt"})}
		s.press("/fork<enter><enter>")
		s.sees("A new branch, from here. Files alone make no branch.")
		s.press("<esc>/fork<enter><down><enter>")
		s.sees("A new branch that ends before “the second”. Files alone make no")
		s.press("b")
		s.sees("A new branch; /tree leads back to the other. 1 file restored. /rollback lists the restore of files too.")
		s.press("/rollback v3<enter>")
		s.sees("Revert v3 is taken back: what it left is here again.")
		s.press("b")
		s.sees("Revert v3 is taken back: what it left is here again.", "1 file restored.")
		if s.asksOf("drive.Fork") != 1 || s.asksOf("drive.RollBack") != 1 || s.asksOf("restore") != 2 {
			t.Errorf("%q", s.a.did)
		}
	})
}
