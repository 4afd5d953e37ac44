// Package permit judges a call against rules.
//
// It is pure: what a call does, and where its paths really lead, are facts that arrive
// with it (PERM-4); a verdict goes back and nothing is done. Judge (judge.go) says the
// order in which a verdict is reached.
//
// Rules look at a command from two sides, and neither trusts the other's reading:
//
//   - An allow rule matches only a command that is one plain command and nothing else
//     (simple, in simple.go). What might be more than that is not allowed by any rule
//     with a pattern: it asks.
//   - A deny rule looks into everything that can be taken apart (inside.go): lists,
//     pipes, wrappers, quoting, nested shells. What can't be taken apart might hide what
//     a deny rule forbids, so it asks too, whatever the mode (PERM-3).
package permit
