package compact

import (
	"strings"

	"varve/internal/session"
)

// maxRereads is how many ranges a reducer may ask for, once (MR-7).
const maxRereads = 3

// Reread reads a reducer's wish for raw items. asked says that it is one; why
// says why it can't be granted. Only ranges that recorded items of the view
// lie in are: also those behind an older checkpoint.
func Reread(text []byte, v session.View) (want []session.Range, asked bool, why string) {
	line := strings.Trim(string(text), "`* \t\r\n") // the ornaments that models put around a line
	list, ok := strings.CutPrefix(line, "REREAD:")
	if !ok {
		return nil, false, ""
	}
	if strings.Contains(line, "\n") {
		return nil, true, "reread_malformed"
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(list, "–", "-"), ",") {
		from, to, two := strings.Cut(strings.TrimSpace(part), "-")
		if !two {
			to = from
		}
		a, err := session.ParseItemID(strings.TrimSpace(from))
		b, err2 := session.ParseItemID(strings.TrimSpace(to))
		if err != nil || err2 != nil || b.Before(a) {
			return nil, true, "reread_malformed"
		}
		want = append(want, session.Range{From: a, To: b})
	}
	if len(want) > maxRereads {
		return nil, true, "reread_malformed"
	}
	for _, r := range want {
		if len(RawOf(v, []session.Range{r})) == 0 {
			return nil, true, "reread_unavailable"
		}
	}
	return want, true, ""
}

// RawOf are the recorded items of ranges, covered ones included, in recorded
// order, nothing of them masked. Items of other branches in between are not among them (MR-5).
func RawOf(v session.View, ranges []session.Range) []session.Item {
	var out []session.Item
	for it := range v.Recorded {
		for _, r := range ranges {
			if !it.ID.Before(r.From) && !r.To.Before(it.ID) {
				out = append(out, *unmasked(it))
				break
			}
		}
	}
	return out
}
