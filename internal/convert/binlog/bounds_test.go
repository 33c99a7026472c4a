package binlog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/xdsproxy/xdsproxy/session"
)

// beginning is a log of which nothing was read yet.
func beginning() *log {
	return &log{
		emit:  func(*session.Entry) error { return nil },
		calls: make(map[callKey]*call), conns: make(map[string]session.ConnID),
	}
}

// header is the first entry of a call.
func header(call uint64, authority string) *pb.GrpcLogEntry {
	return &pb.GrpcLogEntry{
		CallId: call, SequenceIdWithinCall: 1, Type: pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HEADER,
		Payload: &pb.GrpcLogEntry_ClientHeader{ClientHeader: &pb.ClientHeader{
			MethodName: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources", Authority: authority,
		}},
	}
}

// early is the third entry of a call, of which the second is missing.
func early(call uint64, at time.Time) *pb.GrpcLogEntry {
	return &pb.GrpcLogEntry{CallId: call, SequenceIdWithinCall: 3, Type: pb.GrpcLogEntry_EVENT_TYPE_SERVER_MESSAGE, Timestamp: timestamppb.New(at)}
}

// So many entries wait for those before them, of so many bytes, for so long. Then what is
// missing is given up.
func TestHeldEntriesHaveABound(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	for _, tc := range []struct {
		held, size int
		later      time.Duration
		want       uint64
	}{
		{held: maxHeld},
		{held: maxHeld + 1, want: 1},
		{held: 1, size: maxHeldSize},
		{held: 1, size: maxHeldSize + 1, want: 1},
		{held: 2, later: maxHeldFor},
		{held: 2, later: maxHeldFor + 1, want: 1},
	} {
		l := beginning()
		l.buf.Write(make([]byte, tc.size))
		for n := range tc.held {
			call := uint64(n + 1)
			if err := l.record(header(call, "xds")); err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				at = at.Add(tc.later)
			}
			if err := l.record(early(call, at)); err != nil {
				t.Fatal(err)
			}
		}
		if l.done.Missing != tc.want {
			t.Errorf("%+v: %d entries are given up", tc, l.done.Missing)
		}
	}
}

// So many calls are told apart; one more has not begun.
func TestCallsHaveABound(t *testing.T) {
	l := beginning()
	l.calls = make(map[callKey]*call, maxCalls)
	for id := range uint64(maxCalls - 1) {
		l.calls[callKey{id: 100 + id}] = nil
	}
	for call, want := range map[uint64]uint64{1: 1, 2: 1} {
		if err := l.record(header(call, "xds")); err != nil || l.done.Calls != want {
			t.Errorf("%d calls, %v", l.done.Calls, err)
		}
	}
}

// So many connections are told apart; each call on one more has one of its own.
func TestConnectionsHaveABound(t *testing.T) {
	l := beginning()
	l.conns = make(map[string]session.ConnID, maxCalls)
	var names []byte
	for id := range uint32(maxCalls - 1) {
		names = binary.BigEndian.AppendUint32(names, id)
	}
	for all := string(names); all != ""; all = all[4:] {
		l.conns[all[:4]] = 0
	}
	for i, tc := range []struct {
		authority string
		entries   uint64
	}{{"a", 2}, {"a", 3}, {"b", 5}, {"b", 7}} {
		if err := l.record(header(uint64(i+1), tc.authority)); err != nil || l.done.Entries != tc.entries {
			t.Errorf("call %d, to %s: %d entries, %v", i+1, tc.authority, l.done.Entries, err)
		}
	}
}

// An entry of more than maxRecord bytes is no entry.
func TestEntriesHaveABound(t *testing.T) {
	for n, want := range map[uint64]string{
		maxRecord:     fmt.Sprintf("at byte 0: it ends after 0 of %d bytes", maxRecord),
		maxRecord + 1: fmt.Sprintf("at byte 0: an entry of %d bytes", maxRecord+1),
	} {
		_, err := Read(strings.NewReader(string(binary.AppendUvarint(nil, n))), func(*session.Entry) error { return nil })
		if err == nil || err.Error() != want {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

// sized is the first entry of a call, with header fields of no bytes, and one of so many.
func sized(t testing.TB, fields, size int) []byte {
	m := &pb.Metadata{}
	for range fields {
		m.Entry = append(m.Entry, &pb.MetadataEntry{})
	}
	if size > 0 {
		m.Entry = append(m.Entry, &pb.MetadataEntry{Value: make([]byte, size)})
	}
	r := header(1, "xds")
	r.GetClientHeader().Metadata = m
	b, err := proto.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// An entry has so many header fields, and so many bytes beside the data of a message.
// What has more is no entry, and costs no more memory than its bytes.
func TestHeadersHaveABound(t *testing.T) {
	data, err := proto.Marshal(&pb.GrpcLogEntry{
		CallId: 1, SequenceIdWithinCall: 2, Type: pb.GrpcLogEntry_EVENT_TYPE_SERVER_MESSAGE,
		Payload: &pb.GrpcLogEntry_Message{Message: &pb.Message{Length: 4 * maxHeaders, Data: make([]byte, 4*maxHeaders)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	most := maxHeaders - (len(sized(t, 0, maxHeaders/2)) - maxHeaders/2)
	many := fmt.Sprintf("an entry of more than %d header fields", maxFields)
	for name, c := range map[string]struct {
		entry []byte
		want  string
	}{
		"as many fields as may be": {sized(t, maxFields, 0), ""},
		"one field more":           {sized(t, maxFields+1, 0), many},
		"in two payloads":          {append(sized(t, maxFields/2, 0), sized(t, maxFields/2+1, 0)...), many},
		"as many bytes as may be":  {sized(t, 0, most), ""},
		"one byte more":            {sized(t, 0, most+1), fmt.Sprintf("an entry of %d bytes beside the data of its message", maxHeaders+1)},
		"a large message":          {data, ""},
		"a bomb":                   {sized(t, 4<<20, 0), many},
	} {
		file := sized(t, 0, 0)
		file = append(binary.AppendUvarint(nil, uint64(len(file))), file...)
		if c.want != "" {
			c.want = fmt.Sprintf("at byte %d: %s", len(file), c.want)
		}
		file = append(binary.AppendUvarint(file, uint64(len(c.entry))), c.entry...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		done, err := Read(bytes.NewReader(file), func(*session.Entry) error { return nil })
		runtime.ReadMemStats(&after)
		if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
			t.Errorf("%s: %s, not %q", name, got, c.want)
		}
		if done.Calls == 0 {
			t.Errorf("%s: what is before it is not read: %+v", name, done)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20+8*uint64(len(file)) {
			t.Errorf("%s: %d bytes take %d", name, len(file), n)
		}
	}
}

// So many calls are written at once, and so many connections have an address. A call more
// is counted as lost.
func TestWrittenCallsHaveABound(t *testing.T) {
	w := NewWriter(io.Discard)
	w.calls, w.peers = make(map[session.StreamID]uint64, maxCalls), make(map[session.ConnID]*pb.Address, maxCalls)
	for n := range maxCalls - 1 {
		w.calls[session.StreamID(100+n)], w.peers[session.ConnID(100+n)] = 0, nil
	}
	for n := 1; n <= 2; n++ {
		for _, e := range []session.Entry{
			{Kind: session.KindConnect, Conn: session.ConnID(n), Peer: &session.Peer{}},
			{Kind: session.KindOpen, Conn: session.ConnID(n), Stream: session.StreamID(n), Method: "/a/B"},
		} {
			if err := w.Add(&e); err != nil {
				t.Fatal(err)
			}
		}
		if w.Written != 1 || len(w.peers) != maxCalls || len(w.Lost()) != n-1 {
			t.Errorf("%d over the bound: %d written, %d addresses, %q", n-1, w.Written, len(w.peers), w.Lost())
		}
	}
}
