package launch

import (
	"errors"
	"testing"

	"github.com/xdsproxy/xdsproxy/replay"
)

// What came of a play is one of three, and the matrix has what was entered.
func TestOutcomes(t *testing.T) {
	for _, tc := range []struct {
		report *replay.Report
		wrong  error
		want   Outcome
	}{
		{&replay.Report{}, nil, AsRecorded},
		{&replay.Report{Differences: make([]replay.Difference, 1)}, nil, Differs},
		{&replay.Report{Differences: make([]replay.Difference, 1)}, errors.New("it did not start"), Failed},
	} {
		var m Matrix
		m.Enter("a.xdsp", "client", "envoy", tc.report, tc.wrong)
		for _, o := range []Outcome{AsRecorded, Differs, Failed} {
			if m.Has(o) != (o == tc.want) {
				t.Errorf("%v, %v: has %v is %v", tc.report, tc.wrong, o, m.Has(o))
			}
		}
		if c := m.Cells[0]; c.Source != "a.xdsp" || c.Command != "client" || c.Client != "envoy" || (c.Error != "") != (tc.wrong != nil) {
			t.Errorf("the cell is %+v", c)
		}
	}
}
