package engine

import (
	"strconv"
	"strings"
	"testing"
)

// How many names a request asks for: an empty list is everything only until
// the stream has named resources of the type.
func TestCount(t *testing.T) {
	for name, lines := range map[string]string{
		"everything, for ever": `
C> type=CDS V= N= R=[] node=n1      | -1
S< type=CDS V=1 N=a res=[c1]        | 1
C> type=CDS V=1 N=a R=[]            | -1`,
		"a cleared list, and the ACKs after it": `
C> type=CDS V= N= R=[c1,c2] node=n1 | 2
S< type=CDS V=1 N=a res=[c1,c2]     | 2
C> type=CDS V=1 N=a R=[]            | 0
S< type=CDS V=2 N=b res=[c1,c2]     | 2
C> type=CDS V=2 N=b R=[]            | 0
C> type=CDS V=2 N=b R=[c1]          | 1`,
		"everything, then names, then none": `
C> type=LDS V= N= R=[] node=n1      | -1
C> type=LDS V= N= R=[*,l1]          | -1
C> type=LDS V= N= R=[]              | 0`,
		"names only": `
C> type=EDS V= N= R=[] node=n1      | 0`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			for l := range strings.Lines(strings.TrimSpace(lines)) {
				line, want, _ := strings.Cut(l, "|")
				c := s.line(strings.TrimSpace(line))
				if got, _ := c.Count(); strconv.Itoa(got) != strings.TrimSpace(want) {
					t.Errorf("%s\n got %d\nwant %s", line, got, want)
				}
			}
		})
	}
}
