package compare

import (
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
)

// Which versions are compared: those that are named, by number or by entry, else
// those between which something went wrong.
func TestSteps(t *testing.T) {
	versions := []history.Version{
		{Seq: 10, State: engine.Acked}, {Seq: 20, State: engine.Acked}, {Seq: 30, State: engine.Rejected}, {Seq: 40, State: engine.Rejected},
	}
	for _, c := range []struct {
		asked Comparison
		want  []history.Step // nil: it is refused
	}{
		{Comparison{}, []history.Step{{From: 1, To: 3}}},
		{Comparison{All: true}, []history.Step{{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 3}}},
		{Comparison{To: "v3"}, []history.Step{{From: 1, To: 2}}},
		{Comparison{To: "v1"}, []history.Step{{From: 0, To: 0}}},
		{Comparison{To: "29"}, []history.Step{{From: 0, To: 1}}},
		{Comparison{From: "10"}, []history.Step{{From: 0, To: 3}}},
		{Comparison{From: "v4", To: "v2"}, []history.Step{{From: 3, To: 1}}},
		{Comparison{From: "30", To: "1000"}, []history.Step{{From: 2, To: 3}}},
		{Comparison{To: "v0"}, nil},
		{Comparison{To: "v5"}, nil},
		{Comparison{From: "9"}, nil},
		{Comparison{From: "last"}, nil},
	} {
		got, err := c.asked.steps(versions)
		if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("from %q to %q, all %v: %v, %v; want %v", c.asked.From, c.asked.To, c.asked.All, got, err, c.want)
		}
	}
	if got, err := (&Comparison{}).steps(versions[:1]); len(got) != 0 || err != nil {
		t.Errorf("of one version: %v, %v", got, err)
	}
}

// A resource is compared for one client and type. Clients that were sent the same
// are one; else it must be said which is meant.
func TestChoose(t *testing.T) {
	of := func(client, typ string, hashes ...byte) sent {
		s := sent{client: client, typ: typ}
		for i, h := range hashes {
			s.versions = append(s.versions, history.Version{Client: client, Type: typ, Hash: [16]byte{h}})
			s.versions[i].Seq = 10
			if client == "b" {
				s.versions[i].Seq = 11
			}
		}
		return s
	}
	same := &story{sent: []sent{of("a", "CDS", 1, 2), of("b", "CDS", 1, 2)}}
	mixed := &story{sent: []sent{of("a", "CDS", 1, 2), of("b", "CDS", 1, 3), of("b", "EDS", 4)}}
	spurned := &story{sent: []sent{of("a", "CDS", 1, 2), of("a", "EDS", 3)}}
	spurned.sent[1].versions[0].State = engine.Rejected
	both := &story{sent: []sent{of("a", "CDS", 1, 2), of("a", "EDS", 3)}}
	for i := range both.sent {
		both.sent[i].versions[0].State = engine.Rejected
		both.sent[i].versions[len(both.sent[i].versions)-1].State = engine.Rejected
	}
	for _, c := range []struct {
		in      *story
		asked   Comparison
		chosen  string // "": it is refused
		clients int
	}{
		{same, Comparison{}, "a CDS", 2},
		{same, Comparison{Client: "b"}, "b CDS", 1},
		{mixed, Comparison{}, "", 0},
		{mixed, Comparison{Type: "CDS"}, "", 0},
		{mixed, Comparison{Type: "EDS"}, "b EDS", 1},
		{mixed, Comparison{Type: "LDS"}, "", 0},
		{mixed, Comparison{Type: "CDS", Client: "a"}, "a CDS", 1},
		{mixed, Comparison{Type: "CDS", Client: "c"}, "", 0},
		{mixed, Comparison{Type: "CDS", To: "11"}, "b CDS", 1},
		{spurned, Comparison{}, "a EDS", 1},
		{spurned, Comparison{Type: "CDS"}, "a CDS", 1},
		{both, Comparison{}, "", 0},
	} {
		got, clients, err := c.asked.choose(c.in, "x")
		if name := got.client + " " + got.typ; err == nil && name != c.chosen || (err != nil) != (c.chosen == "") || len(clients) != c.clients {
			t.Errorf("%+v: %q of %v, %v", c.asked, name, clients, err)
		}
	}
}
