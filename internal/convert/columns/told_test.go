package columns

import (
	"strconv"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
)

// Who had a finding that the Checker has forgotten is forgotten, too.
func TestToldHasABound(t *testing.T) {
	k, told := check.NewTracker(nil), newTold()
	for i := range leastRoom {
		told.findings[strconv.Itoa(i)] = who{}
	}
	if told.step(k, &check.Change{}); len(told.findings) != 0 || told.room != leastRoom {
		t.Errorf("%d are kept, and there is room for %d", len(told.findings), told.room)
	}
}
