package main

import (
	"testing"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

func TestCalmWhileAnAnswerTrickles(t *testing.T) { // PERF-5
	now := time.Now()
	at := func(kind string, age time.Duration) drive.Pulse {
		return drive.Pulse{Kind: kind, Began: now, Last: now.Add(age)}
	}
	open := &session.Turn{Open: session.Open{Seq: 3}}
	var set []bool
	c := calm{set: func(one bool) { set = append(set, one) }}
	for i, row := range []struct {
		turn    *session.Turn
		running []string
		pulses  []drive.Pulse
		want    bool
	}{
		{nil, nil, nil, false},
		{open, nil, []drive.Pulse{at("text", 10*time.Millisecond)}, false}, // at full speed: over before it matters
		{open, nil, []drive.Pulse{at("text", 2*time.Second)}, true},
		{open, nil, []drive.Pulse{at("waiting", 0), at("reasoning", 2*time.Second), at("text", 0)}, true},
		{open, []string{"job-1"}, []drive.Pulse{at("text", 2*time.Second)}, false},
		{open, nil, []drive.Pulse{at("text", 2*time.Second), at("shell", 2*time.Second)}, false},
		{&session.Turn{}, nil, []drive.Pulse{at("text", 2*time.Second)}, false}, // a tool's turn
	} {
		u := drive.Update{Pulses: row.pulses}
		u.State.Branch.Turn, u.State.Session.Running = row.turn, row.running
		c.look(u)
		if c.one != row.want {
			t.Errorf("row %d: one processor %v", i, c.one)
		}
	}
	if len(set) != 2 || set[0] != true || set[1] != false {
		t.Errorf("set %v: only changes are set", set)
	}
}
