package capture_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
)

// tcpText are packets, one a line: which flags, numbers and bytes they have.
func tcpText(packets []packet) string {
	var b strings.Builder
	for _, p := range packets {
		of := gopacket.NewPacket(p.data, layers.LinkTypeRaw, gopacket.Default)
		t, _ := of.Layer(layers.LayerTypeTCP).(*layers.TCP)
		flags := ""
		for i, is := range []bool{t.SYN, t.FIN, t.RST, t.PSH, t.ACK} {
			if is {
				flags += "SFRPA"[i : i+1]
			}
		}
		fmt.Fprintf(&b, "  %s %s:%d > %s:%d %s seq=%d ack=%d %d bytes %.160q\n", p.at.UTC().Format("05.000000000"),
			of.NetworkLayer().NetworkFlow().Src(), t.SrcPort, of.NetworkLayer().NetworkFlow().Dst(), t.DstPort, flags, t.Seq, t.Ack, len(t.Payload), t.Payload)
	}
	return b.String()
}

// counts are those of a result or of what was written that are not 0.
func counts(of any) string {
	var out []string
	for _, f := range strings.Fields(strings.Trim(fmt.Sprintf("%+v", of), "{}")) {
		if !strings.HasSuffix(f, ":0") && !strings.HasSuffix(f, ":false") {
			out = append(out, f)
		}
	}
	return strings.Join(out, " ")
}

// begun is the beginning of a connection and of what follows, an entry a microsecond.
func begun(entries ...session.Entry) []session.Entry {
	out := append([]session.Entry{{Kind: session.KindConnect, Side: session.Client, Peer: &session.Peer{Client: "10.0.0.1:4000", Upstream: "10.0.0.2:18000"}}}, entries...)
	return timed(out)
}

func timed(out []session.Entry) []session.Entry {
	for i := range out {
		out[i].Conn, out[i].Time = 1, time.Date(2026, 11, 26, 12, 0, 0, i*1000, time.UTC)
	}
	return out
}

// TestWrittenLedger: the packets of conversations of which something is missing, and of
// each kind of end, and what is read of them again.
func TestWrittenLedger(t *testing.T) {
	const ads, rest = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources", "/v3/discovery:clusters"
	fields := func(pairs ...string) (out []session.Field) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, session.Field{Name: pairs[i], Value: pairs[i+1]})
		}
		return out
	}
	of := func(kind session.Kind, side session.Side, h2 uint32) session.Entry {
		return session.Entry{Kind: kind, Side: side, Stream: 1, H2: h2}
	}
	open := of(session.KindOpen, session.Client, 1)
	open.Method = ads
	open.Headers = fields(":method", "POST", ":scheme", "http", ":path", ads, "content-type", "application/grpc", "grpc-timeout", "1S")
	bare := open
	bare.Headers = nil
	nameless := bare
	nameless.Method = ""
	message := func(side session.Side, m session.Message) session.Entry {
		e := of(session.KindMessage, side, 1)
		e.Message = &m
		return e
	}
	ask := message(session.Client, session.Message{Data: session.Chunks{[]byte("as"), []byte("k")}})
	answer := message(session.Server, session.Message{Data: session.Chunks{[]byte("answer")}})
	ok := of(session.KindHeader, session.Server, 1)
	ok.Headers = fields(":status", "200", "content-type", "application/grpc")
	trailer := func(s *session.Status, headers ...session.Field) session.Entry {
		e := of(session.KindTrailer, session.Server, 1)
		e.Status, e.Headers = s, headers
		return e
	}
	cancel := func(side session.Side, s *session.Status) session.Entry {
		e := of(session.KindCancel, side, 1)
		e.Status = s
		return e
	}
	closes := session.Entry{Kind: session.KindDisconnect, Side: session.Server, Status: &session.Status{Code: -1}}
	half := of(session.KindHalfClose, session.Client, 1)
	goAway := session.Entry{Kind: session.KindGoAway, Side: session.Server, GoAway: &session.GoAway{LastStream: 1, Code: 2, Debug: "bye"}}
	rewritten := open
	rewritten.Sent = fields(":authority", "xds")
	poll := of(session.KindOpen, session.Client, 0)
	poll.Method = rest
	h1 := func(e session.Entry) session.Entry { e.H2 = 0; return e }
	moved := h1(of(session.KindHeader, session.Server, 0))
	moved.Headers = fields(":status", "301", "location", "/\r\nx")
	odd := func(e session.Entry) session.Entry { e.Stream, e.H2 = 2, 7; return e }

	var b strings.Builder
	for _, tc := range []struct {
		name    string
		entries []session.Entry
	}{
		{"a whole stream", begun(open, ask, ok, answer, half, trailer(&session.Status{Code: 0}), closes)},
		{"its beginning is not there", timed([]session.Entry{ask, answer, trailer(&session.Status{Code: 14, Message: "50% of\nä"})})},
		{"its headers are not there", begun(bare, ask, answer, trailer(nil))},
		{"nor its method", begun(nameless, ask, answer)},
		{"a half close alone", begun(open, half, half, ask)},
		{"only trailers", begun(open, trailer(&session.Status{Code: 7}, fields(":status", "200", "grpc-status", "7")...))},
		{"an end without a status", begun(open, trailer(&session.Status{Code: -1}), answer)},
		{"reset", begun(open, ask, cancel(session.Client, &session.Status{Code: 1, WasReset: true, Reset: 0x01020304}), answer, cancel(session.Server, &session.Status{Code: 1}))},
		{"given up", begun(open, cancel(session.Client, &session.Status{Code: 1}))},
		{"ended with its connection", begun(open, cancel(session.Client, &session.Status{Code: -1}), closes)},
		{"cancelled, nobody knows how", begun(open, cancel(session.Client, nil))},
		{"messages of many kinds", begun(open, message(session.Client, session.Message{Encoding: "gzip", Compressed: true, Data: session.Chunks{[]byte("zz")}}),
			message(session.Client, session.Message{Encoding: "gzip", Data: session.Chunks{[]byte("plain")}}), message(session.Server, session.Message{Truncated: true, Size: 99, Data: session.Chunks{[]byte("part")}}),
			message(session.Client, session.Message{}), of(session.KindMessage, session.Client, 1))},
		{"long ones", begun(open, message(session.Client, session.Message{Data: session.Chunks{make([]byte, 16384-5)}}), message(session.Client, session.Message{Data: session.Chunks{make([]byte, 16384-4)}}),
			ok, message(session.Server, session.Message{Data: session.Chunks{make([]byte, 70_000)}}), message(session.Client, session.Message{Data: session.Chunks{make([]byte, 20_000)}}))},
		{"long headers", begun(func() session.Entry {
			e := open
			e.Headers = append(slices.Clone(e.Headers), session.Field{Name: "x-long", Value: strings.Repeat("v?", 20_000)})
			return e
		}(), ask)},
		{"going away", begun(open, goAway, session.Entry{Kind: session.KindGoAway, Side: session.Server}, closes, open, ask, goAway)},
		{"rewritten", begun(rewritten, ask)},
		{"two streams", begun(open, odd(open), odd(ask), ask, odd(cancel(session.Client, &session.Status{Code: 1})), answer)},
		{"no stream", begun(session.Entry{Kind: session.KindMessage, Message: &session.Message{}}, session.Entry{Kind: session.KindNote, Note: &session.Note{}})},
		{"a poll without headers", begun(h1(poll), h1(ask), h1(half), h1(answer), h1(trailer(&session.Status{Code: -1, HTTP: 200})))},
		{"a poll that was moved", begun(h1(poll), h1(half), moved, h1(trailer(&session.Status{Code: -1, HTTP: 301})))},
		{"a poll that ends at once", begun(h1(poll), h1(cancel(session.Client, &session.Status{Code: 1, WasReset: true})), closes)},
		{"half a poll", begun(h1(poll), h1(ask), h1(trailer(&session.Status{Code: -1})))},
	} {
		_, packets := packetsIn(t, tc.entries)
		_, done := written(t, tc.entries)
		got, result := read(t, raw(t, packets))
		fmt.Fprintf(&b, "== %s\n%s\n%s%s\n", tc.name, counts(done), tcpText(packets), counts(result))
		for i := range got {
			e := &got[i]
			fmt.Fprintf(&b, "  %d %d %d %s %s %s %v", e.Seq, e.Stream, e.H2, e.Side, e.Kind, e.Method, e.Headers)
			if e.Message != nil {
				fmt.Fprintf(&b, " %d %.40q", e.Message.Size, e.Message.Data.Bytes())
			}
			if e.Status != nil {
				fmt.Fprintf(&b, " %+v", *e.Status)
			}
			if e.Note != nil {
				fmt.Fprintf(&b, " %s", e.Note.Text)
			}
			b.WriteString("\n")
		}
	}
	text := strings.ReplaceAll(b.String(), strings.Repeat("v?", 20_000), "(long)")
	golden.Is(t, "testdata/written.txt", text)
}

// TestReadLedger: what is read where one packet is missing, comes late, comes twice, is
// cut, or resets the connection, whichever it is.
func TestReadLedger(t *testing.T) {
	var b strings.Builder
	for _, name := range []string{"grpc-go", "linear-delta", "rest-nack"} {
		_, all := packetsOf(t, name)
		all = all[:min(len(all), 44)]
		said := func(what string, i int, packets []packet) {
			got, done := read(t, raw(t, packets))
			kinds := ""
			for j := range got {
				e := &got[j]
				kinds += fmt.Sprintf(" %s%d", e.Kind, e.Stream)
				if e.Note != nil {
					kinds += "(" + string(e.Note.Code) + ")"
				}
			}
			fmt.Fprintf(&b, "%s %s %d: %s%s\n", name, what, i, counts(done), kinds)
		}
		said("whole", 0, all)
		for i, p := range all {
			said("without", i, slices.Delete(slices.Clone(all), i, i+1))
			said("from", i, all[i:])
			late := slices.Delete(slices.Clone(all), i, i+1)
			said("three later", i, slices.Insert(late, min(i+3, len(late)), packet{at: all[min(i+3, len(late))].at, data: p.data}))
			if len(p.payload()) == 0 {
				continue
			}
			said("twice", i, slices.Insert(slices.Clone(all), i, p))
			cut := slices.Clone(all)
			cut[i].cut = 3
			said("cut", i, cut)
			reset := slices.Clone(p.data)
			reset[20+13] |= 4
			said("reset", i, slices.Insert(slices.Clone(all), i, packet{at: p.at, data: reset}))
			fin := slices.Clone(p.data)
			fin[20+13] |= 1
			said("closed", i, slices.Insert(slices.Clone(all), i, packet{at: p.at, data: fin}))
		}
	}
	golden.Is(t, "testdata/read.txt", b.String())
}
