package openaichat

import (
	"strings"

	"varve/internal/session"
)

// An ids gives each call of a request an id that the vendor takes: the
// provider's own where it fits and was not used before in this request, else
// one made from the item's id. Both depend only on what stands earlier, so a
// history that grows keeps its ids (STR-22).
type ids struct {
	form  string
	used  map[string]bool
	fresh []string // those of the last unit
}

// forget takes the ids of the last unit back.
func (s *ids) forget() {
	for _, id := range s.fresh {
		delete(s.used, id)
	}
	s.fresh = s.fresh[:0]
}

func (s *ids) of(it session.Item) string {
	id := it.CallID
	if !validID(s.form, id) || s.used[id] {
		for n := 0; ; n++ {
			if id = madeID(s.form, it.ID, n); !s.used[id] {
				break
			}
		}
	}
	s.used[id] = true
	s.fresh = append(s.fresh, id)
	return id
}

func validID(form, id string) bool {
	switch form {
	case "nine":
		return len(id) == 9 && only(id, "")
	case "loose":
		return 0 < len(id) && len(id) <= 40 && id != "null" && only(id, "_-.:")
	}
	return 0 < len(id) && len(id) <= 40 && id != "null" && only(id, "_-")
}

func only(s, also string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && strings.IndexByte(also, c) < 0 {
			return false
		}
	}
	return true
}

// madeID is the n-th id that can stand for an item.
func madeID(form string, id session.ItemID, n int) string {
	if form != "nine" {
		made := "call_" + strings.ReplaceAll(id.String(), ".", "_")
		if n > 0 {
			made += "-" + string(base62(uint64(n)))
		}
		return made
	}
	// Nine digits of base 62 hold 53 bits.
	v := base62(uint64(id.Seq)<<10 + uint64(id.Part) + uint64(n)<<40)
	for len(v) < 9 {
		v = append([]byte{'0'}, v...)
	}
	return string(v[len(v)-9:])
}

func base62(v uint64) []byte {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var out []byte
	for {
		out = append([]byte{digits[v%62]}, out...)
		if v /= 62; v == 0 {
			return out
		}
	}
}

func validName(name string) bool {
	return 0 < len(name) && len(name) <= 64 && only(name, "_-")
}

// nameOf makes a name that vendors take. A call with an impossible name was
// answered with an error, but it stays in the history.
func nameOf(name string) string {
	if validName(name) {
		return name
	}
	out := []byte(name[:min(len(name), 64)])
	for i, c := range out {
		if !only(string(c), "_-") || c >= 0x80 {
			out[i] = '_'
		}
	}
	if len(out) == 0 {
		return "invalid"
	}
	return string(out)
}
