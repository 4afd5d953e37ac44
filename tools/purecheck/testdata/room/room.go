// Package room has one function for each thing that purecheck must see, and for each that it must let pass.
package room

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

func Order(m map[string]int) (s string) { // want `Order is not pure: it iterates over map`
	for k := range m {
		s += k
	}
	return s
}

// Caller is reported once, at Order, where it can be mended.
func Caller(m map[string]int) string { return Order(m) }

func Keys(m map[string]int) []string { // want `Keys is not pure: .*maps.Keys`
	return slices.Collect(maps.Keys(m))
}

func Clock() time.Time { return time.Now() } // want `Clock is not pure: .*time.Now`

func Zone(t time.Time) string { return t.Local().String() } // want `Zone is not pure: .*Local`

func Timer() { time.NewTimer(0) } // want `Timer is not pure: .*time.NewTimer`

func Spawn() { go Clock() } // want `Spawn is not pure: .*goroutine`

func Env() string { return os.Getenv("HOME") } // want `Env is not pure: .*os.Getenv`

func Print(s string) { fmt.Println(s) } // want `Print is not pure: .*fmt.Println`

func Sorted(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }

func Sum(m map[string]int) (n int) {
	//workflowcheck:ignore a sum has no order
	for _, v := range m {
		n += v
	}
	return n
}

func Hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func Decode(b []byte) (n int, err error) {
	if err := json.Unmarshal(b, &n); err != nil {
		return 0, fmt.Errorf("decode: %w", err)
	}
	return n, nil
}

func Text(t time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", t.UTC().Format(time.RFC3339Nano))
	return b.String()
}

func Parse(s string) (time.Time, error) { return time.Parse(time.RFC3339Nano, s) }

var memo = sync.OnceValue(func() map[string]int { return map[string]int{"a": 1} })

func Memo() int { return memo()["a"] }
