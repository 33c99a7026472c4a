package binlog_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/internal/convert/binlog"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// written is a log of a call, in one of the two ways.
func written(f *testing.F, varint bool) []byte {
	var out []byte
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
		if varint {
			out = binary.AppendUvarint(out, uint64(len(b)))
		} else {
			out = binary.BigEndian.AppendUint32(out, uint32(len(b)))
		}
		out = append(out, b...)
	}
	return out
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
