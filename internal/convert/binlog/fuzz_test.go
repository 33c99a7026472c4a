package binlog_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/xdsproxy/xdsproxy/internal/convert/binlog"
	"github.com/xdsproxy/xdsproxy/session"
)

// written is a log of a call, in one of the two ways, with its entries in an
// order that is not theirs, if one is given.
func written(f testing.TB, varint bool, order ...int) []byte {
	var parts [][]byte
	for i, r := range []*pb.GrpcLogEntry{
		{Type: pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HEADER, Payload: &pb.GrpcLogEntry_ClientHeader{ClientHeader: &pb.ClientHeader{
			MethodName: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources", Authority: "xds:1",
		}}},
		{Type: pb.GrpcLogEntry_EVENT_TYPE_CLIENT_MESSAGE, Payload: &pb.GrpcLogEntry_Message{Message: &pb.Message{Length: 3, Data: []byte{1, 2, 3}}}},
		{Type: pb.GrpcLogEntry_EVENT_TYPE_SERVER_HEADER},
		{Type: pb.GrpcLogEntry_EVENT_TYPE_SERVER_TRAILER},
	} {
		r.CallId, r.SequenceIdWithinCall, r.Logger = 1, uint64(i+1), pb.GrpcLogEntry_LOGGER_CLIENT
		b, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		head := binary.BigEndian.AppendUint32(nil, uint32(len(b)))
		if varint {
			head = binary.AppendUvarint(nil, uint64(len(b)))
		}
		parts = append(parts, append(head, b...))
	}
	if order == nil {
		return bytes.Join(parts, nil)
	}
	var out []byte
	for _, i := range order {
		out = append(out, parts[i]...)
	}
	return out
}

// Goroutines of a program overtake each other on the way to the log.
func TestOvertaken(t *testing.T) {
	for _, c := range []struct {
		order   []int
		missing uint64
		kinds   []session.Kind
	}{
		{[]int{0, 2, 1, 3}, 0, []session.Kind{session.KindConnect, session.KindOpen, session.KindMessage, session.KindHeader, session.KindTrailer}},
		{[]int{0, 1, 3, 2}, 0, []session.Kind{session.KindConnect, session.KindOpen, session.KindMessage, session.KindHeader, session.KindTrailer}},
		{[]int{0, 2, 3, 1}, 0, []session.Kind{session.KindConnect, session.KindOpen, session.KindMessage, session.KindHeader, session.KindTrailer}},
		{[]int{0, 3, 2, 1}, 0, []session.Kind{session.KindConnect, session.KindOpen, session.KindMessage, session.KindHeader, session.KindTrailer}},
		{[]int{0, 3, 1, 2}, 0, []session.Kind{session.KindConnect, session.KindOpen, session.KindMessage, session.KindHeader, session.KindTrailer}},
		{[]int{0, 2, 3}, 1, []session.Kind{session.KindConnect, session.KindOpen, session.KindHeader, session.KindTrailer}},
		{[]int{0, 1, 3}, 1, []session.Kind{session.KindConnect, session.KindOpen, session.KindMessage, session.KindTrailer}},
	} {
		var kinds []session.Kind
		done, err := binlog.Read(bytes.NewReader(written(t, true, c.order...)), func(e *session.Entry) error {
			kinds = append(kinds, e.Kind)
			return nil
		})
		if err != nil || done.Missing != c.missing || !slices.Equal(kinds, c.kinds) {
			t.Errorf("%v: %v, %+v, %v", c.order, kinds, done, err)
		}
	}
}

// What never comes is not waited for: neither in a call with many more entries, nor
// when the log goes on without the call.
func TestDropped(t *testing.T) {
	var file []byte
	add := func(call, number uint64, at int64, kind pb.GrpcLogEntry_EventType) {
		r := &pb.GrpcLogEntry{
			CallId: call, SequenceIdWithinCall: number, Logger: pb.GrpcLogEntry_LOGGER_CLIENT, Type: kind,
			Timestamp: &timestamppb.Timestamp{Seconds: 1_700_000_000 + at},
		}
		if kind == pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HEADER {
			r.Payload = &pb.GrpcLogEntry_ClientHeader{ClientHeader: &pb.ClientHeader{
				MethodName: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources", Authority: "xds:1",
			}}
		}
		b, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		file = append(binary.AppendUvarint(file, uint64(len(b))), b...)
	}
	add(1, 1, 0, pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HEADER)
	add(1, 3, 0, pb.GrpcLogEntry_EVENT_TYPE_CLIENT_MESSAGE)
	add(2, 1, 60, pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HEADER)
	for n := range uint64(1000) {
		add(2, 3+n, 60, pb.GrpcLogEntry_EVENT_TYPE_SERVER_MESSAGE)
	}
	add(3, 1, 60, pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HEADER)
	var before uint64 // entries before the last call began
	var streams []session.StreamID
	done, err := binlog.Read(bytes.NewReader(file), func(e *session.Entry) error {
		if e.Kind == session.KindMessage && e.Stream == 1 && e.Time.Unix() != 1_700_000_000 {
			t.Errorf("the first call has a message at %v", e.Time)
		}
		if e.Stream == 3 {
			before = uint64(e.Seq)
		}
		streams = append(streams, e.Stream)
		return nil
	})
	if err != nil || done.Missing != 2 || done.Messages != 1001 {
		t.Errorf("%+v, %v", done, err)
	}
	if before < 900 {
		t.Errorf("the last call begins with entry %d: what waited was held longer than it may be (%v)", before, streams)
	}
}

func FuzzRead(f *testing.F) {
	for _, varint := range []bool{false, true} {
		seed := written(f, varint)
		done, err := binlog.Read(bytes.NewReader(seed), func(*session.Entry) error { return nil })
		if err != nil || done.Entries != 5 || done.Messages != 1 || done.Calls != 1 || done.Missing != 0 || done.Torn {
			f.Fatalf("%+v, %v", done, err)
		}
		f.Add(seed)
		f.Add(seed[:len(seed)-3])
	}
	bomb, err := proto.Marshal(&pb.GrpcLogEntry{CallId: 1, Payload: &pb.GrpcLogEntry_ServerHeader{
		ServerHeader: &pb.ServerHeader{Metadata: &pb.Metadata{Entry: slices.Repeat([]*pb.MetadataEntry{{}}, 4097)}},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(binary.AppendUvarint(nil, uint64(len(bomb))), bomb...))
	f.Fuzz(func(t *testing.T, data []byte) {
		var last session.Entry
		done, _ := binlog.Read(bytes.NewReader(data), func(e *session.Entry) error {
			if e.Seq != last.Seq+1 || e.Time.Before(last.Time) || e.Conn == 0 {
				t.Fatalf("%+v after %+v", e, last)
			}
			last = *e
			return nil
		})
		if done.Entries != uint64(last.Seq) {
			t.Fatalf("%d entries, and the last is %d", done.Entries, last.Seq)
		}
	})
}
