//go:build !race

package columns

// slow says that the race detector looks on: what has no goroutines is left out then.
const slow = false
