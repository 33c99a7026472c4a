package binlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/xdsproxy/xdsproxy/internal/convert/binlog"
	"github.com/xdsproxy/xdsproxy/session"
)

const ads = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"

// fileOf is a log with these entries.
func fileOf(t *testing.T, all ...*pb.GrpcLogEntry) (file []byte) {
	t.Helper()
	for _, r := range all {
		b, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		file = append(binary.AppendUvarint(file, uint64(len(b))), b...)
	}
	return file
}

func begins(call uint64, by pb.GrpcLogEntry_Logger, method string, peer *pb.Address) *pb.GrpcLogEntry {
	return &pb.GrpcLogEntry{
		CallId: call, SequenceIdWithinCall: 1, Logger: by, Type: pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HEADER, Peer: peer,
		Payload: &pb.GrpcLogEntry_ClientHeader{ClientHeader: &pb.ClientHeader{MethodName: method, Authority: "xds:1"}},
	}
}

func says(call, number uint64, by pb.GrpcLogEntry_Logger, kind pb.GrpcLogEntry_EventType, length uint32, data string) *pb.GrpcLogEntry {
	return &pb.GrpcLogEntry{
		CallId: call, SequenceIdWithinCall: number, Logger: by, Type: kind,
		Payload: &pb.GrpcLogEntry_Message{Message: &pb.Message{Length: length, Data: []byte(data)}},
	}
}

// TestCalls: of a program that is a client and a server, with peers of all kinds; calls
// of something else, and of which the beginning is missing, are not in it.
func TestCalls(t *testing.T) {
	const client, server = pb.GrpcLogEntry_LOGGER_CLIENT, pb.GrpcLogEntry_LOGGER_SERVER
	v4 := &pb.Address{Type: pb.Address_TYPE_IPV4, Address: "10.0.0.1", IpPort: 4000}
	v6 := &pb.Address{Type: pb.Address_TYPE_IPV6, Address: "::1", IpPort: 4001}
	unix := &pb.Address{Type: pb.Address_TYPE_UNIX, Address: "/s"}
	cancel := &pb.GrpcLogEntry{CallId: 1, SequenceIdWithinCall: 4, Logger: server, Type: pb.GrpcLogEntry_EVENT_TYPE_CANCEL}
	trailer := &pb.GrpcLogEntry{
		CallId: 1, SequenceIdWithinCall: 3, Logger: client, Type: pb.GrpcLogEntry_EVENT_TYPE_SERVER_TRAILER,
		Payload: &pb.GrpcLogEntry_Trailer{Trailer: &pb.Trailer{StatusCode: 14, StatusMessage: "gone", Metadata: &pb.Metadata{Entry: []*pb.MetadataEntry{{Key: "k", Value: []byte("v")}}}}},
	}
	half := &pb.GrpcLogEntry{CallId: 2, SequenceIdWithinCall: 2, Logger: server, Type: pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HALF_CLOSE}
	header := &pb.GrpcLogEntry{CallId: 3, SequenceIdWithinCall: 2, Logger: server, Type: pb.GrpcLogEntry_EVENT_TYPE_SERVER_HEADER}
	file := fileOf(
		t,
		begins(1, client, ads, nil), says(1, 2, client, pb.GrpcLogEntry_EVENT_TYPE_CLIENT_MESSAGE, 3, "abc"), trailer,
		begins(1, server, ads, v4), says(1, 2, server, pb.GrpcLogEntry_EVENT_TYPE_CLIENT_MESSAGE, 9, "cut"), says(1, 3, server, pb.GrpcLogEntry_EVENT_TYPE_SERVER_MESSAGE, 0, "short"), cancel,
		says(1, 5, server, pb.GrpcLogEntry_EVENT_TYPE_CLIENT_MESSAGE, 1, "x"), // after its end
		begins(2, server, ads, v6), half,
		begins(3, server, ads, v4), header, // on the connection of the second
		begins(4, server, "/a.B/C", v4), says(4, 2, server, pb.GrpcLogEntry_EVENT_TYPE_CLIENT_MESSAGE, 1, "x"), says(4, 9, server, pb.GrpcLogEntry_EVENT_TYPE_CLIENT_MESSAGE, 1, "x"),
		begins(5, server, ads, unix),
		begins(6, server, ads, nil),
		says(7, 2, server, pb.GrpcLogEntry_EVENT_TYPE_CLIENT_MESSAGE, 1, "x"), // it began before
	)
	var got []string
	done, err := binlog.Read(bytes.NewReader(file), func(e *session.Entry) error {
		s := fmt.Sprintf("%d.%d %s %s", e.Conn, e.Stream, e.Side, e.Kind)
		if e.Peer != nil {
			s += fmt.Sprintf(" %q at %q to %q", e.Peer.Client, e.Peer.Listen, e.Peer.Upstream)
		}
		if e.Message != nil {
			s += fmt.Sprintf(" %q of %d, %d, cut %t", e.Message.Data.Bytes(), e.Message.Size, e.Message.WireSize, e.Message.Truncated)
		}
		if e.Status != nil {
			s += fmt.Sprintf(" %d %q", e.Status.Code, e.Status.Message)
		}
		if e.Kind == session.KindTrailer || e.Kind == session.KindHeader {
			s += fmt.Sprint(e.Headers)
		}
		got = append(got, s)
		return nil
	})
	want := `1.0 client connect "" at "" to "xds:1"
1.1 client open
1.1 client message "abc" of 3, 3, cut false
1.1 server trailer 14 "gone"[{grpc-status 14 false} {k v false}]
2.0 client connect "10.0.0.1:4000" at "xds:1" to ""
2.2 client open
2.2 client message "cut" of 9, 9, cut true
2.2 server message "short" of 5, 5, cut false
2.2 client cancel 1 "the client gave the call up"
3.0 client connect "[::1]:4001" at "xds:1" to ""
3.3 client open
3.3 client half-close
2.4 client open
2.4 server header[{:status 200 false} {content-type application/grpc false}]
4.0 client connect "unix:/s" at "xds:1" to ""
4.5 client open
5.0 client connect "" at "xds:1" to ""
5.6 client open`
	if text := strings.Join(got, "\n"); err != nil || text != want {
		t.Errorf("%v\n%s\nnot\n%s", err, text, want)
	}
	if done.Calls != 6 || done.Others != 1 || done.Missing != 0 || done.Truncated != 1 || done.Messages != 3 || done.Torn {
		t.Errorf("%+v", done)
	}
}

// TestTimes: time does not run backwards, and no entry is of a time that cannot be.
func TestTimes(t *testing.T) {
	const by = pb.GrpcLogEntry_LOGGER_CLIENT
	at := func(year int) time.Time { return time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC) }
	years := []int{1970, 2200, 2201, 2100, 1969, 2200}
	all := []*pb.GrpcLogEntry{begins(1, by, ads, nil)}
	all[0].Timestamp = timestamppb.New(at(1969))
	for i, y := range years {
		r := says(1, uint64(i+2), by, pb.GrpcLogEntry_EVENT_TYPE_CLIENT_MESSAGE, 1, "x")
		r.Timestamp = timestamppb.New(at(y))
		all = append(all, r)
	}
	var got []int
	if _, err := binlog.Read(bytes.NewReader(fileOf(t, all...)), func(e *session.Entry) error { got = append(got, e.Time.Year()); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 1, 1970, 2200, 2200, 2200, 2200, 2200}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// TestNoLog: what is no entry of a log is said, with where it stands.
func TestNoLog(t *testing.T) {
	good := fileOf(t, begins(1, pb.GrpcLogEntry_LOGGER_CLIENT, ads, nil))
	entry := func(b ...byte) string { return string(append(binary.AppendUvarint(nil, uint64(len(b))), b...)) }
	for name, c := range map[string]struct{ behind, says string }{
		"of no bytes":            {"\x00", "an entry of 0 bytes"},
		"of too many":            {string(binary.AppendUvarint(nil, 1<<40)), "an entry of 1099511627776 bytes"},
		"without a call":         {entry(0x18, 1), "no entry of a binary log of gRPC"},
		"with unknown fields":    {entry(0x10, 1, 0xf8, 0x07, 1), "no entry of a binary log of gRPC"},
		"that does not parse":    {entry(0x10, 0x80), "no entry of a binary log of gRPC"},
		"with an endless length": {strings.Repeat("\xff", 11), "no length of an entry"},
	} {
		_, err := binlog.Read(strings.NewReader(string(good)+c.behind), func(*session.Entry) error { return nil })
		wrong, is := errors.AsType[*binlog.FormatError](err)
		if !is || wrong.Offset != int64(len(good)) || wrong.Reason != c.says {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, torn := range []string{"\x05ab", "\x80"} {
		if done, err := binlog.Read(strings.NewReader(string(good)+torn), func(*session.Entry) error { return nil }); err != nil || !done.Torn || done.Entries != 2 {
			t.Errorf("%q: %+v, %v", torn, done, err)
		}
	}
}

// TestLost: what a log of gRPC has no place for is counted, and the rest is there.
func TestLost(t *testing.T) {
	open := func(stream session.StreamID, method, timeout string) session.Entry {
		e := session.Entry{Conn: 1, Stream: stream, Side: session.Client, Kind: session.KindOpen, Method: method}
		if timeout != "" {
			e.Headers = []session.Field{{Name: "grpc-timeout", Value: timeout}}
		}
		return e
	}
	_, w := log(t, []session.Entry{
		{Conn: 1, Kind: session.KindConnect, Peer: &session.Peer{Client: "10.0.0.1:5"}},
		open(1, ads, "5S"), open(2, "/v3/discovery:clusters", ""), open(3, "", ""),
		{Conn: 1, Stream: 2, Side: session.Client, Kind: session.KindMessage, Message: &session.Message{}},
		{Kind: session.KindGap, Gap: &session.Gap{}},
		{Kind: session.KindGap, Gap: &session.Gap{}},
		{Kind: session.KindTime},
		{Conn: 1, Stream: 1, Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{}},
		{Conn: 1, Stream: 1, Side: session.Server, Kind: session.KindCancel},
		{Conn: 1, Stream: 1, Side: session.Server, Kind: session.KindMessage, Message: &session.Message{}},
		open(4, ads, ""),
		{Conn: 1, Stream: 4, Side: session.Client, Kind: session.KindCancel},
	})
	want := []string{
		"2 entries of kind gap",
		"5 entries of streams that are no calls of gRPC, have not begun, or are over",
		"that a call was ended by somebody else than the client: it is there as cancelled",
	}
	got := w.Lost()
	if len(got) != 3 || got[1] != want[0] || !strings.Contains(strings.Join(got, "\n"), want[1]) || !strings.Contains(strings.Join(got, "\n"), want[2]) || w.Written != 4 {
		t.Errorf("%d written; %q", w.Written, got)
	}
	for text, want := range map[string]time.Duration{
		"5S": 5 * time.Second, "1H": time.Hour, "2M": 2 * time.Minute, "3m": 3 * time.Millisecond, "4u": 4 * time.Microsecond, "6n": 6, "99999999S": 99_999_999 * time.Second,
		"99999999H": 2562047 * time.Hour, "S": 0, "123456789S": 0, "5x": 0, "xS": 0, "": 0,
	} {
		data, _ := log(t, []session.Entry{open(1, ads, text)})
		n, size := binary.Uvarint(data)
		if size <= 0 || n == 0 { // four bytes
			n, size = uint64(binary.BigEndian.Uint32(data)), 4
		}
		r := new(pb.GrpcLogEntry)
		if err := proto.Unmarshal(data[size:size+int(n)], r); err != nil {
			t.Fatal(err)
		}
		if got := r.GetClientHeader().GetTimeout().AsDuration(); got != want {
			t.Errorf("%q: %v, not %v", text, got, want)
		}
	}
}
