package binlog_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/internal/convert/binlog"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

// log writes entries, and returns the log and what is not in it.
func log(t testing.TB, entries []session.Entry) ([]byte, *binlog.Writer) {
	t.Helper()
	var out bytes.Buffer
	w := binlog.NewWriter(&out)
	for i := range entries {
		if err := w.Add(&entries[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes(), w
}

// line is what of an entry goes there and back.
func line(e *session.Entry) string {
	s := fmt.Sprintf("%s stream %d %s %s %s", e.Time.Format(time.RFC3339Nano), e.Stream, e.Side, e.Kind, e.Method)
	if e.Message != nil {
		s += fmt.Sprintf(" %d bytes %x", e.Message.Size, e.Message.Data.Bytes())
	}
	if e.Status != nil && e.Kind == session.KindTrailer {
		s += fmt.Sprintf(" %d %q", e.Status.Code, e.Status.Message)
	}
	return s + " " + session.Get(e.Headers, "user-agent")
}

// What was written is read again as it was, but for connections.
func TestThereAndBack(t *testing.T) {
	for _, name := range []string{"envoy-delta-side", "envoy-per-type", "grpc-go-load-reports", "grpc-java", "server-offers-no-delta"} {
		entries := recordertest.Entries(t, "../../../check/testdata/sessions/"+name+".xdsp")
		data, _ := log(t, entries)
		var want, got []string
		streams, over := map[session.StreamID]bool{}, map[session.StreamID]bool{}
		for i := range entries {
			e := &entries[i]
			if e.Stream != 0 && e.Kind != session.KindNote && !over[e.Stream] {
				over[e.Stream] = e.Kind == session.KindCancel || e.Kind == session.KindTrailer
				want = append(want, line(e))
				streams[e.Stream] = true
			}
		}
		done, err := binlog.Read(bytes.NewReader(data), func(e *session.Entry) error {
			if e.Stream != 0 {
				got = append(got, line(e))
			}
			return nil
		})
		if err != nil || done.Torn || done.Missing != 0 || done.Truncated != 0 || int(done.Calls) != len(streams) || len(want) == 0 {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] && !irregular(want[i]) {
				t.Fatalf("%s: %s\nand not %s", name, got[i], want[i])
			}
		}
		if len(want) != len(got) {
			t.Errorf("%s: %d entries and not %d", name, len(got), len(want))
		}
	}
}

// irregular is the end of a stream that a log has another word for.
func irregular(line string) bool {
	return bytes.Contains([]byte(line), []byte(" server cancel ")) || bytes.Contains([]byte(line), []byte(" proxy cancel "))
}

// The entries are those of gRFC A16: numbered, each after its length, as gRPC's own types
// read them.
func TestAsGRPCHasIt(t *testing.T) {
	data, w := log(t, recordertest.Entries(t, "../../../check/testdata/sessions/envoy-sotw-held.xdsp"))
	numbers, n := map[uint64]uint64{}, uint64(0)
	for len(data) > 0 {
		size := binary.BigEndian.Uint32(data)
		r := new(pb.GrpcLogEntry)
		if err := proto.Unmarshal(data[4:4+size], r); err != nil {
			t.Fatal(err)
		}
		data = data[4+size:]
		numbers[r.GetCallId()]++
		n++
		if r.GetSequenceIdWithinCall() != numbers[r.GetCallId()] || r.GetLogger() != pb.GrpcLogEntry_LOGGER_SERVER || r.GetTimestamp().AsTime().Year() < 2020 {
			t.Errorf("%v", r)
		}
		if h := r.GetClientHeader(); h != nil && (h.GetMethodName() == "" || h.GetAuthority() == "" || r.GetPeer().GetIpPort() == 0) {
			t.Errorf("%v", r)
		}
		if m := r.GetMessage(); m != nil && int(m.GetLength()) != len(m.GetData()) {
			t.Errorf("a message of %d bytes has %d", m.GetLength(), len(m.GetData()))
		}
		for _, f := range slices.Concat(r.GetClientHeader().GetMetadata().GetEntry(), r.GetTrailer().GetMetadata().GetEntry()) {
			if f.GetKey() == "grpc-status" || f.GetKey() == ":path" {
				t.Errorf("%s is in the metadata", f.GetKey())
			}
		}
	}
	if n != w.Written || n < 20 {
		t.Errorf("%d entries, and it says %d", n, w.Written)
	}
	if want := "6 entries of kind held"; !slices.Contains(w.Lost(), want) {
		t.Errorf("it does not say %q, but %q", want, w.Lost())
	}
}

// FuzzWrite: what a log has is written and read again, whatever it is.
func FuzzWrite(f *testing.F) {
	f.Add("/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources", "127.0.0.1:80", "1S", []byte{1, 2}, int32(14))
	f.Add("/a/b", "unix:\xff", "99999999H", []byte{}, int32(-1))
	f.Fuzz(func(t *testing.T, method, peer, timeout string, body []byte, code int32) {
		at := time.Unix(1_700_000_000, 0).UTC()
		data, w := log(t, []session.Entry{
			{Kind: session.KindConnect, Conn: 1, Time: at, Peer: &session.Peer{Client: peer}},
			{Kind: session.KindOpen, Conn: 1, Stream: 1, Time: at, Side: session.Client, Method: method, Headers: []session.Field{{Name: "grpc-timeout", Value: timeout}, {Name: peer, Value: method}}},
			{Kind: session.KindMessage, Conn: 1, Stream: 1, Time: at, Side: session.Client, Message: &session.Message{Data: session.Chunks{body}, Size: int64(len(body))}},
			{Kind: session.KindTrailer, Conn: 1, Stream: 1, Time: at, Side: session.Server, Status: &session.Status{Code: code, Message: peer}},
		})
		done, err := binlog.Read(bytes.NewReader(data), func(e *session.Entry) error {
			if e.Message != nil && !bytes.Equal(e.Message.Data.Bytes(), body) {
				t.Errorf("%x", e.Message.Data.Bytes())
			}
			return nil
		})
		if w.Written == 3 && (err != nil || done.Torn || done.Calls+done.Others != 1) || w.Written != 3 && w.Written != 0 {
			t.Errorf("%d were written; %+v, %v", w.Written, done, err)
		}
	})
}
