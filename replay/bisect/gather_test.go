package bisect

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the client held when it rejected the last response: of the type in
// question what it had accepted by then, of others also what it was still to
// answer, and of what it asks for later what came then.
func TestReadRejectionWorld(t *testing.T) {
	const asks = `
D> type=CDS N= sub=[] node=n1
D> type=EDS N= sub=[a,b]
D> type=LDS N= sub=[]
`
	for name, test := range map[string]struct {
		script string
		want   map[string][]string
	}{
		"the answer crosses the response": {asks + `
d< type=CDS N=1 res=[a@1]
d< type=CDS N=2 res=[b@1]
D> type=CDS N=1
D> type=CDS N=2 err="no"
`, map[string][]string{"CDS": {"a@1"}}},
		"rejected before": {asks + `
d< type=CDS N=1 res=[a@1,b@1]
D> type=CDS N=1
d< type=CDS N=2 res=[a@2]
D> type=CDS N=2 err="no"
d< type=CDS N=3 res=[a@3]
D> type=CDS N=3 err="no"
`, map[string][]string{"CDS": {"a@1", "b@1"}}},
		"other types": {asks + `
d< type=EDS N=1 res=[a@1,b@1]
D> type=EDS N=1
d< type=LDS N=2 res=[l@1]
D> type=LDS N=2
d< type=LDS N=3 res=[l@2]
D> type=LDS N=3 err="no"
d< type=EDS N=4 res=[a@2]
d< type=CDS N=5 res=[c@1]
D> type=CDS N=5 err="no"
d< type=EDS N=6 res=[b@2,late@1]
D> type=EDS N=4
`, map[string][]string{"EDS": {"a@2", "b@1", "late@1"}, "LDS": {"l@1"}}},
		"a stream before": {`
D> type=CDS N= sub=[] node=n1
d< type=CDS N=1 res=[a@1,b@1]
D> type=CDS N=1
-- server-end code=14
-- stream 2
D> type=CDS N= sub=[] init={a:1,b:1} node=n1
d< type=CDS N=2 res=[b@2]
D> type=CDS N=2 err="no"
`, map[string][]string{"CDS": {"a@1", "b@1"}}},
		"without a node": {`
D> type=CDS N= sub=[]
d< type=CDS N=1 res=[a@1]
D> type=CDS N=1
d< type=CDS N=2 res=[a@2]
D> type=CDS N=2 err="no"
`, map[string][]string{"CDS": {"a@1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ReadRejection(t.Context(), 0, scripted(t, test.script))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]string{}
			for key, h := range r.has {
				for _, it := range h.list() {
					got[key] = append(got[key], it.name+"@"+it.version)
				}
				slices.Sort(got[key])
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
