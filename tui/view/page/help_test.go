package page

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/check/filter"
)

func TestFilterExamplesAreFilters(t *testing.T) {
	for _, e := range filterExamples() {
		if _, err := filter.Parse(e.Filter); err != nil {
			t.Error(err)
		}
	}
}
