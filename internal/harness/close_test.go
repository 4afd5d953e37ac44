package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// A session that closes begins nothing: what was said after an interrupt waits
// in the queue, and no request is made for it. // RUN-2, CTX-3
func TestCloseBeginsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := stick(drive.Tool)
		w := alone(t, calls("bash", runs("late")))
		w.script.rest = text("Done.")
		w.opts.hands = k.hands
		l := w.start()
		say(t, l, "first")
		<-k.began
		submit(t, l, drive.Cancel{By: "user"})
		say(t, l, "second")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		close(k.free)
		l = w.resume(l.Session.Path())
		b := l.State().Branch
		if s := story(t, l); b.Turn != nil || len(b.Queue) != 1 || !strings.HasSuffix(s, "turn.ended interrupted\n"+lastLine(s)) {
			t.Errorf("%+v %+v\n%s", b.Turn, b.Queue, s)
		}
		if n := len(w.sent()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

func lastLine(s string) string {
	s = strings.TrimSuffix(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:] + "\n"
}

// Closing on a full disk stops what runs at once, and says when there is room
// that it did. // LOG-8, RUN-2
func TestCloseOnFullDisk(t *testing.T) {
	for name, room := range map[string]bool{"no room": false, "room in time": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, r := newGate(drive.Send), &recorder{}
				w := alone(t, hang("half an ans"))
				w.opts.hands, w.opts.layer = g.hands, r
				l := w.start()
				say(t, l, "first")
				synctest.Wait()
				r.full(true)
				began := time.Now()
				closed := make(chan error)
				go func() { closed <- l.Close() }()
				<-g.began
				if took := time.Since(began); took > 0 {
					t.Errorf("the request was stopped after %s", took)
				}
				r.full(!room)
				close(g.open)
				<-closed
				if took := time.Since(began); took > grace {
					t.Errorf("it took %s", took)
				}
				w.opts.layer = nil
				l = w.resume(l.Session.Path())
				want := "request.sent\n"
				if room {
					want = "reply.rejected cancelled kept=true\nturn.ended interrupted\nrun.ended\n"
				}
				if s := numberless(story(t, l)); !strings.HasSuffix(s, want) {
					t.Errorf("%s", s)
				}
			})
		})
	}
}

// Who was interrupted by a person and closed before that was recorded was
// interrupted by that person; others who write meanwhile change nothing.
// LOG-6, LOG-8
func TestCloseAfterInterrupt(t *testing.T) {
	for _, others := range []int{0, 3} {
		synctest.Test(t, func(t *testing.T) {
			r, c := &recorder{}, &crowded{}
			w := alone(t, hang("half an ans"))
			w.opts.layer, w.opts.Clock = r, c
			l := w.start()
			say(t, l, "first")
			synctest.Wait()
			by := "closed"
			if others == 0 {
				r.full(true)
				submit(t, l, drive.Cancel{By: "user"})
				synctest.Wait()
				r.full(false)
				by = "user"
			} else {
				c.crowd(t, l, others)
			}
			l.Close()
			l = reopened(t, w, l)
			if s := numberless(story(t, l)); !strings.HasSuffix(s, "turn.ended interrupted\nrun.ended\n") {
				t.Errorf("%d others:\n%s", others, s)
			}
			if ev, _ := events[session.TurnCancelled](t, l); len(ev) != 1 || ev[0].By != by {
				t.Errorf("%d others: %+v", others, ev)
			}
		})
	}
}

// A turn that another run left open is not ended by a window that only gave the
// session a name. // LOG-14
func TestCloseLeavesPausedTurn(t *testing.T) {
	w := newWorld(t, hang("half"))
	l := w.start()
	say(t, l, "first")
	until(t, l, "the request", func(e session.Entry) bool { return e.Type == "request.sent" })
	p := &script{rest: text("Done.")}
	c := crashed(t, w, l, p)
	submit(t, c, drive.Rename{Title: []byte("A name")})
	if !c.Ours() || !c.Paused() {
		t.Errorf("ours=%v paused=%v", c.Ours(), c.Paused())
	}
	c.Close()
	again := reopened(t, w, c)
	if b := again.State().Branch; b.Turn == nil || b.Turn.Cancelled != "" || len(p.sent()) > 0 {
		t.Errorf("%+v, %d requests\n%s", b.Turn, len(p.sent()), story(t, again))
	}
}

// numberless is a story without its numbers.
func numberless(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		_, rest, _ := strings.Cut(line, " ")
		b.WriteString(rest)
	}
	return b.String()
}

// Who closes while a summary is made without a turn waits for nothing that hangs in
// it; the log says that it was stopped, and what opens it again has nothing to end. // TUI-5, CMP-9, RUN-2
func TestCloseEndsACompaction(t *testing.T) {
	for _, kind := range []drive.Kind{drive.Prepare, drive.Brief, drive.Ask} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := stick(kind)
				w := roomy(t, 100_000, big("One.", 400))
				w.script.rest = text(handoff("count"))
				w.opts.Interactive, w.opts.hands = false, k.hands
				l := w.start()
				say(t, l, "one")
				ended(t, l, 1)
				submit(t, l, drive.Compact{})
				<-k.began
				began := time.Now()
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 300*time.Millisecond {
					t.Errorf("it took %s", took)
				}
				close(k.free)
				k.gone.Wait()
				asked := len(w.sent())
				l = w.resume(l.Session.Path())
				synctest.Wait()
				if s := compactions(t, l); !strings.HasSuffix(s, "failed cancelled, defers false") || strings.Count(s, "failed ") != 1 {
					t.Error(s)
				}
				if b := l.State().Branch; b.Compaction != nil || b.Asked != nil || b.Run != "" || len(w.sent()) != asked {
					t.Errorf("%+v %v %q, %d requests", b.Compaction, b.Asked, b.Run, len(w.sent())-asked)
				}
			})
		})
	}
}
