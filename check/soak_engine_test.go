package check_test

import "github.com/xdsproxy/xdsproxy/check"

// What the soak needs to know of how a Checker bounds its memory is here, and
// nowhere else.

// soakAsserts says whether TestSoak fails where a bound does not hold, or only
// tells by how much.
const soakAsserts = false

// newSoakChecker returns a Checker with the default rules that may take budget
// bytes for what is past. Today there is no such budget.
func newSoakChecker(budget int64) *check.Checker {
	return check.NewChecker(check.Options{})
}

// soakMemory is what a Checker says of its memory.
type soakMemory struct {
	past, budget int64 // bytes
	forgotten    uint64
}

// memoryOf asks a Checker; ok is false while it cannot tell.
func memoryOf(k *check.Checker) (m soakMemory, ok bool) {
	return soakMemory{}, false
}
