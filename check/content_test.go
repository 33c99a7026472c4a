package check_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	deltaPath   = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
	envelopeURL = "type.googleapis.com/envoy.service.discovery.v3.Resource"
)

func newJudge(t *testing.T) *writer {
	w := newWriter(t)
	w.k = check.NewChecker(check.Options{Rules: everyRule(t)})
	return w
}

// delta opens a delta stream for all clusters.
func (w *writer) delta(id uint64, features ...string) {
	w.step(session.Entry{Conn: session.ConnID(id), Kind: session.KindOpen, Side: session.Client, Method: deltaPath})
	w.send(id, session.Client, marshal(w.tb, &discovery.DeltaDiscoveryRequest{
		TypeUrl: clusterURL, Node: &corev3.Node{Id: "n1", ClientFeatures: features},
	}))
}

// give is a response of delta that the client accepts.
func (w *writer) give(id uint64, nonce string, resources ...*discovery.Resource) {
	w.send(id, session.Server, marshal(w.tb, &discovery.DeltaDiscoveryResponse{TypeUrl: clusterURL, Nonce: nonce, Resources: resources}))
	w.send(id, session.Client, marshal(w.tb, &discovery.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: nonce}))
}

// only returns what a rule has found.
func (w *writer) only(id string) []check.Finding {
	return slices.DeleteFunc(w.k.Findings(), func(f check.Finding) bool { return f.Rule.ID != id })
}

func variant(tb testing.TB, i, content int, key string) *discovery.Resource {
	a := cluster(tb, i, content)
	return &discovery.Resource{
		ResourceName: &discovery.ResourceName{
			Name: nameOf(i),
			DynamicParameterConstraints: &discovery.DynamicParameterConstraints{
				Type: &discovery.DynamicParameterConstraints_Constraint{
					Constraint: &discovery.DynamicParameterConstraints_SingleConstraint{
						Key:            key,
						ConstraintType: &discovery.DynamicParameterConstraints_SingleConstraint_Value{Value: "x"},
					},
				},
			},
		},
		Version: "1", Resource: a,
	}
}

func nameOf(i int) string {
	return fmt.Sprintf("outbound|8080||service-%05d.namespace.svc.cluster.local", i)
}

func TestTwoNamesOfOneResource(t *testing.T) {
	w := newJudge(t)
	w.delta(1)
	w.give(1, "a", &discovery.Resource{Name: nameOf(1), ResourceName: &discovery.ResourceName{Name: nameOf(1)}, Version: "1", Resource: cluster(t, 1, 0)})
	if found := w.only("resource-name-missing"); len(found) != 1 || found[0].Severity != check.Error || found[0].Names[0] != nameOf(1) {
		t.Errorf("%+v", found)
	}
}

// Resources of one name with different constraints are different resources,
// which replace each other in what is remembered.
func TestVariantsOfOneName(t *testing.T) {
	w := newJudge(t)
	w.delta(1)
	w.give(1, "a", variant(t, 1, 1, "k1"), variant(t, 1, 2, "k2"))
	w.now = w.now.Add(time.Minute)
	w.give(1, "b", variant(t, 1, 1, "k1"))
	w.now = w.now.Add(time.Minute)
	w.give(1, "c", variant(t, 1, 1, "k1"))
	w.give(1, "d", variant(t, 1, 2, "k2"))
	for _, id := range []string{"duplicate-resource", "version-reused-for-new-content", "delta-needless-push", "resource-name-missing"} {
		if found := w.only(id); len(found) > 0 {
			t.Errorf("%s: %s", id, found[0].Message)
		}
	}
	w.give(1, "e", variant(t, 1, 1, "k1"), variant(t, 1, 2, "k1"))
	if found := w.only("duplicate-resource"); len(found) != 1 {
		t.Errorf("the same variant twice: %+v", found)
	}
}

// A client that asks by locators gets envelopes, because they say which
// variant it is.
func TestEnvelopesForLocators(t *testing.T) {
	for _, located := range []bool{true, false} {
		w := newJudge(t)
		w.open(1)
		r := &discovery.DiscoveryRequest{TypeUrl: clusterURL, Node: &corev3.Node{Id: "n1"}}
		if located {
			r.ResourceLocators = []*discovery.ResourceLocator{{Name: nameOf(1)}}
		} else {
			r.ResourceNames = []string{nameOf(1)}
		}
		w.send(1, session.Client, marshal(t, r))
		body := marshal(t, &discovery.Resource{Name: nameOf(1), Resource: cluster(t, 1, 0)})
		w.send(1, session.Server, marshal(t, &discovery.DiscoveryResponse{
			TypeUrl: clusterURL, VersionInfo: "1", Nonce: "a", Resources: []*anypb.Any{{TypeUrl: envelopeURL, Value: body}},
		}))
		if found := w.only("ttl-unsupported-by-client"); len(found) > 0 == located {
			t.Errorf("located %t: %+v", located, found)
		}
	}
}

// Once a stream and type, and once more if it is graver.
func TestVersionlessOnceAStream(t *testing.T) {
	w := newJudge(t)
	for id := range uint64(3) {
		w.delta(id + 1)
		for i := range 5 {
			w.give(id+1, fmt.Sprint(i), &discovery.Resource{Name: nameOf(i), Resource: cluster(t, i, 0)})
		}
	}
	if found := w.only("delta-resource-without-version"); len(found) != 1 || found[0].Count != 3 {
		t.Errorf("%+v", found)
	}
}

// Whether many resources have a TTL is not taken from others with the same
// content.
func TestManyResourcesWithTTL(t *testing.T) {
	w := newJudge(t)
	var plain, timed []*discovery.Resource
	for i := range 100 {
		plain = append(plain, &discovery.Resource{Name: nameOf(i), Version: "1", Resource: cluster(t, i, 0)})
		timed = append(timed, &discovery.Resource{Name: nameOf(i), Version: "1", Resource: cluster(t, i, 0), Ttl: durationpb.New(5 * time.Second)})
	}
	w.delta(1)
	w.give(1, "a", plain...)
	if found := w.only("ttl-unsupported-by-client"); len(found) > 0 {
		t.Fatalf("%+v", found)
	}
	w.delta(2)
	w.give(2, "a", timed...)
	if found := w.only("ttl-unsupported-by-client"); len(found) != 1 || len(found[0].Names) != 32 {
		t.Errorf("%+v", found)
	}
	w.delta(3, "xds.config.supports-resource-ttl")
	w.give(3, "a", timed...)
	w.give(3, "b", timed[50:]...)
	w.now = w.now.Add(time.Minute)
	w.step(session.Entry{Kind: session.KindTime})
	if found := w.only("ttl-expired"); len(found) != 1 || found[0].Names[0] != nameOf(0) || found[0].Count != 1 {
		t.Errorf("%+v", found)
	}
}

// What looked partial and was proved to be so is one finding, told twice.
func TestPartialStateIsSettled(t *testing.T) {
	found := judge(t, "testdata/catalogue/partial-state-of-the-world.positive.xds", everyRule(t))
	found = slices.DeleteFunc(found, func(f check.Finding) bool { return f.Rule.ID != "partial-state-of-the-world" })
	if len(found) != 1 || found[0].Count != 1 || len(found[0].Seqs) != 2 {
		t.Fatalf("%+v", found)
	}
	if want := `"c1" not in the response although subscribed to, and sent again unchanged 2s later`; found[0].Message != want {
		t.Errorf("%s", found[0].Message)
	}
}

// Causes are counted, not the responses and resources that they concern.
func TestContentCauses(t *testing.T) {
	for file, count := range map[string]int{
		"testdata/catalogue/needless-push.positive.xds":             3,
		"testdata/catalogue/delta-needless-push.positive.xds":       3,
		"testdata/stories/resource-unknown-content-rejected.xds":    1,
		"testdata/stories/resource-deprecated-field-many.xds":       2,
		"testdata/stories/resource-deprecated-field-rejected.xds":   1,
		"testdata/stories/pgv-constraint-rejected-late.xds":         1,
		"testdata/stories/ttl-expired-after-heartbeats.xds":         1,
		"testdata/stories/resource-name-mismatch-lds.xds":           1,
		"testdata/stories/srds-scope-key-conflict-across.xds":       1,
		"testdata/stories/partial-state-of-the-world-back.xds":      1,
		"testdata/stories/heartbeat-version-mismatch-sotw.xds":      1,
		"testdata/stories/duplicate-resource-eds.xds":               1,
		"testdata/stories/delta-resource-without-version-ttl.xds":   2,
		"testdata/stories/version-reused-for-new-content-later.xds": 1,
	} {
		found := judge(t, file, everyRule(t))
		found = slices.DeleteFunc(found, func(f check.Finding) bool { return !strings.HasPrefix(filepath.Base(file), f.Rule.ID) })
		if len(found) != 1 || found[0].Count != count {
			t.Errorf("%s, want %d times: %+v", file, count, found)
		}
	}
}
