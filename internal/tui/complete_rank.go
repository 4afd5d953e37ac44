package tui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sahilm/fuzzy"
)

// A ranked row is one that a query found.
type ranked struct {
	Index int   // in what was looked through first
	Score int   // higher is better
	At    []int // bytes of its text that the query found
}

// rankSource is what fuzzy looks through.
type rankSource struct {
	n  int
	at func(int) string
}

func (s rankSource) String(i int) string { return s.at(i) }
func (s rankSource) Len() int            { return s.n }

// rank finds the texts that hold every word of query, letter by letter, best first; equal ones keep their order, and an
// empty query keeps all. Rows that are given are narrowed: text i is that of rows[i], and their Index goes on.
func rank(query string, n int, at func(int) string, rows []ranked) []ranked {
	index := func(i int) int {
		if rows != nil {
			return rows[i].Index
		}
		return i
	}
	words := strings.Fields(query)
	if len(words) == 0 {
		all := make([]ranked, n)
		for i := range all {
			all[i] = ranked{Index: index(i)}
		}
		return all
	}
	found := fuzzy.FindFromNoSort(words[0], rankSource{n, at})
	out := make([]ranked, len(found))
	for i, m := range found {
		out[i] = ranked{m.Index, m.Score, m.MatchedIndexes}
	}
	for _, word := range words[1:] {
		last := out
		out = nil
		for _, m := range fuzzy.FindFromNoSort(word, rankSource{len(last), func(i int) string { return at(last[i].Index) }}) {
			r := last[m.Index]
			out = append(out, ranked{r.Index, r.Score + m.Score, append(slices.Clone(r.At), m.MatchedIndexes...)})
		}
	}
	slices.SortStableFunc(out, func(a, b ranked) int { return cmp.Compare(b.Score, a.Score) })
	for i := range out {
		out[i].Index = index(out[i].Index)
	}
	return out
}

// rankCommands ranks by name and aliases: what is named so, then what begins so (its name before an alias), then what holds the letters, where
// nothing holds the word. At is within commandTitle.
func rankCommands(query string, all []Command) []ranked {
	if query == "" {
		return rank("", len(all), nil, nil)
	}
	best, whole := map[int]ranked{}, []int{}
	var order []int
	for i, cmd := range all {
		for j, name := range append([]string{cmd.Name}, cmd.Aliases...) {
			m := rank(query, 1, func(int) string { return name }, nil)
			if len(m) == 0 {
				continue
			}
			r := ranked{Index: i, Score: m[0].Score}
			switch {
			case name == query:
				r.Score += 10000
			case strings.HasPrefix(name, query) && j == 0:
				r.Score += 2000 // before what is only called so, too
			case strings.HasPrefix(name, query):
				r.Score += 1000
			}
			if j == 0 {
				for _, at := range m[0].At {
					r.At = append(r.At, at+1) // behind the slash
				}
			}
			if strings.Contains(name, query) && !slices.Contains(whole, i) {
				whole = append(whole, i)
			}
			if old, ok := best[i]; !ok {
				order = append(order, i)
				best[i] = r
			} else if r.Score > old.Score {
				best[i] = r
			}
		}
	}
	if len(whole) > 0 {
		order = whole
	}
	out := make([]ranked, 0, len(order))
	for _, i := range order {
		out = append(out, best[i])
	}
	slices.SortStableFunc(out, func(a, b ranked) int { return cmp.Compare(b.Score, a.Score) })
	return out
}
