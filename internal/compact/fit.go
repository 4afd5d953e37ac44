package compact

// Reserve is what a map, an intermediate reduction and an audit are given to
// answer with, in tokens (MR-6).
func Reserve(window int) int { return min(max(window/10, 64), 2000) }

// Payload is how much of a window the work itself may take (MR-2).
func Payload(window int, stage string) int {
	n := 6000
	if stage == "map" {
		n = 8000
	}
	return window - min(n, window/2)
}

// slack is what a request takes beyond what is counted.
const slack = 64

// Fits reports whether a request of so many tokens, with what is reserved for
// the answer, fits a window. One that nobody knows is sized by an estimate
// (MR-13).
func Fits(tokens, reserve, window int) bool { return tokens+reserve+slack <= Sizing(window) }

// Sizing is the window that requests are sized by.
func Sizing(window int) int {
	if window <= 0 {
		return unknown
	}
	return window
}
