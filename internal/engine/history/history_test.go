package history_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
)

func historyOf(t testing.TB, text string, of history.Selection) []history.Version {
	t.Helper()
	s, err := script.Parse("test.xds", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	h, tracker := history.New(of, nil), engine.New(engine.Options{Names: true})
	for e := range s.Entries() {
		c := tracker.Step(&e)
		h.Step(&e, &c)
	}
	return h.Versions()
}

func brief(versions []history.Version) (out []string) {
	for _, v := range versions {
		s := v.Client + " " + v.Type + " " + v.Version + " " + string(v.State)
		if v.Removed {
			s += " removed"
		}
		if v.Pushes > 1 {
			s += fmt.Sprintf(" x%d", v.Pushes)
		}
		if v.Heartbeats > 0 {
			s += fmt.Sprintf(" heartbeats %d", v.Heartbeats)
		}
		if v.Reason != "" {
			s += " because " + v.Reason
		}
		out = append(out, s)
	}
	return out
}

func TestHistory(t *testing.T) {
	for _, test := range []struct {
		name, script string
		of           history.Selection
		want         []string
	}{
		{
			"accepted, repeated, changed, rejected",
			`C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1{eds},c2]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[c1{eds},c2{eds}]
C> type=CDS V=1 N=b R=[] err="c2 is bad" code=13
S< type=CDS V=3 N=c res=[c1,c2]
C> type=CDS V=1 N=c R=[] err="c1 is bad" code=13
`,
			history.Selection{Name: "c1"},
			[]string{"n1 CDS 1 ACKED x2", "n1 CDS 3 NACKED because c1 is bad"},
		},
		{
			"removed by absence, and not answered",
			`C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1,c2]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[c2]
C> type=CDS V=2 N=b R=[]
S< type=CDS V=3 N=c res=[c1,c2]
`,
			history.Selection{Name: "c1", Client: "n1", Type: "CDS"},
			[]string{"n1 CDS 1 ACKED", "n1 CDS 2 ACKED removed", "n1 CDS 3 SENT"},
		},
		{
			"of a named type absence says nothing",
			`C> type=EDS V= N= R=[e1,e2] node=n1
S< type=EDS V=1 N=a res=[e1,e2]
C> type=EDS V=1 N=a R=[e1,e2]
S< type=EDS V=2 N=b res=[e2]
C> type=EDS V=2 N=b R=[e1,e2]
`,
			history.Selection{Name: "e1"},
			[]string{"n1 EDS 1 ACKED"},
		},
		{
			"delta: versions of resources, removal",
			`D> type=CDS sub=[*] node=n1
d< type=CDS N=a res=[c1@7,c2@8]
D> type=CDS N=a
d< type=CDS N=b res=[c2@9]
D> type=CDS N=b
d< type=CDS N=c rm=[c1]
D> type=CDS N=c
`,
			history.Selection{Name: "c1"},
			[]string{"n1 CDS 7 ACKED", "n1 CDS  ACKED removed"},
		},
		{
			"two clients, one name in two types",
			`C> type=CDS V= N= R=[] node=n1
-- stream 2
C> type=EDS V= N= R=[x] node=n2
@1 S< type=CDS V=1 N=a res=[x]
@2 S< type=EDS V=2 N=a res=[x]
@1 C> type=CDS V=1 N=a R=[]
`,
			history.Selection{Name: "x"},
			[]string{"n1 CDS 1 ACKED", "n2 EDS 2 SENT"},
		},
		{
			"a reconnect repeats, and finds one gone",
			`C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1,c2]
C> type=CDS V=1 N=a R=[]
-- server-end code=14
-- stream 2
C> type=CDS V=1 N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1,c2]
C> type=CDS V=1 N=a R=[]
-- server-end code=14
-- stream 3
C> type=CDS V=1 N= R=[] node=n1
S< type=CDS V=2 N=a res=[c2]
C> type=CDS V=2 N=a R=[]
`,
			history.Selection{Name: "c1"},
			[]string{"n1 CDS 1 ACKED x2", "n1 CDS 2 ACKED removed"},
		},
		{
			"streams that ask for different names do not speak for each other",
			`C> type=CDS V= N= R=[c1] node=n1
S< type=CDS V=1 N=a res=[c1]
-- stream 2
C> type=CDS V= N= R=[c2] node=n1
S< type=CDS V=1 N=a res=[c2]
C> type=CDS V=1 N=a R=[c2]
`,
			history.Selection{Name: "c1"},
			[]string{"n1 CDS 1 SENT"},
		},
		{
			"heartbeats are no versions",
			`C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[w:c1~5s]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=1 N=b res=[hb:c1~5s]
S< type=CDS V=1 N=c res=[hb:c1~5s]
`,
			history.Selection{Name: "c1"},
			[]string{"n1 CDS 1 ACKED heartbeats 2"},
		},
		{
			"what was rejected may be accepted later",
			`C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V= N=a R=[] err="no" code=13
S< type=CDS V=2 N=b res=[c1]
C> type=CDS V=2 N=b R=[]
`,
			history.Selection{Name: "c1"},
			[]string{"n1 CDS 1 ACKED x2"},
		},
		{
			"names in another form",
			`C> type=CDS V= N= R=[xdstp://a/envoy.config.cluster.v3.Cluster/x?b=1&a=2] node=n1
S< type=CDS V=1 N=a res=[xdstp://a/envoy.config.cluster.v3.Cluster/x?a=2&b=1]
`,
			history.Selection{Name: "xdstp://a/envoy.config.cluster.v3.Cluster/x?b=1&a=2"},
			[]string{"n1 CDS 1 SENT"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := brief(historyOf(t, test.script, test.of)); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestLastStep(t *testing.T) {
	const a, n, r = engine.Acked, engine.Rejected, engine.Sent
	version := func(s engine.ResourceState) history.Version { return history.Version{State: s} }
	gone := history.Version{State: a, Removed: true}
	for i, test := range []struct {
		versions []history.Version
		want     history.Step
		ok       bool
	}{
		{nil, history.Step{}, false},
		{[]history.Version{version(a)}, history.Step{From: -1, To: 0}, false},
		{[]history.Version{version(a), version(a), version(r)}, history.Step{From: 1, To: 2}, true},
		{[]history.Version{version(a), version(n), version(n)}, history.Step{From: 0, To: 2}, true},
		{[]history.Version{version(n), version(n)}, history.Step{From: 0, To: 1}, true},
		{[]history.Version{version(a), version(n), version(a)}, history.Step{From: 1, To: 2}, true},
		{[]history.Version{version(a), gone, version(a), gone}, history.Step{From: 0, To: 2}, true},
	} {
		if got, ok := history.LastStep(test.versions); got != test.want || ok != test.ok {
			t.Errorf("%d: %v, %v", i, got, ok)
		}
	}
}

// In real sessions each version's content is where it says, and no two in a row
// are the same.
func TestHistoryOfSessions(t *testing.T) {
	files, err := filepath.Glob("../../../check/testdata/sessions/*.xdsp")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	seen, rejected := 0, 0
	for _, file := range files {
		entries := recordertest.Entries(t, file)
		names := make(map[string]*history.History)
		tracker := engine.New(engine.Options{Names: true})
		changes := make([]engine.Change, len(entries))
		for i := range entries {
			changes[i] = tracker.Step(&entries[i])
			if m := changes[i].Message; m != nil {
				for _, r := range m.Resources {
					names[r.Name] = history.New(history.Selection{Name: r.Name}, nil)
				}
			}
		}
		for name, h := range names {
			for i := range entries {
				h.Step(&entries[i], &changes[i])
			}
			last := make(map[string]history.Version)
			for _, v := range h.Versions() {
				seen++
				if v.State == engine.Rejected {
					rejected++
				}
				key := v.Client + " " + v.Type
				if before := last[key]; before.Hash == v.Hash && before.Removed == v.Removed && before.TypeURL == v.TypeURL {
					t.Errorf("%s: %s: versions %d and %d are the same", file, name, before.Seq, v.Seq)
				}
				last[key] = v
				r := changes[v.Seq-entries[0].Seq].Resource(name)
				if (r == nil || r.Empty) != v.Removed || r != nil && len(r.Body) != v.Size {
					t.Errorf("%s: %s: the content of version %d is not there", file, name, v.Seq)
				}
				if v.State != engine.Sent && v.Judged <= v.Seq {
					t.Errorf("%s: %s: version %d was judged by %d", file, name, v.Seq, v.Judged)
				}
			}
		}
	}
	if seen < 200 || rejected < 10 {
		t.Errorf("%d versions, %d of them rejected", seen, rejected)
	}
}
