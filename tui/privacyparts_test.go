package tui

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/tui/key"
)

// secretNames are names as Istio gives them. Of each a part is known by nobody else.
func secretNames(r *rand.Rand, n int, form string) (names, secrets []string) {
	const letters = "bcdfghjklmnpqrstvwxz"
	for range n {
		word := func(n int) string {
			b := make([]byte, n)
			for i := range b {
				b[i] = letters[r.IntN(len(letters))]
			}
			secrets = append(secrets, string(b))
			return string(b)
		}
		names = append(names, fmt.Sprintf(form, word(24), word(16)))
	}
	return names, secrets
}

// While privacy is on no view shows even a part of a name: not where a name is too long
// for its column, nor where a text has been cut within one.
func TestPrivacyHidesParts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	clients, secrets := secretNames(r, 2, "sidecar~10.8.0.7~%s-7d9f4b6c5.%s~default.svc.cluster.local")
	clusters, more := secretNames(r, 6, "outbound|8080||%s.%s.svc.cluster.local")
	secrets = append(secrets, more...)
	long, more := secretNames(r, 1, "outbound|8080||"+strings.Repeat("%[1]s.%[2]s.", 6)+"svc.cluster.local")
	secrets = append(secrets, more...)
	clusters = append(clusters, long...)
	var b strings.Builder
	for i, n := range clients {
		all := strings.Join(clusters, ",")
		fmt.Fprintf(&b, "-- stream %d\nC> type=CDS V= N= R=[] node=%s ua=envoy/1.40.0\nS< type=CDS V=1 N=a res=[%s]\n", i+1, n, all)
		fmt.Fprintf(&b, "C> type=CDS V= N=a R=[] err=\"Error adding/updating cluster(s) %s: no such thing\"\n", strings.ReplaceAll(all, ",", ": bad port, "))
		fmt.Fprintf(&b, "S< type=CDS V=2 N=b res=[%s]\nC> type=CDS V=2 N=b R=[]\n", strings.ReplaceAll(all, ",", "#2,"))
		fmt.Fprintf(&b, "C> type=EDS V= N= R=[%s]\nS< type=EDS V=2 N=e res=[%s]\nC> type=EDS V=2 N=x R=[%s]\n", all, clusters[1], all)
	}
	fmt.Fprintf(&b, "-- held node=%s source=envoy-admin at=127.0.0.1:9901 CDS/error=[%s@1#\"no room\"] CDS/gone=[%s@1]\n", clients[0], clusters[0], long[0])
	b.WriteString("t=+40s -- tick\n")
	src := played(t, b.String())
	var keys []string
	for _, b := range key.All() {
		keys = append(keys, b.Keys...)
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "ctrl+c" || k == "P" })
	for _, size := range append(sizes(), [2]int{200, 60}) {
		d := drive(t, src, size[0], size[1], Options{Theme: "mono"})
		d.press("P")
		tour := strings.Fields("1 G k k k space enter v v v q Y q L q g j j enter q c c 2 enter v v v q d q L q Y q G enter v v d q q 3 enter q 4 enter j enter q 4 5 j enter q 6 enter q E ? b")
		for range 150 {
			tour = append(tour, keys[r.IntN(len(keys))])
		}
		for i, k := range tour {
			if d.m.prompt != nil {
				d.press("esc") // keys would write words of their own
			}
			d.press(k)
			frame := d.frame()
			lines := strings.Split(frame, "\n")
			if d.m.prompt != nil { // what is typed is shown as it is
				lines = slices.Delete(lines, d.m.h-2, d.m.h-1)
			}
			if leaked := partOf(secrets, strings.Join(lines, "\n")); leaked != "" {
				t.Fatalf("%v, after %v: %q is on the screen:\n%s", size, tour[max(0, i-8):i+1], leaked, frame)
			}
			if copied := d.m.screenText(); partOf(secrets, copied) != "" {
				t.Fatalf("%v, after %v: %q is copied:\n%s", size, tour[max(0, i-8):i+1], partOf(secrets, copied), copied)
			}
		}
	}
}

// partOf is a part of a secret that a text has; "" if it has none.
func partOf(secrets []string, text string) string {
	const least = 5
	for _, s := range secrets {
		for i := range len(s) - least + 1 {
			if part := s[i : i+least]; strings.Contains(text, part) {
				return part
			}
		}
	}
	return ""
}
