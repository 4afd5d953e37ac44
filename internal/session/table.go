package session

import "sort"

// rowsPerPage is how many items stand on one page of a table.
const rowsPerPage = 512

// A table is every item of a session, by id, append-only. It is kept in pages
// that are never moved: a view that was kept holds the pages of its time and
// not a copy of all that was there (one growing slice, held by the state of
// each user message, cost five times the items).
type table struct {
	pages []*[rowsPerPage]Item
	n     int
}

// add puts an item behind the others. Copies of the table that were made
// before do not see it.
func (t *table) add(it Item) {
	if t.n%rowsPerPage == 0 {
		t.pages = append(t.pages, new([rowsPerPage]Item))
	}
	t.pages[t.n/rowsPerPage][t.n%rowsPerPage] = it
	t.n++
}

func (t *table) at(i int) Item { return *t.ref(i) }

// ref is at without a copy. What it points to is never written again.
func (t *table) ref(i int) *Item { return &t.pages[i/rowsPerPage][i%rowsPerPage] }

// after is the index of the first item past id.
func (t *table) after(id ItemID) int {
	return sort.Search(t.n, func(i int) bool { return id.Before(t.ref(i).ID) })
}
