package filter

import (
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	adsPath     = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	clusterURL  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpointURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	entryURL    = "networking.istio.io/v1alpha3/ServiceEntry"
)

// story are rows of every kind, numbered from 1.
func story() []*Row {
	var rows []*Row
	gw := &decode.Node{
		ID: "gw-0", Cluster: "edge", UserAgent: "envoy", UserAgentVersion: "1.34.1", Region: "eu-west-1", Zone: "eu-west-1b",
		ClientFeatures: []string{"envoy.lrs.supports_send_all_clusters"},
	}
	web := &decode.Node{ID: "web-7f9", Cluster: "shop"}
	add := func(side session.Side, k session.Kind, c check.Change, change func(*Row)) {
		seq := session.Seq(len(rows) + 1)
		e := &session.Entry{
			Seq: seq, Time: time.Date(2026, 3, 9, 12, 41, int(seq), 0, time.UTC),
			Conn: 1, Stream: 12, Side: side, Kind: k,
		}
		r := &Row{Entry: e, Change: &c, Node: gw, Summary: func() string { return "" }, Body: func() string { return "" }}
		if k != session.KindConnect {
			c.Method = xds.LookupMethod(adsPath)
			c.Variant = c.Method.Variant
			c.Client = "gw-0"
		}
		if c.Message != nil {
			e.Message = &session.Message{Size: 100}
			if c.Message.TypeURL != "" {
				c.Type = xds.ShortType(c.Message.TypeURL)
			}
		}
		if change != nil {
			change(r)
		}
		rows = append(rows, r)
	}
	message := func(side session.Side, what string, m decode.Message, change func(*Row)) {
		add(side, session.KindMessage, check.Change{Change: engine.Change{What: what, Message: &m}}, change)
	}
	named := func(names ...string) (out []decode.Resource) {
		for _, n := range names {
			out = append(out, decode.Resource{Name: n})
		}
		return out
	}
	// 1
	add(session.Client, session.KindConnect, check.Change{}, func(r *Row) { r.Node = nil })
	// 2
	add(session.Client, session.KindOpen, check.Change{}, func(r *Row) { r.Entry.Method = adsPath })
	// 3: everything there is
	message(session.Client, engine.SUB, decode.Message{Kind: decode.SotwRequest, TypeURL: clusterURL, Node: gw}, func(r *Row) {
		r.Change.All = true
		r.Entry.Message.Size = 2100
		r.Summary = func() string { return "gw-0 CDS SUB (envoy 1.34.1 of edge)" }
	})
	// 4
	message(session.Server, engine.RESP, decode.Message{
		Kind: decode.SotwResponse, TypeURL: clusterURL, Version: "88", Nonce: "c4",
		Resources: named("outbound|9080||reviews", "outbound|9080||ratings", "web"),
	}, func(r *Row) {
		r.Marked = true
		r.Entry.Message.Size = 1500 << 10
		r.Body = func() string { return "resources:\n- name: \"web\"\n  note: Duplicate Address\n" }
	})
	// 5
	message(session.Client, engine.NACK, decode.Message{
		Kind: decode.SotwRequest, TypeURL: clusterURL, Version: "87", Nonce: "c4",
		Error: &decode.Error{Code: 13, Message: "duplicate address"},
	}, func(r *Row) {
		r.Change.All = true
		r.Waited = 600 * time.Millisecond
		r.Findings = []Finding{{"nack-received", "warning"}, {"nack-immediate-resend", "error"}}
		r.Summary = func() string { return "gw-0 CDS NACK 87  duplicate address 0.0.0.0:443" }
	})
	// 6
	message(session.Client, engine.ACK, decode.Message{
		Kind: decode.SotwRequest, TypeURL: endpointURL, Version: "3", Nonce: "e1", Names: []string{"web", "api"},
	}, func(r *Row) {
		r.Change.Also, r.Change.Added = []string{engine.SUB}, []string{"api"}
		r.Waited = 3 * time.Millisecond
	})
	// 7
	message(session.Server, engine.DELTA, decode.Message{
		Kind: decode.DeltaResponse, TypeURL: entryURL, Version: "3", Nonce: "N7",
		Resources: []decode.Resource{{Name: "reviews", Aliases: []string{"other-name"}}}, Removed: []string{"gone"},
		ResourceErrors: []decode.ResourceError{{Name: "broken", Error: decode.Error{Code: 5}}},
	}, func(r *Row) {
		r.Change.Removed = []string{"gone"}
		r.Entry.Stream, r.Entry.Conn = 3, 2
		r.Change.Method = xds.LookupMethod(strings.Replace(adsPath, "Stream", "Delta", 1))
		r.Change.Variant, r.Change.Client, r.Node = xds.VariantDeltaADS, "web-7f9", web
	})
	// 8
	add(session.Server, session.KindHeader, check.Change{}, func(r *Row) {
		r.Entry.Headers = []session.Field{{Name: ":status", Value: "503"}}
	})
	// 9
	add(session.Server, session.KindTrailer, check.Change{}, func(r *Row) {
		r.Entry.Status = &session.Status{Code: 14, Message: "upstream reset"}
	})
	// 10
	add(session.Client, session.KindCancel, check.Change{}, func(r *Row) {
		r.Entry.Status = &session.Status{Code: -1, Reset: 8, WasReset: true}
	})
	// 11
	add(session.Server, session.KindGoAway, check.Change{}, func(r *Row) {
		r.Entry.Stream, r.Entry.GoAway = 0, &session.GoAway{Code: 11}
	})
	// 12
	add(session.Proxy, session.KindGap, check.Change{}, func(r *Row) {
		*r.Change, r.Entry.Conn, r.Entry.Stream, r.Node = check.Change{}, 0, 0, nil
		r.Entry.Gap = &session.Gap{}
	})
	return rows
}
