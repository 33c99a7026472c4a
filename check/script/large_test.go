package script

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// What is said of a cluster of which another was made is what is said of one that
// is made itself.
func TestMadeOfAnother(t *testing.T) {
	c := newContents()
	for _, version := range []string{"CDS", "v2.CDS"} {
		for _, source := range append(synth.Sources(), "") {
			for _, service := range []string{"", "endpoints", "a"} {
				for _, name := range []string{"first", "", "a", "outbound|80||b.c.svc", "endpoints", "é\x00", "x/y", "xdstp://a/b", strings.Repeat("long", 1<<14)} {
					r := &synth.Resource{TypeURL: xds.TypeURL(version), Name: name, Refs: synth.Refs{EDS: true, EDSName: service, Source: source}}
					if service == name {
						r.Refs.EDSName = ""
					}
					got, want := c.made(r), c.inspector.Inspect(r.TypeURL, r.Body(), false)
					if !cmp.Equal(got.Refs, want.Refs) || !cmp.Equal(got.Unknown, want.Unknown) ||
						!cmp.Equal(got.Deprecated, want.Deprecated) || !cmp.Equal(got.Invalid, want.Invalid) {
						t.Errorf("%s %.20q of %q from %q:\n%+v, want\n%+v", version, name, service, source, got, want)
					}
				}
			}
		}
	}
	if len(c.clusters) == 0 {
		t.Error("each was made itself")
	}
}

// What it takes to write a message grows with its resources, not faster.
func TestWriteLargeMessage(t *testing.T) {
	url := xds.TypeURL("CDS")
	few, many := writing(t, url, 2_000), writing(t, url, 64_000)
	t.Logf("%d bytes are allocated for 2,000 resources, %d for 64,000", few, many)
	if many > 40*few {
		t.Errorf("%d bytes are allocated for 2,000 resources, and %d for 64,000", few, many)
	}
	if most := uint64(9 << 9 * 64_000); many > most {
		t.Errorf("%d bytes are allocated for 64,000 resources, want %d at most", many, most)
	}
}

// writing is how much is allocated while a response with so many clusters is
// written, each of them with endpoints that have a name of their own.
func writing(t *testing.T, url string, many int) uint64 {
	t.Helper()
	r := synth.Response{TypeURL: url, Version: "1", Nonce: "1"}
	for n := range many {
		r.Resources = append(r.Resources, synth.Resource{
			TypeURL: url, Name: fmt.Sprintf("outbound|8080||service-%06d.svc", n), Content: "a",
			Refs: synth.Refs{EDS: true, EDSName: fmt.Sprint("service-", n)},
		})
	}
	data := r.Marshal()
	r.Resources = nil
	entries := []session.Entry{
		{Seq: 1, Kind: session.KindConnect, Side: session.Client, Conn: 1, Peer: &session.Peer{Client: "10.0.0.1:1"}},
		{Seq: 2, Kind: session.KindOpen, Side: session.Client, Conn: 1, Stream: 1, Method: "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters"},
		{
			Seq: 3, Kind: session.KindMessage, Side: session.Server, Conn: 1, Stream: 1,
			Message: &session.Message{Data: session.Chunks{data}, Size: max(int64(len(data)), largeMessage)},
		},
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	count := &lineWriter{}
	if _, err := Write(count, slices.Values(entries)); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if count.commas < many-1 {
		t.Fatalf("%d resources were written", count.commas+1)
	}
	return after.TotalAlloc - before.TotalAlloc
}

// lineWriter counts what separates resources.
type lineWriter struct{ commas int }

func (l *lineWriter) Write(p []byte) (int, error) {
	l.commas += strings.Count(string(p), ",")
	return len(p), nil
}
