package decode

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/session"
)

var (
	loadRequest = msg(sub(1, nodeField), sub(2, str(1, "c1"), str(6, "s1"), num(3, 7), sub(2, num(3, 1))), sub(2, str(1, "c2")))
	loadAnswer  = msg(str(1, "c1"), str(1, "c2"), sub(2, num(1, 5)), num(4, 1))
	clientState = sub(1, sub(1, str(1, "n1")), str(4, "scope"),
		sub(3, str(1, clusterURL), str(2, "c1"), str(3, "v7"), num(6, 1), num(7, 4), sub(8, str(3, "bad"))),
		sub(3, str(1, clusterURL), str(2, "c2"), num(7, 99)),
		sub(2, num(1, 3), sub(3, str(1, "v8")), num(7, 2)))
)

func TestPeekLoadStats(t *testing.T) {
	want := LoadStats{Node: wantNode, Loads: []ClusterLoad{{Name: "c1", Service: "s1", Dropped: 7}, {Name: "c2"}}}
	if diff := cmp.Diff(want, PeekLoadStats(session.Client, loadRequest)); diff != "" {
		t.Error(diff)
	}
	want = LoadStats{Clusters: []string{"c1", "c2"}, SendAll: true, Interval: 5 * time.Second}
	if diff := cmp.Diff(want, PeekLoadStats(session.Server, loadAnswer)); diff != "" {
		t.Error(diff)
	}
	if got := PeekLoadStats(session.Client, nil); got.Node != nil || got.Loads != nil {
		t.Errorf("%+v", got)
	}
}

func TestPeekClientStatus(t *testing.T) {
	want := ClientStatus{Configs: []ClientConfig{{NodeID: "n1", Scope: "scope", Resources: []ResourceStatus{
		{TypeURL: clusterURL, Name: "c1", Version: "v7", Client: "NACKED", Config: "SYNCED", Error: "bad"},
		{TypeURL: clusterURL, Name: "c2", Client: "99", Config: "UNKNOWN"},
		{TypeURL: clusterURL, Client: "ACKED", Config: "STALE"},
	}}}}
	if diff := cmp.Diff(want, PeekClientStatus(clientState)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(ClientStatus{}, PeekClientStatus(nil)); diff != "" {
		t.Errorf("of no bytes: %s", diff)
	}
	got := PeekClientStatus([]byte(`{"config":[{"node":{"id":"n1"},"clientScope":"scope","genericXdsConfigs":[
		{"typeUrl":"` + clusterURL + `","name":"c1","versionInfo":"v7","clientStatus":"NACKED","configStatus":"SYNCED","errorState":{"details":"bad"}}]}]}`))
	want.Configs[0].Resources = want.Configs[0].Resources[:1]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPeekReportsBoundLists(t *testing.T) {
	empty := []byte{2<<3 | 2, 0}
	if got := PeekLoadStats(session.Client, bytes.Repeat(empty, maxItems+1)); len(got.Loads) != maxItems || len(got.Problems) != 1 {
		t.Errorf("%d loads, %q", len(got.Loads), got.Problems)
	}
	config := sub(1, bytes.Repeat([]byte{3<<3 | 2, 0}, maxItems/2))
	got := PeekClientStatus(bytes.Repeat(config, 3))
	n := len(got.Configs)
	for _, c := range got.Configs {
		n += len(c.Resources)
	}
	if n != maxItems || len(got.Problems) != 1 {
		t.Errorf("%d items, %q", n, got.Problems)
	}
}

func FuzzPeekReports(f *testing.F) {
	for _, data := range [][]byte{loadRequest, loadAnswer, clientState, []byte(`{"config":[{"node":{}}]}`)} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		for _, problems := range [][]string{
			PeekLoadStats(session.Client, data).Problems, PeekLoadStats(session.Server, data).Problems, PeekClientStatus(data).Problems,
		} {
			if len(problems) > maxProblems {
				t.Errorf("%d problems", len(problems))
			}
		}
		if !bytes.Equal(before, data) {
			t.Error("the input was written to")
		}
	})
}
