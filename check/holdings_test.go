package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
)

func TestHoldings(t *testing.T) {
	s := parsed(t, `C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1,c2,c3]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[c1#2,c2]
C> type=CDS V=2 N=b R=[]
S< type=CDS V=3 N=c res=[c1#3,c2#3]
C> type=CDS V=2 N=c R=[] err="no" code=13
C> type=EDS V= N= R=[e1,e2]
S< type=EDS V=5 N=a res=[e1]
C> type=EDS V=5 N=a R=[e1,e2]
S< type=EDS V=6 N=b res=[e2]
C> type=EDS V=6 N=b R=[e1,e2]
S< type=EDS V=7 N=c res=[e2#2]
-- stream 2
D> type=CDS sub=[*] node=n2
d< type=CDS N=a res=[c1@1,c2@1]
D> type=CDS N=a
d< type=CDS N=b res=[c2@2#2] rm=[c1]
D> type=CDS N=b
`)
	k := check.NewChecker(check.Options{})
	for e := range s.Entries() {
		k.Step(&e)
	}
	h := k.Holdings()
	var got []string
	for _, client := range h.Clients() {
		for _, typ := range h.Types(client) {
			for _, r := range h.Of(client, typ) {
				got = append(got, strings.Join([]string{client, typ, r.Name, r.Version}, " "))
			}
		}
	}
	want := []string{"n1 CDS c1 2", "n1 CDS c2 2", "n1 EDS e1 5", "n1 EDS e2 6", "n2 CDS c2 2"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
