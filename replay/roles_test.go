package replay

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

func TestRoleOf(t *testing.T) {
	for _, c := range []struct {
		asked, id string
		recorded  []string
		client    string
		known     bool
	}{
		{"n2", "n1", []string{"n1", "n2"}, "n2", true},
		{"", "n1", []string{"n1", "n2"}, "n1", true},
		{"", "n3", []string{"n1", "n2"}, "", false},
		{"", "n3", []string{"n1"}, "n1", true},
		{"", "n3", nil, "", false},
	} {
		if client, known := RoleOf(c.asked, c.id, c.recorded); client != c.client || known != c.known {
			t.Errorf("%+v: %q, %v", c, client, known)
		}
	}
}

// An Envoy asks for some names only when a request that it serves needs them.
func TestOnDemand(t *testing.T) {
	for _, c := range []struct {
		envoy     bool
		typ, name string
		want      bool
	}{
		{true, "VHDS", "routes/a.example.com", true},
		{true, "VHDS", "xdstp://x/y", true},
		{false, "VHDS", "routes/a.example.com", false},
		{true, "CDS", "c1", true},
		{true, "CDS", "xdstp://x/y", false},
		{true, "CDS", "*", false},
		{true, "EDS", "c1", false},
	} {
		if got := (&Stream{Envoy: c.envoy}).OnDemand(&Topic{Type: c.typ}, c.name); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestSteps(t *testing.T) {
	s := &Stream{Method: xds.Method{Type: "CDS"}, Steps: []Step{{Seq: 3}, {Seq: 7}}, Topics: []*Topic{{Key: "CDS"}, {Key: "EDS", Responses: []int32{2, 5}}}}
	for seq, want := range map[session.Seq]int32{2: None, 3: 0, 4: None, 7: 1, 8: None} {
		if got := s.StepOf(seq); got != want {
			t.Errorf("entry %d is step %d, want %d", seq, got, want)
		}
	}
	if a, b, c := s.TopicOf("CDS"), s.TopicOf("EDS"), s.TopicOf("LDS"); a != 0 || b != 1 || c != None {
		t.Error(a, b, c)
	}
	if a, b := s.Topics[1].Place(2), s.Topics[1].Place(5); a != 1 || b != 2 {
		t.Error(a, b)
	}
	if a, b := s.TypeKey(""), s.TypeKey("type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"); a != "CDS" || b != "EDS" {
		t.Error(a, b)
	}
	for want, st := range map[bool][]Step{
		true:  {{Server: true, Whole: true, Answered: 4}, {Server: true, Whole: true, Answered: None, Silent: true}},
		false: {{Server: true, Whole: true, Answered: None}, {Server: true, Answered: 4}, {Whole: true, Answered: 4}},
	} {
		for i := range st {
			if st[i].Expects() != want {
				t.Errorf("%+v expects %v", st[i], !want)
			}
		}
	}
	if (*End)(nil).ByServer() || (&End{Side: session.Client}).ByServer() || !(&End{Side: session.Server}).ByServer() || !(&End{}).ByServer() {
		t.Error("who ended a stream")
	}
}

// What a client asked for by the end, and what it gave up.
func TestInterestIn(t *testing.T) {
	const begins = `
C> type=EDS V= N= R=[a,b] node=n1
S< type=EDS V=1 N=a res=[a,b]
C> type=EDS V=1 N=a R=[a,b]
C> type=LDS V= N= R=[l]
`
	for _, c := range []struct{ name, rest, want string }{
		{"open", "", "[a b] [a b]"},
		{"gave one up", "C> type=EDS V=1 N=a R=[b]\nS< type=EDS V=2 N=b res=[b]\n", "[a b] [b]"},
		{"gave it up with an answer", "S< type=EDS V=2 N=b res=[b]\nC> type=EDS V=2 N=b R=[b]\n", "[a b] [b]"},
		{"gives one for another", "C> type=EDS V=1 N=a R=[b,c]\n", "[a b c] [b c]"},
		{"gave it up and left", "C> type=EDS V=1 N=a R=[b]\nC> type=EDS V=1 N=a R=[]\n-- client-end\n", "[a b] [a b]"},
		{"gave one for another and left", "C> type=EDS V=1 N=a R=[b,c]\n-- client-end\n", "[a b c] [b c]"},
		{"gave it up, repeated itself and left", "C> type=EDS V=1 N=a R=[b]\nC> type=EDS V=1 N=a R=[b]\n-- client-end\n", "[a b] [b]"},
		{"gave it up and the recording ends", "C> type=EDS V=1 N=a R=[b]\n", "[a b] [a b]"},
		{"gave it up before the server left", "C> type=EDS V=1 N=a R=[b]\n-- server-end code=14\n", "[a b] [b]"},
	} {
		s := planOfScript(t, begins+c.rest).Streams[0]
		w := s.InterestIn(s.TopicOf("EDS"))
		if got := interestText(w); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if w := (&Stream{End: &End{Side: session.Client}, Steps: []Step{{Removed: []string{"a"}}}, Topics: []*Topic{{}}}).InterestIn(0); interestText(w) != "[] []" {
		t.Errorf("of a client that only gave up: %s", interestText(w))
	}
}

// So many names are remembered, and not one more.
func TestNamesAreBounded(t *testing.T) {
	w := NewInterest()
	for i := range maxAsked - 1 {
		w.Asked[strconv.Itoa(i)] = struct{}{}
	}
	w.Change([]string{"a", "b"}, nil)
	w.Change(nil, []string{"b"})
	if _, b := w.Asked["b"]; len(w.Asked) != maxAsked || b || len(w.Wanted) != 1 {
		t.Errorf("%d names, %d wanted", len(w.Asked), len(w.Wanted))
	}
}

func interestText(w Interest) string {
	return fmt.Sprint(slices.Sorted(maps.Keys(w.Asked)), slices.Sorted(maps.Keys(w.Wanted)))
}

func TestInterestCompared(t *testing.T) {
	interest := func(asked []string, gaveUp ...string) Interest {
		w := NewInterest()
		w.Change(asked, nil)
		w.Change(nil, gaveUp)
		return w
	}
	ab := interest([]string{"a", "b"})
	for _, c := range []struct {
		name       string
		w          Interest
		same, came bool
	}{
		{"the same", interest([]string{"b", "a"}), true, true},
		{"more", interest([]string{"a", "b", "c"}), false, true},
		{"fewer", interest([]string{"a"}), false, false},
		{"another", interest([]string{"a", "c"}), false, false},
		{"one given up", interest([]string{"a", "b"}, "a"), false, false},
		{"one given up that was kept since", interest([]string{"a", "b"}, "a").Kept([]string{"a"}), true, true},
	} {
		if c.w.Same(ab) != c.same || c.w.Came(ab) != c.came {
			t.Errorf("%s: same %v, came %v", c.name, c.w.Same(ab), c.w.Came(ab))
		}
	}
	gone := interest([]string{"a", "b"}, "b")
	if ab.Came(gone) || !gone.Came(gone) {
		t.Error("who still wants a name has not come to giving it up")
	}
	gone.Kept([]string{"b"})
	if interestText(gone) != "[a b] [a]" {
		t.Errorf("to keep changes what was there: %s", interestText(gone))
	}
}
