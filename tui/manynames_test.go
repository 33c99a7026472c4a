package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// istioNodes are clients as Istio calls them, of four applications.
func istioNodes(n int) (out []string) {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	for i := range n {
		app := []string{"productpage-v1-6b746f74dc", "reviews-v2-7d9f4b6c5", "ratings-v1-85cc46b6d4", "details-v1-79f774bdb9"}[i%4]
		tail := string([]byte{letters[i*7%27], letters[i*11%27], letters[i/27%27], letters[i%27], letters[i*5%27]})
		out = append(out, fmt.Sprintf("sidecar~10.0.%d.%d~%s-%s.default~default.svc.cluster.local", i/250, i%250, app, tail))
	}
	return out
}

func istioClusters(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("outbound|8080||svc-%04d.ns-%d.svc.cluster.local", i, i%7))
	}
	return out
}

// inTheMiddle are names of 80 characters that differ there, byOne those that differ
// in one character, each in another one.
func inTheMiddle(n int) (out []string) {
	for i := range n {
		out = append(out, strings.Repeat("a", 38)+fmt.Sprintf("%04d", i)+strings.Repeat("b", 38))
	}
	return out
}

func byOne(n int) (out []string) {
	for i := range n {
		name := []byte(strings.Repeat("x", 80))
		name[i] = 'y'
		out = append(out, string(name))
	}
	return out
}

func clientsCalled(names []string) string {
	var b strings.Builder
	for i, n := range names {
		fmt.Fprintf(&b, "-- stream %d\nC> type=CDS V= N= R=[] node=%s ua=envoy/1.40.0\nS< type=CDS V=1 N=a res=[c]\nC> type=CDS V=1 N=a R=[]\n", i+1, n)
	}
	return b.String()
}

func clustersCalled(names []string) string {
	list := strings.Join(names, ",")
	return fmt.Sprintf("-- stream 1\nC> type=CDS V= N= R=[] node=gw-0 ua=envoy/1.40.0\nS< type=CDS V=1 N=a res=[%s]\nC> type=CDS V=1 N=a R=[]\n", list)
}

// namesShown are the cells of the first column on every page of a list, from its
// title on, up to the title of the next column.
func namesShown(d *driver, first, next string) (pages [][]string) {
	d.tb.Helper()
	d.press("g")
	for last := ""; ; {
		frame := ansi.Strip(d.frame())
		if frame == last {
			return pages
		}
		last = frame
		lines := strings.Split(frame, "\n")
		var page []string
		from, end := -1, 0
		for _, l := range lines {
			if i := strings.Index(l, next); from < 0 && strings.Contains(l, first) && i > 0 {
				from, end = 2, len([]rune(l[:i]))
				continue
			}
			if r := []rune(l); from >= 0 && len(r) > end+8 && (r[0] == ' ' || r[0] == '>') && r[end-1] == ' ' {
				page = append(page, strings.TrimSpace(string(r[from:end])))
			}
		}
		pages = append(pages, page)
		d.press("pgdown")
	}
}

func TestManyNamesLookDifferent(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {160, 50}} {
		for _, c := range []struct {
			what, view, first, next string
			script                  string
			names                   int
		}{
			{"clients of Istio", "1", "CLIENT", "KIND", clientsCalled(istioNodes(200)), 200},
			{"clients that differ in the middle", "1", "CLIENT", "KIND", clientsCalled(inTheMiddle(60)), 60},
			{"clients that differ in a character", "1", "CLIENT", "KIND", clientsCalled(byOne(80)), 80},
			{"clusters of Istio", "3", "RESOURCE", "STATE", clustersCalled(istioClusters(2000)), 2000},
			{"clusters that differ in the middle", "3", "RESOURCE", "STATE", clustersCalled(inTheMiddle(200)), 200},
			{"clusters that differ in a character", "3", "RESOURCE", "STATE", clustersCalled(byOne(80)), 80},
		} {
			t.Run(fmt.Sprintf("%s/%dx%d", c.what, size[0], size[1]), func(t *testing.T) {
				d := drive(t, played(t, c.script), size[0], size[1], Options{Theme: "mono"})
				d.press(c.view)
				all := map[string]bool{}
				for i, page := range namesShown(d, c.first, c.next) {
					seen := map[string]bool{}
					for _, n := range page {
						if seen[n] {
							t.Fatalf("two rows of page %d are %q:\n%s", i, n, d.frame())
						}
						seen[n], all[n] = true, true
					}
				}
				if len(all) < c.names {
					t.Errorf("%d names were seen, of %d:\n%s", len(all), c.names, d.frame())
				}
			})
		}
	}
}
