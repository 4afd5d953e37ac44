package session_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	. "varve/internal/session"
)

// LOG-12: any event with lists of any length is a line whose facts are at most 4 KiB and whose body entries are at
// most 64 KiB; it decodes to itself, and its texts stay where the event names them.
func TestAnyListFitsInALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		elements := rapid.SampledFrom([]int{3, 40, 400, 4000}).Draw(t, "elements")
		e := eventWith(elements).Draw(t, "event")
		switch ev := e.(type) {
		case StagingSaved: // read, never written
			return
		case RequestSent: // its recipe is read where it is needed: TestSpill
			ev.Recipe = nil
			e = ev
		}
		body := []Part{text("first"), text("second")}
		f, err := Spill(Fact{Branch: MainBranch, Event: e, Body: body[:2:2]})
		if err != nil {
			t.Fatal(err)
		}
		rest, err := EncodeRest(f, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		line := lineOf(4, rest)
		env, ok := Scan(line)
		if !ok || len(env.Data) > FactLimit {
			t.Fatalf("%d bytes of facts in %s", len(env.Data), line)
		}
		got, err := Decode(line)
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if diff := cmp.Diff(e, got.Event, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s comes back otherwise: %s", Name(e), diff)
		}
		parts, err := got.Parts()
		if err != nil || len(parts) < 2 || string(parts[0].Bytes) != "first" || string(parts[1].Bytes) != "second" {
			t.Fatalf("the body is %v (%v)", parts, err)
		}
		for _, p := range parts[2:] {
			if p.Ref != nil || len(p.Bytes) > InlineLimit {
				t.Fatalf("a list stands in an entry of %d bytes", len(p.Bytes))
			}
		}
		if len(parts) > 2 != bytes.Contains(env.Data, []byte(`"spilled":{"b":2`)) {
			t.Fatalf("%d body entries, facts %s", len(parts), env.Data)
		}
	})
}

// LOG-12: what compaction and purging will write, at the size of a long session.
func TestLongListsOfCompaction(t *testing.T) {
	const many = 8_000
	var ranges []Range
	var removed []Removed
	var dropped []int
	var stale []string
	for i := range many {
		ranges = append(ranges, Range{From: Seq(3*i + 1).Item(), To: ItemID{Seq: Seq(3*i + 2), Part: 2}})
		removed = append(removed, Removed{Seq: Seq(i + 1), SHA256: sha(fmt.Sprint(i))})
		dropped = append(dropped, i)
		stale = append(stale, fmt.Sprintf("pkg/漢字%d.go", i))
	}
	for _, c := range []struct {
		event   Event
		entries int // of the body that the lists take, at least
	}{
		{CheckpointCommitted{Kind: "text", Ranges: ranges, Stale: stale, BaseRevision: 9, Text: Text{B: 0}, Tokens: Estimate(5)}, 5},
		{SessionPurged{Removed: removed}, 10},
		{StagingRepartitioned{Staging: 3, Dropped: dropped, N: 2}, 1},
		{StagingReread{Staging: 3, Ranges: ranges}, 3},
		{StagingSequenced{Staging: 3, Missing: dropped[:2000], Why: "x"}, 1},
	} {
		rest := encode(t, Fact{Branch: MainBranch, Event: c.event, Body: []Part{text("## Goal")}}, time.Unix(0, 0))
		got, err := Decode(lineOf(4, rest))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.event, got.Event, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s comes back otherwise", got.Type)
		}
		parts, err := got.Parts()
		if err != nil || len(parts) < 1+c.entries || string(parts[0].Bytes) != "## Goal" {
			t.Errorf("%s: %d body entries (%v)", got.Type, len(parts), err)
		}
		for i, p := range parts {
			if !bytes.Equal(p.Bytes, bytes.ToValidUTF8(p.Bytes, nil)) {
				t.Errorf("%s: entry %d is cut inside a character", got.Type, i)
			}
		}
		// A fold that reads the line stands where the one that recorded it does.
		wrote, read := NewFold(), NewFold()
		for f, e := range map[*Fold]Event{wrote: c.event, read: got.Event} {
			if err := f.Apply(Entry{Seq: 4, Branch: MainBranch, Type: got.Type, Event: e}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(dump(wrote.State(MainBranch)), dump(read.State(MainBranch))); diff != "" {
			t.Errorf("%s: %s", got.Type, diff)
		}
	}
	// Facts without lists are refused as before.
	if _, err := EncodeRest(Fact{Event: TurnEnded{Status: strings.Repeat("s", 5000)}}, time.Time{}); err == nil {
		t.Error("5,000 bytes of one name are written")
	}
}

// LOG-7, LOG-12: lists that are not where the facts say are damage of this line, told as such.
func TestLostListsAreNoEvent(t *testing.T) {
	for name, line := range map[string]string{
		"no body":        `"data":{"spilled":{"b":0}}}`,
		"no such entry":  `"data":{"spilled":{"b":1}},"body":["{}"]}`,
		"before it":      `"data":{"spilled":{"b":-1}},"body":["{}"]}`,
		"half an object": `"data":{"spilled":{"b":0}},"body":["{\"removed\":["]}`,
		"a list":         `"data":{"spilled":{"b":0}},"body":["[]"]}`,
		"bytes after it": `"data":{"spilled":{"b":0}},"body":["{\"removed\":[]}","x"]}`,
		"a reference":    `"data":{"spilled":{"b":0}},"body":[{"ref":{"sha256":"ab","media_type":"t","size":1}}]}`,
		"a list twice":   `"data":{"removed":[],"spilled":{"b":0}},"body":["{\"removed\":[]}"]}`,
		"itself":         `"data":{"spilled":{"b":0}},"body":["{\"spilled\":{\"b\":0},\"spilled\":1}"]}`,
		"another shape":  `"data":{"spilled":7},"body":["{}"]}`,
		"no object":      `"data":{"spilled":{"b":0}},"body":["{\"removed\":{}}"]}`,
	} {
		whole := lineOf(4, []byte(`"branch":"main","at":"2026-11-30T12:00:00.000Z","type":"session.purged","must":true,`+line))
		if e, err := Decode(whole); !errors.Is(err, ErrLine) {
			t.Errorf("%s: decodes as %+v (%v)", name, e.Event, err)
		}
	}
	for name, line := range map[string]string{
		"null":   `"data":{"removed":[{"seq":7,"sha256":"ab"}],"spilled":null},"body":["{}"]}`,
		"cut":    `"data":{"spilled":{"b":1,"newer":1}},"body":["x","{\"remo","ved\":[{\"seq\":7,\"sha256\":\"ab\"}],\"newer\":[]}"]}`,
		"none":   `"data":{"removed":[{"seq":7,"sha256":"ab"}],"spilled":{"b":0}},"body":["{}"]}`,
		"a word": `"data":{"removed":[{"seq":7,"sha256":"ab"}],"newer":"spilled"}}`,
	} {
		whole := lineOf(4, []byte(`"branch":"main","at":"2026-11-30T12:00:00.000Z","type":"session.purged","must":true,`+line))
		e, err := Decode(whole)
		if diff := cmp.Diff(SessionPurged{Removed: []Removed{{Seq: 7, SHA256: "ab"}}}, e.Event); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	nothing := lineOf(4, []byte(`"branch":"main","at":"2026-11-30T12:00:00.000Z","type":"session.purged","must":true,"data":{"spilled":{"b":0}},"body":["{}"]}`))
	if e, err := Decode(nothing); err != nil || e.Event.(SessionPurged).Removed != nil {
		t.Errorf("no list at all: %+v %v", e.Event, err)
	}
}
