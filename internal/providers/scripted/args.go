package scripted

import (
	"fmt"
	"strconv"
)

// args hands out the words of a line and remembers the first thing that is wrong with them.
type args struct {
	ln   line
	i    int
	used int // key=value words taken
	err  error
}

func (a *args) next() string {
	for ; a.i < len(a.ln.words); a.i++ {
		if w := a.ln.words[a.i]; w.key == "" {
			a.i++
			return w.val
		}
	}
	if a.err == nil {
		a.err = fmt.Errorf("%s: an argument is missing", a.ln.verb)
	}
	return ""
}

func (a *args) nextInt() int {
	s := a.next()
	n, err := strconv.Atoi(s)
	if err != nil && a.err == nil {
		a.err = fmt.Errorf("%s %s: not a number", a.ln.verb, s)
	}
	return n
}

func (a *args) all() []string {
	var out []string
	for _, w := range a.ln.words {
		if w.key == "" {
			out = append(out, w.val)
		}
	}
	a.i = len(a.ln.words)
	if len(out) == 0 && a.err == nil {
		a.err = fmt.Errorf("%s: an argument is missing", a.ln.verb)
	}
	return out
}

func (a *args) opt(key, or string) string {
	for i, w := range a.ln.words {
		if w.key == key {
			a.used |= 1 << i
			return w.val
		}
	}
	return or
}

func (a *args) optInt(key string, or int) int {
	s := a.opt(key, "")
	if s == "" {
		return or
	}
	n, err := strconv.Atoi(s)
	if err != nil && a.err == nil {
		a.err = fmt.Errorf("%s %s=%s: not a number", a.ln.verb, key, s)
	}
	return n
}

func (a *args) split() (Step, error) {
	switch how := a.next(); how {
	case "every":
		return SplitEvery(a.nextInt()), a.finish()
	case "off":
		return SplitEvery(0), a.finish()
	case "at":
		var offsets []int
		for a.i < len(a.ln.words) {
			offsets = append(offsets, a.nextInt())
		}
		return SplitAt(offsets...), a.finish()
	default:
		return Step{}, fmt.Errorf("split %s: use every N, at N…, or off", how)
	}
}

// finish complains about words that nobody asked for.
func (a *args) finish() error {
	if a.err != nil {
		return a.err
	}
	for i, w := range a.ln.words {
		if w.key != "" && a.used&(1<<i) == 0 {
			return fmt.Errorf("%s: unknown option %s=", a.ln.verb, w.key)
		}
		if w.key == "" && i >= a.i {
			return fmt.Errorf("%s: one argument too many: %s", a.ln.verb, clip(w.val))
		}
	}
	return nil
}
