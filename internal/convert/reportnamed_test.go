package convert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/session"
)

// crowded is the demo's recording with 400 clusters more in each response of
// clusters, before those that it has, and with 2,000 extensions in each node.
func crowded(t *testing.T) []session.Entry {
	t.Helper()
	all, _ := read(t, "../../check/testdata/sessions/demo.xdsp")
	const cluster = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	var clusters, node []byte
	for n := range 400 {
		body := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), fmt.Sprintf("outbound|8080||svc-%03d.ns.svc.cluster.local", n))
		payload := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), cluster)
		payload = protowire.AppendBytes(protowire.AppendTag(payload, 2, protowire.BytesType), body)
		clusters = protowire.AppendBytes(protowire.AppendTag(clusters, 2, protowire.BytesType), payload)
	}
	for n := range 2000 { // core.v3.Node.extensions, core.v3.Extension.name
		extension := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), fmt.Sprintf("envoy.filters.http.number_%04d", n))
		node = protowire.AppendBytes(protowire.AppendTag(node, 9, protowire.BytesType), extension)
	}
	out := slices.Clone(all)
	for i := range out {
		if out[i].Message == nil {
			continue
		}
		m := *out[i].Message
		data := m.Data.Bytes()
		switch text := string(data); {
		case out[i].Side == session.Server && strings.Contains(text, cluster):
			data = slices.Concat(clusters, data)
		case out[i].Side == session.Client && strings.Contains(text, "demo-envoy"):
			data = protowire.AppendBytes(protowire.AppendTag(slices.Clone(data), 2, protowire.BytesType), node)
		}
		m.Data, m.Size = session.Chunks{data}, int64(len(data))
		out[i].Message = &m
	}
	return out
}

// However many others there are, a report has the resource that was rejected, and
// what changed of it, before any message, and the reason stands in the request.
func TestReportShowsWhatWasRejected(t *testing.T) {
	text, _ := written(t, crowded(t), convert.Markdown, "", everything)
	if len(text) > 60_000 {
		t.Errorf("it has %d bytes", len(text))
	}
	rest := strings.ReplaceAll(text, "\n ", "\n")
	for _, want := range []string{
		"`CDS` `search`, as it was rejected: entry ", "- connect_timeout: 1s\n+ connect_timeout: 0s\n", "\n│── ", "(402 resources left out)",
		"(2,000 extensions left out)", "error_detail:\n", "## How to look at it",
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not there, or not in its place, in\n%s", want, text)
		}
		rest = after
	}
	if strings.Contains(text, "number_0100") || strings.Contains(text, "svc-300") {
		t.Error("it has what nobody asked for")
	}
}
