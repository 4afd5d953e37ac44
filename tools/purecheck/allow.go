package main

// allowed are functions outside the pure rooms that the checker would refuse and we do not, each with the reason. A
// row that nothing needs any more is deleted.
var allowed = []struct{ name, reason string }{
	{"encoding/json.Marshal", "keeps a cache of types behind a lock, and sorts the keys of maps"},
	{"encoding/json.Unmarshal", "keeps a cache of types behind a lock; the value depends on the bytes alone"},
	{"github.com/go-json-experiment/json.Marshal", "as encoding/json; where a value holds a map, with json.Deterministic(true)"},
	{"github.com/go-json-experiment/json.Unmarshal", "keeps a cache of types behind a lock; the value depends on the bytes alone"},
	{"fmt.Fprint", "formats into a writer that the room holds; a map prints in sorted order"},
	{"fmt.Fprintf", "formats into a writer that the room holds; a map prints in sorted order"},
	{"fmt.Fprintln", "formats into a writer that the room holds; a map prints in sorted order"},
	{"maps.Copy", "writes each key once, so no order can be seen"},
	{"maps.Equal", "answers the same in any order"},
}

// refused are sources of chance beyond the checker's own list.
var refused = []string{
	"time.After", "time.AfterFunc", "time.NewTicker", "time.NewTimer", "time.Since", "time.Tick", "time.Until",
	"(time.Time).Local",
	"os.Getenv", "os.LookupEnv", "os.Environ",
}
