package convert

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

// A gap names so many streams.
func TestStreamsOfAGapHaveABound(t *testing.T) {
	var h hole
	for id := range session.StreamID(maxHoleStreams + 1) {
		if h.add(&session.Entry{Stream: id + 1}); len(h.entry.Gap.Streams) != min(int(id)+1, maxHoleStreams) {
			t.Fatalf("%d of %d streams are named", len(h.entry.Gap.Streams), id+1)
		}
	}
}

// A diagram has so many steps, and counts those that it has not.
func TestStepsOfADiagramHaveABound(t *testing.T) {
	for more := range 2 {
		var out bytes.Buffer
		done := Result{Entries: maxMermaid + uint64(more)}
		w := newMermaid(&out, &done)
		for range maxMermaid + more {
			e := session.Entry{Kind: session.KindGap, Gap: &session.Gap{Entries: 1}}
			if err := w.visit(&e, &check.Change{}, true); err != nil {
				t.Fatal(err)
			}
		}
		err := w.end()
		said := strings.Contains(out.String(), fmt.Sprintf(": %d entries more are left out\n", more))
		if err != nil || done.Entries != maxMermaid || done.LeftOut != uint64(more) || said != (more > 0) {
			t.Errorf("%d over the bound: %+v, which it says: %t; %v", more, done, said, err)
		}
	}
}

// A report tells so many clients apart, and so many streams of each.
func TestClientsOfAReportHaveABound(t *testing.T) {
	a := account{clients: make(map[string]*reportClient), chosen: make(map[session.Seq]bool)}
	names := strings.Repeat("x", 300)
	for n := range maxTold - 1 {
		a.clients[names[:n&0xff]+string(rune(n>>8+1))] = nil
	}
	met := func(client string, stream session.StreamID) int {
		c := check.Change{}
		c.Client = client
		if err := a.visit(&session.Entry{Stream: stream}, &c, true); err != nil {
			t.Fatal(err)
		}
		return len(a.clients)
	}
	if first, second, again := met("one", 1), met("two", 1), met("one", 2); first != maxTold || second != maxTold || again != maxTold || a.clients["two"] != nil {
		t.Fatalf("%d, %d and %d are told apart", first, second, again)
	}
	one := a.clients["one"]
	for id := range session.StreamID(maxTold + 1) {
		if met("one", id+1); len(one.streams) != min(max(int(id)+1, 2), maxTold) {
			t.Fatalf("%d of %d streams are told apart", len(one.streams), id+1)
		}
	}
}

// A report lists so many findings, and counts those beyond.
func TestFindingsOfAReportHaveABound(t *testing.T) {
	for more := range 2 {
		var found []check.Finding
		for n := range reportListed + more {
			found = append(found, check.Finding{Rule: &check.Rule{ID: fmt.Sprint(n)}, Severity: check.Warning, Seqs: []session.Seq{1}})
		}
		var a account
		if a.judge(found, true, scope{check.Warning, reportListed}); len(a.findings) != reportListed || a.unlisted != more {
			t.Errorf("%d over the bound: %d are listed, %d are not", more, len(a.findings), a.unlisted)
		}
	}
}
