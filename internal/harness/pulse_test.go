package harness

import (
	"testing"
	"time"
)

// A pulse takes the place of the one before it and keeps when it all began;
// text only grows, and who has read a part of it keeps that part; whatever
// changes wakes who waits. // architecture rule 12
func TestPulses(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	var p Pulses
	steps := []struct {
		what string
		do   func()
		want []Pulse
	}{
		{"begins", func() { p.put(Pulse{Job: "a", Kind: "waiting", Began: at(1), Last: at(1)}) }, []Pulse{{Job: "a", Kind: "waiting", Began: at(1), Last: at(1)}}},
		{"goes on", func() { p.put(Pulse{Job: "a", Kind: "waiting", Began: at(2), Last: at(2)}) }, []Pulse{{Job: "a", Kind: "waiting", Began: at(1), Last: at(2)}}},
		{"text", func() { p.grow("b", "text", "", []byte("one"), at(3)) }, []Pulse{
			{Job: "a", Kind: "waiting", Began: at(1), Last: at(2)}, {Job: "b", Kind: "text", Text: []byte("one"), Began: at(3), Last: at(3)},
		}},
		{"more", func() { p.grow("b", "text", "", []byte(" two"), at(4)) }, []Pulse{
			{Job: "a", Kind: "waiting", Began: at(1), Last: at(2)}, {Job: "b", Kind: "text", Text: []byte("one two"), Began: at(3), Last: at(4)},
		}},
		{"ends", func() { p.drop("a") }, []Pulse{{Job: "b", Kind: "text", Text: []byte("one two"), Began: at(3), Last: at(4)}}},
		{"is nobody's", func() { p.touch() }, []Pulse{{Job: "b", Kind: "text", Text: []byte("one two"), Began: at(3), Last: at(4)}}},
	}
	var early []byte
	for _, s := range steps {
		_, version := p.Read()
		moved := p.Moved(version)
		s.do()
		select {
		case <-moved:
		default:
			t.Errorf("%s: nobody is woken", s.what)
		}
		got, _ := p.Read()
		if len(got) != len(s.want) {
			t.Fatalf("%s: %+v", s.what, got)
		}
		for i, g := range got {
			w := s.want[i]
			if g.Job != w.Job || g.Kind != w.Kind || string(g.Text) != string(w.Text) || !g.Began.Equal(w.Began) || !g.Last.Equal(w.Last) {
				t.Errorf("%s: %+v, not %+v", s.what, g, w)
			}
		}
		if s.what == "text" {
			early = got[1].Text
		}
	}
	if string(early) != "one" {
		t.Errorf("what was read has become %q", early)
	}
	_, version := p.Read()
	moved := p.Moved(version)
	p.drop("nobody")
	select {
	case <-moved:
		t.Error("woken for nothing")
	default:
	}
}
