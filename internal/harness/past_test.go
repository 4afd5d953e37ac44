package harness

import (
	"reflect"
	"slices"
	"testing"
	"testing/synctest"

	"varve/internal/session"
)

// Where a branch stood at an event is what the log said up to there; what came
// before an event is read in pieces that miss nothing and repeat nothing.
// LOG-3, LOG-10
func TestPast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := alone(t, calls("ls", `{"path":"."}`), text("Done."))
		l := w.start()
		say(t, l, "first")
		ended(t, l, 1)
		l.Close()
		s := reopened(t, w, l).Session
		all := must(s.Entries(0, 1000))
		for n := range len(all) + 1 {
			fold := session.NewFold()
			for _, e := range all[:n] {
				if err := fold.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			if got := must(s.StateAt(session.MainBranch, session.Seq(n))); !reflect.DeepEqual(got, fold.State(session.MainBranch)) {
				t.Errorf("at %d: %+v", n, got)
			}
		}
		var back []session.Seq
		for q := s.Head() + 1; ; {
			piece := must(s.Before(q, 4))
			if len(piece) == 0 {
				break
			}
			if len(piece) > 4 {
				t.Errorf("%d before %d", len(piece), q)
			}
			for _, e := range slices.Backward(piece) {
				back = append(back, e.Seq)
			}
			q = piece[0].Seq
		}
		for i, q := range back {
			if q != s.Head()-session.Seq(i) {
				t.Fatalf("backward: %v", back)
			}
		}
		if len(back) != len(all) {
			t.Errorf("%d of %d events", len(back), len(all))
		}
	})
}

// What a line refers to is found, on a line that can be scanned and on one that
// somebody has formatted. // LOG-4
func TestRefs(t *testing.T) {
	const ref = `{"ref":{"sha256":"ab","media_type":"text/plain","size":3}}`
	for _, line := range []string{
		`{"seq":1,"prev":"00000000000000000000000000000000","branch":"main","at":"2026-11-30T12:00:00.000Z","type":"shell.ran","data":{},"body":["x",` + ref + `]}`,
		`{ "seq": 1, "prev": "00000000000000000000000000000000", "branch": "main", "at": "2026-11-30T12:00:00Z", "type": "shell.ran", "data": {}, "body": [ "x", ` + ref + ` ] }`,
	} {
		var found []session.Ref
		if err := Refs([]byte(line), func(r session.Ref) { found = append(found, r) }); err != nil {
			t.Error(err)
		}
		if len(found) != 1 || found[0].SHA256 != "ab" {
			t.Errorf("%s: %+v", line, found)
		}
	}
	if err := Refs([]byte(`{"seq": 1}`), func(session.Ref) { t.Error("there is none") }); err != nil {
		t.Error(err)
	}
}
