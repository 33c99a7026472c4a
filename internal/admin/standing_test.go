package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// However a stream ends, it is not open any more; nor are those of a connection that
// is over.
func TestStreamsThatEndAreNotOpen(t *testing.T) {
	for end, open := range map[string]int{
		"":                            2,
		"-- server-end code=0":        1,
		"-- cut by=client":            1,
		"-- cut by=server reset=2":    1,
		"-- cut by=proxy msg=stopped": 1,
		"-- disconnect":               1,
	} {
		m, _ := counted(t, end, "C> type=CDS V= N= R=[] node=n1\n-- stream 2\nC> type=LDS V= N= R=[] node=n1\n"+end+"\n")
		want := fmt.Sprintf("# HELP xdsproxy_streams_open Streams that are open. After entries were lost it may be too high.\n# TYPE xdsproxy_streams_open gauge\nxdsproxy_streams_open{variant=\"sotw-ads\"} %d\n", open)
		if err := testutil.CollectAndCompare(m, strings.NewReader(want), "xdsproxy_streams_open"); err != nil {
			t.Errorf("%q: %v", end, err)
		}
	}
}
