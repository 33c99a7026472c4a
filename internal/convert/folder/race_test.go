//go:build race

package folder_test

// slow says that the race detector looks on.
const slow = true
