package csds_test

import (
	"strings"
	"testing"
)

// Of a resource that a client has by two streams, what it accepted last counts.
func TestTwice(t *testing.T) {
	t.Parallel()
	first := "C> type=CDS V= N= R=[] node=a\nS< type=CDS V=1 N=x res=[web#1]\nC> type=CDS V=1 N=x R=[]\n"
	second := "-- stream 2 conn=1\nC> type=CDS V= N= R=[] node=a\n"
	sent := second + "S< type=CDS V=2 N=y res=[web#2]\n"
	for name, c := range map[string]struct{ text, want string }{
		"the second":           {first + sent + "C> type=CDS V=2 N=y R=[]\n", "node a; Cluster web ACKED SYNCED at 2 with content"},
		"the first again":      {first + sent + "C> type=CDS V=2 N=y R=[]\n@1 S< type=CDS V=3 N=z res=[web#3]\n@1 C> type=CDS V=3 N=z R=[]\n", "node a; Cluster web ACKED SYNCED at 3 with content"},
		"others on the second": {first + second + "S< type=CDS V=2 N=y res=[api]\nC> type=CDS V=2 N=y R=[]\n", "node a; Cluster api ACKED SYNCED at 2 with content; Cluster web ACKED SYNCED at 1 with content"},
	} {
		v := stand(t, c.text)
		v.Ready()
		if got := strings.Join(answer(t, v, nil), "; "); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
