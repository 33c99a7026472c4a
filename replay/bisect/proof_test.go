package bisect

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay/edit"
	"github.com/xdsproxy/xdsproxy/session"
)

// heldAs is a resource with nothing but a name.
func heldAs(typ, name string) *held {
	url := xds.TypeURL(typ)
	body := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
	raw := protowire.AppendBytes(protowire.AppendTag(edit.AppendString(nil, edit.TypeOfAny, url), edit.ValueOfAny, protowire.BytesType), body)
	return &held{name: name, typeURL: url, body: body, raw: raw}
}

// tells is a conversation as text: its streams as they are opened, and who says what.
func tells(t *telling) string {
	var out []string
	methods := map[session.StreamID]xds.Method{}
	for i := range t.entries {
		e := &t.entries[i]
		if e.Kind == session.KindOpen {
			methods[e.Stream] = xds.LookupMethod(e.Method)
			out = append(out, fmt.Sprintf("%d opened as %d", e.Stream, e.H2))
			continue
		}
		m := decode.Peek(methods[e.Stream], e.Side, "", e.Message.Data.Bytes())
		switch {
		case e.Side == session.Server:
			out = append(out, fmt.Sprintf("%d > %s %q", e.Stream, m.Nonce, m.ResourceNames()))
		case m.Error != nil:
			out = append(out, fmt.Sprintf("%d < %s %q no", e.Stream, m.Nonce, m.Names))
		default:
			out = append(out, fmt.Sprintf("%d < %s %q", e.Stream, m.Nonce, m.Names))
		}
	}
	return strings.Join(out, "\n")
}

// What a client has is given to it again where it may have taken a part of what it
// rejected before.
func TestTellingWhatItHasAgain(t *testing.T) {
	const again = "\n1 > bisect-3 [\"base\"]\n1 < bisect-3 []"
	for _, c := range []struct {
		suspects int
		whole    bool
		want     string
	}{{2, true, again}, {1, true, ""}, {2, false, ""}} {
		key := xds.TypeKey(xds.TypeURL("CDS"))
		p := &proof{
			Rejection: &Rejection{key: key}, order: []string{key},
			asks: map[string]*asked{key: {method: xds.LookupMethod("/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters"), typeURL: xds.TypeURL("CDS"), wild: true}},
			turns: []turn{
				{items: []*held{heldAs("CDS", "x"), heldAs("CDS", "y")}, suspects: c.suspects, words: "no"},
				{items: []*held{heldAs("CDS", "z")}, suspects: 1, whole: c.whole, words: "no"},
			},
		}
		told := &telling{proof: p, needs: &needs{items: map[string][]*held{key: {heldAs("CDS", "base")}}}, streams: map[string]*toldStream{}}
		told.tell()
		last := "bisect-3"
		if c.want != "" {
			last = "bisect-4"
		}
		want := "1 opened as 1\n1 <  []\n1 > bisect-1 [\"base\"]\n1 < bisect-1 []\n1 > bisect-2 [\"x\" \"y\"]\n1 < bisect-2 [] no" + c.want +
			"\n1 > " + last + " [\"z\"]\n1 < " + last + " [] no"
		if got := tells(told); got != want {
			t.Errorf("%d suspects, whole %v:\n%s\nwant\n%s", c.suspects, c.whole, got, want)
		}
	}
}

// Where a client has a stream for each name, each is opened by itself, and given what
// the client had of that name.
func TestTellingNamesAlone(t *testing.T) {
	key := xds.TypeKey(xds.TypeURL("EDS"))
	b := heldAs("EDS", "b")
	p := &proof{
		Rejection: &Rejection{key: key}, order: []string{key},
		asks:  map[string]*asked{key: {method: xds.LookupMethod("/envoy.service.endpoint.v3.EndpointDiscoveryService/StreamEndpoints"), typeURL: xds.TypeURL("EDS"), alone: true}},
		turns: []turn{{items: []*held{heldAs("EDS", "c")}, suspects: 1, words: "no"}},
	}
	told := &telling{
		proof: p, streams: map[string]*toldStream{},
		needs: &needs{items: map[string][]*held{key: {b}}, names: map[string][]string{key: {"a", "b", "c"}}},
	}
	told.tell()
	want := strings.Join([]string{
		"1 opened as 1", `1 <  ["a"]`, "2 opened as 3", `2 <  ["b"]`, `2 > bisect-1 ["b"]`, `2 < bisect-1 ["b"]`,
		"3 opened as 5", `3 <  ["c"]`, `3 > bisect-2 ["c"]`, `3 < bisect-2 ["c"] no`,
	}, "\n")
	if got := tells(told); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}
