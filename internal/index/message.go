package index

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"varve/internal/session"
)

// A Hit is a message that holds what was looked for.
type Hit struct {
	Path, Session string
	Branch        string
	Item          session.ItemID
	Kind          string // user, assistant, tool_result, shell; replacement: the text that stands in the place of a message
	At            time.Time

	// An excerpt on one line, with the first place where it is found.
	Before, Match, After string
}

// What a line means for a search.
type role int

const (
	silent  role = iota // it holds nothing of a message
	speaks              // texts of messages
	queues              // a text that a message may take
	hides               // a message that is not to be shown
	swaps               // another text in the place of a message
	repairs             // bytes that are no event
)

func roleOf(kind []byte) role {
	switch string(kind) {
	case "user.said", "shell.ran", "reply.completed", "reply.rejected", "tool.finished", "tool.interrupted":
		return speaks
	case "input.queued", "input.edited":
		return queues
	case "item.replaced":
		return hides
	case "log.repaired":
		return repairs
	}
	return silent
}

// A text is a message, or a part of one, and the body entries that hold it.
type text struct {
	item    session.ItemID
	kind    string
	entries []int
}

// textsOf names the texts of an event that a search looks at: what the user, the
// model and tools said, and the user's own commands.
func textsOf(e session.Entry) []text {
	one := func(kind string, entries ...*session.Text) []text {
		t := text{item: e.Seq.Item(), kind: kind}
		for _, b := range entries {
			if b != nil {
				t.entries = append(t.entries, b.B)
			}
		}
		return []text{t}
	}
	switch ev := e.Event.(type) {
	case session.UserSaid:
		return one("user", ev.Text)
	case session.ShellRan:
		return one("shell", &ev.Text)
	case session.ToolFinished:
		return one("tool_result", &ev.Text, ev.Full)
	case session.ToolInterrupted:
		return one("tool_result", &ev.Text)
	case session.ReplyRejected:
		if ev.Kept {
			return one("assistant", ev.Text)
		}
	case session.ReplyCompleted:
		var all []text
		for i, p := range ev.Parts {
			if p.Kind == "assistant" {
				all = append(all, text{session.ItemID{Seq: e.Seq, Part: i + 1}, "assistant", []int{p.B}})
			}
		}
		return all
	}
	return nil
}

// An excerpt is what stands around a hit.
type excerpt struct{ before, match, after string }

const (
	excerptBefore = 48 // runes
	excerptAfter  = 96
)

func excerptOf(b []byte, start, end int) excerpt {
	from, to := start, end
	for range excerptBefore {
		_, w := utf8.DecodeLastRune(b[:from])
		from -= w
	}
	for range excerptAfter {
		_, w := utf8.DecodeRune(b[to:])
		to += w
	}
	x := excerpt{spaced(b[from:start]), spaced(b[start:end]), spaced(b[end:to])}
	if from > 0 {
		x.before = "…" + x.before
	} else {
		x.before = strings.TrimLeft(x.before, " ")
	}
	if to < len(b) {
		x.after += "…"
	} else {
		x.after = strings.TrimRight(x.after, " ")
	}
	return x
}

// spaced is a text with one blank for each run of white space.
func spaced(b []byte) string {
	var out strings.Builder
	blank := false
	for _, r := range strings.ToValidUTF8(string(b), "�") {
		if unicode.IsSpace(r) {
			if !blank {
				out.WriteByte(' ')
			}
			blank = true
			continue
		}
		blank = false
		out.WriteRune(r)
	}
	return out.String()
}

// in looks for the needle in a text of a line, and returns the first place.
// lost says that content which the line names could not be read.
func (s *search) in(e session.Entry, t text) (x excerpt, found, lost bool, err error) {
	for _, i := range t.entries {
		p, err := e.Part(i)
		if err != nil {
			return x, false, lost, err
		}
		if p.Ref == nil {
			if start, end := s.needle.find(p.Bytes, 0); start >= 0 {
				return excerptOf(p.Bytes, start, end), true, lost, nil
			}
			continue
		}
		if m := p.Ref.MediaType; m != "" && !strings.HasPrefix(m, "text/") && m != "application/json" {
			continue
		}
		x, found, err := s.inContent(p.Ref.SHA256)
		lost = lost || err != nil
		if found {
			return x, true, lost, nil
		}
	}
	return x, false, lost, nil
}

var errNoContent = errors.New("no content store")

// inContent looks for the needle in content, a piece at a time. What fails its
// hash is not believed.
func (s *search) inContent(sha string) (x excerpt, found bool, err error) {
	if s.Content == nil {
		return x, false, errNoContent
	}
	r, err := s.Content(sha)
	if err != nil {
		return x, false, err
	}
	defer r.Close()
	overlap := utf8.UTFMax * (len(s.needle.runes) + excerptBefore + excerptAfter)
	buf := make([]byte, 0, 128<<10+2*overlap)
	for from := 0; ; {
		if err := s.ctx.Err(); err != nil {
			return x, false, err
		}
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !last {
			return x, false, err
		}
		buf = buf[:len(buf)+n]
		if !found {
			// What begins near the end is looked at with more behind it.
			limit := len(buf) - overlap
			if start, end := s.needle.find(buf, from); start >= 0 && (last || start < limit) {
				x, found = excerptOf(buf, start, end), true
			}
		}
		if last {
			return x, found, nil
		}
		keep := buf[max(0, len(buf)-2*overlap):]
		from = max(0, len(keep)-overlap)
		buf = buf[:copy(buf, bytes.Clone(keep))]
	}
}
