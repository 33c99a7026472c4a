package apart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/script"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
)

// more are conversations that no story has.
var more = map[string]string{
	"a listener without routes": `
-- stream 1 method=StreamClusters
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1,c2,c3]
C> type=CDS V=1 N=a R=[]
-- stream 2 conn=1 method=StreamListeners
C> type=LDS V= N= R=[] node=n1
S< type=LDS V=1 N=a res=[l1{c1},l2{rds=r1}]
C> type=LDS V=1 N=a R=[]
-- stream 3 conn=1 method=StreamRoutes
C> type=RDS V= N= R=[r1] node=n1
S< type=RDS V=1 N=a res=[r1{c1},r2{c2}]
C> type=RDS V=1 N=a R=[r1]
@1 S< type=CDS V=2 N=b res=[c3]
@1 C> type=CDS V=2 N=b R=[]
@2 S< type=LDS V=2 N=b res=[l1{c1}]
@2 C> type=LDS V=2 N=b R=[]
@3 -- server-end code=14
@2 -- server-end code=14
`,
	"routes only, and a stream that ends": `
-- stream 1 method=DeltaClusters
D> type=CDS sub=[*] node=n1
d< type=CDS N=a res=[c1,c2]
D> type=CDS N=a
-- stream 2 conn=1 method=StreamListeners
C> type=LDS V= N= R=[] node=n1
S< type=LDS V=1 N=a res=[l1{rds=r1},l2{rds=r2}]
C> type=LDS V=1 N=a R=[]
-- stream 3 conn=1 method=StreamRoutes
C> type=RDS V= N= R=[r1,r2] node=n1
S< type=RDS V=1 N=a res=[r1{c1},r2{c1,c2}]
C> type=RDS V=1 N=a R=[r1,r2]
@1 d< type=CDS N=b rm=[c1,c2]
@1 D> type=CDS N=b
@1 d< type=CDS N=c res=[c1]
@1 D> type=CDS N=c
@3 -- server-end code=14
`,
}

// What refers to clusters that are removed, on streams of their own, after each entry and for each
// response of clusters so far.
func TestLeadingTo(t *testing.T) {
	files, err := filepath.Glob("../testdata/stories/cluster-removed-while-referenced-*.xds")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d stories, %v", len(files), err)
	}
	texts := maps.Clone(more)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimPrefix(filepath.Base(f), "cluster-removed-while-referenced-")] = string(b)
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintln(&out, name)
		s, err := script.Parse(name, []byte(texts[name]))
		if err != nil {
			t.Fatal(err)
		}
		k := engine.New(engine.Options{})
		var seen []*engine.Response
		step := func(e *session.Entry) {
			c := k.Step(e)
			if c.Response != nil && c.Type == "CDS" {
				seen = append(seen, c.Response)
			}
			for sub := range k.TypesOfClient("n1") {
				for _, n := range seen {
					if sub.Type != "CDS" {
						continue
					}
					got := LeadingTo(k, "n1", sub, n)
					for _, cluster := range slices.Sorted(maps.Keys(got)) {
						by := got[cluster]
						fmt.Fprintf(&out, "  after %d: %s, which %d removed on stream %d: %s %s on stream %d\n", e.Seq, cluster, n.Seq, sub.Stream.ID, by.Sub.Type, by.Item.Name, by.Sub.Stream.ID)
					}
				}
			}
		}
		last := session.Seq(0)
		for e := range s.Entries() {
			step(&e)
			last = e.Seq
		}
		for _, stream := range []session.StreamID{2, 3} { // part of a stream was not seen
			last += 2
			step(&session.Entry{Seq: last, Kind: session.KindGap, Gap: &session.Gap{First: last - 1, Last: last - 1, Entries: 1, Streams: []session.StreamID{stream}}})
		}
	}
	golden.Is(t, "testdata/leading.golden", out.String())
}
