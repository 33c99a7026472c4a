package check_test

import "github.com/xdsproxy/xdsproxy/check"

// What the soak needs to know of how a Checker bounds its memory is here, and
// nowhere else.

// soakAsserts says whether TestSoak fails where a bound does not hold, or only
// tells by how much.
const soakAsserts = true

// newSoakChecker returns a Checker with the default rules that may take budget
// bytes for what is past.
func newSoakChecker(budget int64) *check.Checker {
	return check.NewChecker(check.Options{Past: budget})
}

// soakMemory is what a Checker says of its memory.
type soakMemory struct {
	past, budget int64 // bytes
	forgotten    uint64
}

// memoryOf asks a Checker.
func memoryOf(k *check.Checker) (m soakMemory, ok bool) {
	is := k.Memory()
	return soakMemory{is.Past, is.Budget, is.Forgotten}, true
}
