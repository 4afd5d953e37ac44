// Package house holds the project to its own rules. It has no code of its own, only tests: who may import whom, what a
// pure room may touch, what the program may link, how large it may be, and whether the documents still tell the truth.
package house
