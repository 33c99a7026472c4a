//go:build race

package agree

// slow says that the race detector looks on.
const slow = true
