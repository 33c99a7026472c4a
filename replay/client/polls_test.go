package client_test

import (
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/replaytest"
)

// What two sides of polls differ in is told, by each of the other.
func TestPolls(t *testing.T) {
	const begin = `
-- stream 1 node=n1 method=/v3/discovery:clusters
@1 P> path=/v3/discovery:clusters type=CDS V= node=n1
@1 p< 200 type=CDS V=1 res=[c1]
@1 P> path=/v3/discovery:clusters type=CDS V=1 node=n1
@1 p< 304
@1 P> path=/v3/discovery:endpoints type=EDS V= R=[c1] node=n1
`
	for name, c := range map[string]struct {
		server, client     string // what each has after the beginning
		byServer, byClient string
	}{
		"the same": {"@1 p< 404", "@1 p< 404", "", ""},
		"streams, too": {
			"@1 p< 404\n-- stream 2 node=n1\n@2 C> type=LDS V= N= R=[] node=n1\n@2 S< type=LDS V=1 N=a res=[l1]\n@2 C> type=LDS V=1 N=a R=[]",
			"@1 p< 404\n-- stream 2 node=n1\n@2 C> type=LDS V= N= R=[] node=n1\n@2 S< type=LDS V=1 N=a res=[l1]\n@2 C> type=LDS V=1 N=a R=[]", "", "",
		},
		"version 2": {
			"@1 p< 404\n@1 P> path=/v2/discovery:clusters V= node=n1\n@1 p< 200 V=1 res=[c1]\n@1 P> path=/v2/discovery:clusters V=1 node=n1\n@1 p< 304",
			"@1 p< 404\n@1 P> path=/v2/discovery:clusters V= node=n1\n@1 p< 200 V=1 res=[c1]\n@1 P> path=/v2/discovery:clusters V=1 node=n1\n@1 p< 304", "", "",
		},
		"a server was away": {"@1 p< 404\n@1 P> path=/v3/discovery:endpoints type=EDS V= R=[c1] node=n1\n@1 p< 200 type=EDS V=1 res=[c1]", "@1 p< 503\n@1 P> path=/v3/discovery:endpoints type=EDS V= R=[c1] node=n1\n@1 p< 200 type=EDS V=1 res=[c1]", "", ""},
		"not found":         {"@1 p< 404", "@1 p< 200 type=EDS V=1 res=[c1]", "", "expected status 200, got status 404\nexpected EDS \"c1\" as in entry 17, got nothing"},
		"found":             {"@1 p< 200 type=EDS V=1 res=[c1]", "@1 p< 500", "", "expected status 500, got status 200\nexpected no such content of EDS \"c1\", got it"},
		"other names": {
			"@1 p< 404\n@1 P> path=/v3/discovery:endpoints type=EDS V= R=[c2] node=n1\n@1 p< 404", "@1 p< 404",
			`expected a poll for EDS of "c2", got none`, "",
		},
		"rejects": {
			"@1 p< 404\n@1 P> path=/v3/discovery:clusters type=CDS V=1 node=n1\n@1 p< 200 type=CDS V=2 res=[c1,c2]\n@1 P> path=/v3/discovery:clusters type=CDS V=2 node=n1\n@1 p< 304",
			"@1 p< 404\n@1 P> path=/v3/discovery:clusters type=CDS V=1 node=n1\n@1 p< 200 type=CDS V=2 res=[c1,c2]\n@1 P> path=/v3/discovery:clusters type=CDS V=1 node=n1\n@1 p< 304",
			"expected ACK, got no ACK", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			byServer, byClient := replaytest.Facing(t, replaytest.PlanOfScript(t, begin+c.server), replaytest.PlanOfScript(t, begin+c.client),
				replay.Options{Idle: time.Second})
			for _, side := range []struct {
				report *replay.Report
				want   string
			}{{byServer, c.byServer}, {byClient, c.byClient}} {
				var got []string
				for _, d := range side.report.Differences {
					got = append(got, "expected "+d.Expected+", got "+d.Got)
				}
				if strings.Join(got, "\n") != side.want || side.report.Streams == 0 || side.want == "" && side.report.Matched != side.report.Expected || side.report.Matched == 0 {
					t.Errorf("%q, not %q: %+v", got, side.want, side.report)
				}
			}
		})
	}
}
