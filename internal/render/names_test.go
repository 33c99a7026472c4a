package render

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

func istioNode(i int) string {
	return fmt.Sprintf("sidecar~10.0.0.%d~reviews-v2-7d9f4b6c5-%c%c%cx9.default~default.svc.cluster.local", i, 'b'+i%20, 'c'+i/20, 'd'+i%7)
}

// different fails if two lines have the same in some columns.
func different(t *testing.T, lines []string, from, to int) {
	t.Helper()
	by := map[string]int{}
	for i, l := range lines {
		cell := string([]rune(l)[from:to])
		if other, is := by[cell]; is {
			t.Fatalf("lines %d and %d both have %q", other, i, cell)
		}
		by[cell] = i
	}
}

func TestStatusTellsManyClientsApart(t *testing.T) {
	var all []engine.ClientStatus
	for i := range 200 {
		all = append(all, engine.ClientStatus{Client: istioNode(i), Agent: "envoy"})
	}
	for _, columns := range []int{40, 80, 120} {
		lines := strings.Split(strings.TrimSpace(NewStanding(all, 1, time.Unix(1, 0)).Text(Style{}, columns)), "\n")
		if len(lines) != 201 {
			t.Fatalf("%d lines", len(lines))
		}
		next := len("CLIENT")
		for lines[0][next] == ' ' {
			next++
		}
		different(t, lines[1:], 0, next)
	}
}

func TestTreeTellsManyNamesApart(t *testing.T) {
	var all []*Node
	for i := range 300 {
		all = append(all, &Node{Type: "CDS", Name: fmt.Sprintf("outbound|8080||svc-%04d.namespace.svc.cluster.local", i), State: "ACKED"})
	}
	lines := strings.Split((&Tree{Client: "gw", Roots: all}).Text(Style{}, 60), "\n")
	different(t, lines[1:301], 8, 40)
}

// watch meets clients one by one, and each keeps the name that it had first.
func TestWatchTellsManyClientsApart(t *testing.T) {
	table := NewTable(80, Style{})
	var first, again []string
	for round := range 2 {
		for i := range 200 {
			e := session.Entry{Seq: session.Seq(i + 1), Conn: session.ConnID(i + 1), Stream: session.StreamID(i + 1), Kind: session.KindGoAway}
			c := check.Change{Change: engine.Change{Client: istioNode(i)}}
			table.See(&e, &c)
			cell := string([]rune(table.Line(&e, &c))[20:33])
			if round == 0 {
				first = append(first, cell)
			} else {
				again = append(again, cell)
			}
		}
	}
	different(t, first, 0, 13)
	if strings.Join(first, "\n") != strings.Join(again, "\n") {
		t.Errorf("a client is called otherwise the second time: %q, %q", first, again)
	}
}
