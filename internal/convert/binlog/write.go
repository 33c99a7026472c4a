package binlog

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Writer writes entries as a server would have logged them, each after its length in
// four bytes, as gRPC for Go does. What such a log has no place for is counted.
type Writer struct {
	to    io.Writer
	peers map[session.ConnID]*pb.Address
	calls map[session.StreamID]uint64 // number of the last entry of each that is open
	lost  map[kind]uint64
	// Written are the entries of the log.
	Written uint64
}

// kind is what cannot be written, of one and of several.
type kind struct{ one, many string }

// NewWriter returns a Writer that has written nothing.
func NewWriter(to io.Writer) *Writer {
	return &Writer{to: to, peers: map[session.ConnID]*pb.Address{}, calls: map[session.StreamID]uint64{}, lost: map[kind]uint64{}}
}

// Add writes an entry.
func (w *Writer) Add(e *session.Entry) error {
	switch e.Kind {
	case session.KindConnect:
		if e.Peer != nil && len(w.peers) < maxCalls {
			w.peers[e.Conn] = addressOf(e.Peer.Client)
		}
		return nil
	case session.KindOpen:
		return w.open(e)
	case session.KindTime:
		return nil
	}
	n, is := w.calls[e.Stream]
	if e.Stream == 0 || !is {
		w.lose(e)
		return nil
	}
	r := &pb.GrpcLogEntry{CallId: uint64(e.Stream), SequenceIdWithinCall: n + 1}
	switch e.Kind {
	case session.KindHeader:
		r.Type = pb.GrpcLogEntry_EVENT_TYPE_SERVER_HEADER
		r.Payload = &pb.GrpcLogEntry_ServerHeader{ServerHeader: &pb.ServerHeader{Metadata: metadata(e.Headers)}}
	case session.KindMessage:
		w.message(r, e)
	case session.KindHalfClose:
		r.Type = pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HALF_CLOSE
	case session.KindTrailer:
		r.Type = pb.GrpcLogEntry_EVENT_TYPE_SERVER_TRAILER
		r.Payload = &pb.GrpcLogEntry_Trailer{Trailer: trailer(e)}
	case session.KindCancel:
		r.Type = pb.GrpcLogEntry_EVENT_TYPE_CANCEL
		if e.Side != session.Client {
			w.lost[kind{"that a call was ended by somebody else than the client: it is there as cancelled", "that calls were ended by somebody else than the client: they are there as cancelled"}]++
		}
	default:
		w.lose(e)
		return nil
	}
	w.calls[e.Stream]++
	if e.Kind == session.KindTrailer || e.Kind == session.KindCancel {
		delete(w.calls, e.Stream)
	}
	return w.write(r, e.Time)
}

func (w *Writer) lose(e *session.Entry) {
	name := e.Kind.String()
	what := kind{"entry of kind " + name, "entries of kind " + name}
	if e.Stream != 0 {
		what = kind{"entry of a stream that is no call of gRPC, has not begun, or is over", "entries of streams that are no calls of gRPC, have not begun, or are over"}
	}
	w.lost[what]++
}

// Lost says what was not written, by kind and number.
func (w *Writer) Lost() (out []string) {
	for what, n := range w.lost {
		out = append(out, render.Count(n, what.one, what.many))
	}
	slices.Sort(out)
	return out
}

// open writes the beginning of a call of gRPC.
func (w *Writer) open(e *session.Entry) error {
	m := xds.LookupMethod(e.Method)
	if m.Variant == xds.VariantREST || m.Variant == xds.VariantFile || e.Method == "" || len(w.calls) >= maxCalls {
		w.lose(e)
		return nil
	}
	h := &pb.ClientHeader{MethodName: valid(e.Method), Authority: valid(session.Get(e.Headers, ":authority")), Metadata: metadata(e.Headers)}
	if d, is := timeout(session.Get(e.Headers, "grpc-timeout")); is {
		h.Timeout = durationpb.New(d)
	}
	w.calls[e.Stream] = 1
	return w.write(&pb.GrpcLogEntry{
		CallId: uint64(e.Stream), SequenceIdWithinCall: 1, Type: pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HEADER,
		Payload: &pb.GrpcLogEntry_ClientHeader{ClientHeader: h}, Peer: w.peers[e.Conn],
	}, e.Time)
}

func (w *Writer) message(r *pb.GrpcLogEntry, e *session.Entry) {
	r.Type = pb.GrpcLogEntry_EVENT_TYPE_SERVER_MESSAGE
	if e.Side == session.Client {
		r.Type = pb.GrpcLogEntry_EVENT_TYPE_CLIENT_MESSAGE
	}
	m := &pb.Message{Length: uint32(min(e.Message.Size, 1<<32-1)), Data: e.Message.Data.Bytes()}
	if e.Message.Compressed { // a log has what was decompressed
		m.Data = nil
		w.lost[kind{"content of a message that could not be decompressed", "contents of messages that could not be decompressed"}]++
	}
	r.PayloadTruncated = !e.Message.Whole()
	r.Payload = &pb.GrpcLogEntry_Message{Message: m}
}

func trailer(e *session.Entry) *pb.Trailer {
	t := &pb.Trailer{Metadata: metadata(e.Headers)}
	if s := e.Status; s != nil {
		t.StatusCode, t.StatusMessage = uint32(max(s.Code, 0)), valid(s.Message)
		if s.Code < 0 {
			t.StatusCode = 2 // what a client makes of an answer without a status: UNKNOWN
		}
	}
	if details := session.Get(e.Headers, "grpc-status-details-bin"); details != "" {
		t.StatusDetails, _ = base64.RawStdEncoding.DecodeString(strings.TrimRight(details, "="))
	}
	return t
}

// metadata are the fields that are not gRPC's own or HTTP's. gRPC does not log
// user-agent; it stays, since it tells what the client is.
func metadata(all []session.Field) *pb.Metadata {
	out := &pb.Metadata{}
	for _, f := range all {
		switch {
		case strings.HasPrefix(f.Name, ":"), f.Name == "content-type", f.Name == "te", strings.HasPrefix(f.Name, "grpc-") && f.Name != "grpc-trace-bin":
		default:
			out.Entry = append(out.Entry, &pb.MetadataEntry{Key: valid(f.Name), Value: []byte(f.Value)})
		}
	}
	return out
}

// valid is a text that protobuf takes.
func valid(s string) string { return strings.ToValidUTF8(s, "�") }

// timeout reads a grpc-timeout: up to 8 digits and a unit.
func timeout(s string) (time.Duration, bool) {
	units := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond}
	if len(s) < 2 || len(s) > 9 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 32)
	unit := units[s[len(s)-1]]
	if err != nil || unit == 0 {
		return 0, false
	}
	return unit * time.Duration(min(n, uint64(math.MaxInt64/unit))), true
}

func addressOf(s string) *pb.Address {
	if path, is := strings.CutPrefix(s, "unix:"); is {
		return &pb.Address{Type: pb.Address_TYPE_UNIX, Address: valid(path)}
	}
	at, err := netip.ParseAddrPort(s)
	if err != nil {
		return &pb.Address{Address: valid(s)}
	}
	kind := pb.Address_TYPE_IPV6
	if at.Addr().Is4() {
		kind = pb.Address_TYPE_IPV4
	}
	return &pb.Address{Type: kind, Address: at.Addr().String(), IpPort: uint32(at.Port())}
}

func (w *Writer) write(r *pb.GrpcLogEntry, at time.Time) error {
	r.Logger, r.Timestamp = pb.GrpcLogEntry_LOGGER_SERVER, timestamppb.New(at)
	b, err := proto.Marshal(r)
	if err != nil {
		return fmt.Errorf("an entry cannot be written: %w", err)
	}
	if len(b) > maxRecord {
		return fmt.Errorf("an entry of %d bytes is too long for a binary log", len(b))
	}
	w.Written++
	_, headErr := w.to.Write(binary.BigEndian.AppendUint32(nil, uint32(len(b))))
	_, err = w.to.Write(b)
	return cmp.Or(headErr, err)
}
