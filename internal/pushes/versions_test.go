package pushes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/pushes"
)

// What versions tell, and what they do not, where a server takes its time.
func TestVersions(t *testing.T) {
	const first = `
C> type=CDS V= N= R=[] node=gw
S< type=CDS V=%[1]s N=c res=[web#1,api#1]
C> type=CDS V=%[1]s N=c R=[]
C> type=LDS V= N= R=[]
S< type=LDS V=%[1]s N=l res=[in#1]
C> type=LDS V=%[1]s N=l R=[]
`
	const clusters, listeners = `
t=+%[3]ds S< type=CDS V=%[1]s N=c%[2]s res=[web#%[2]s,api#1]
C> type=CDS V=%[1]s N=c%[2]s R=[]
`, `
t=+%[3]ds S< type=LDS V=%[1]s N=l%[2]s res=[in#%[2]s]
C> type=LDS V=%[1]s N=l%[2]s R=[]
`
	both := func(version, content string) string {
		return fmt.Sprintf(clusters, version, content, 30) + fmt.Sprintf(listeners, version, content, 2)
	}
	started := func(version string) string { return fmt.Sprintf(first, version) }
	const start = "1 CDS,LDS 3 added 1 accepted start"
	for _, v := range []struct{ name, text, want string }{
		{"one that never changes", started("x") + both("x", "2") + both("x", "3"), `
2 CDS 1 changed 1 accepted
3 LDS 1 changed 1 accepted
4 CDS 1 changed 1 accepted
5 LDS 1 changed 1 accepted`},
		{"no numbers", started("first-of-all") + both("second-of-all", "2"), `
2 CDS,LDS 2 changed 1 accepted`},
		{"those before, again", started("first-of-all") + both("second-of-all", "2") + both("first-of-all", "1"), `
2 CDS,LDS 2 changed 1 accepted
3 CDS 1 changed 1 accepted
4 LDS 1 changed 1 accepted`},
		{"numbers that types share", started("1") + both("2", "2") + both("3", "3"), `
2 CDS,LDS 2 changed 1 accepted
3 CDS,LDS 2 changed 1 accepted`},
		{"numbers of each type", started("1") + fmt.Sprintf(clusters, "2", "2", 30) + fmt.Sprintf(listeners, "2", "2", 30) +
			fmt.Sprintf(clusters, "3", "3", 30) + fmt.Sprintf(listeners, "3", "3", 30), `
2 CDS 1 changed 1 accepted
3 LDS 1 changed 1 accepted
4 CDS 1 changed 1 accepted
5 LDS 1 changed 1 accepted`},
		{"sent again when it was rejected", started("1") +
			strings.Replace(fmt.Sprintf(clusters, "2", "2", 30), "C> type=CDS V=2 N=c2 R=[]", `C> type=CDS V=1 N=c2 R=[] err="no"`, 1) + `
t=+9s S< type=CDS V=2 N=again res=[web#2,api#1]
C> type=CDS V=2 N=again R=[]
`, `
2 CDS 1 changed 1 accepted`},
		{"a time, long after", started("2026-11-22T09:13:33Z/21") + fmt.Sprintf(clusters, "2026-11-22T09:14:00Z/22", "2", 30) +
			fmt.Sprintf(listeners, "2026-11-22T09:14:00Z/22", "2", 3000), `
2 CDS,LDS 2 changed 1 accepted`},
	} {
		s, err := script.Parse(v.name, []byte(v.text))
		if err != nil {
			t.Fatal(err)
		}
		k, g := check.NewChecker(check.Options{Rules: []*check.Rule{}}), pushes.New(pushes.Options{})
		for e := range s.Entries() {
			step(k, g, &e)
		}
		if got := lines(k, g); got != start+v.want {
			t.Errorf("%s:\n%s", v.name, got)
		}
	}
}
