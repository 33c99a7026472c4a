package client

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/edit"
	"github.com/xdsproxy/xdsproxy/replay/fault"
)

func (r *role) did(f *fault.Fault, format string, args ...any) {
	r.client.ledger.Wrong(&r.client.o, f, format, args...)
}

// storm opens the stream many times in vain, before it is opened in earnest.
func (r *role) storm(ctx context.Context, cc *grpc.ClientConn) {
	for _, f := range r.client.o.Faults.Take(r.Opened, fault.ReconnectStorm) {
		r.did(f, "%s is opened %d times and left at once", r.Stream, f.Number())
		for range f.Number() {
			once, leave := context.WithCancel(ctx)
			_, err := cc.NewStream(once, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, r.Method.Path)
			leave()
			if err != nil {
				break // the stream in earnest says why
			}
		}
	}
}

// held is how much longer an answer has to be held back.
func (r *role) held(i int32, now time.Time) time.Duration {
	seq := r.Steps[i].Seq
	for _, f := range r.client.o.Faults.Take(seq, fault.LateACK) {
		if r.late == nil {
			r.late = map[int32]time.Time{}
		}
		r.late[i] = now.Add(f.For())
		r.did(f, "entry %d is sent %s late", seq, f.For())
	}
	return r.late[i].Sub(now)
}

// falsify changes a request; nil says that none is sent. accepted is the version
// that the client held before it.
func (r *role) falsify(st *replay.Step, out []byte, accepted string) []byte {
	t := &r.topics[st.Topic]
	for _, f := range r.client.o.Faults.Take(st.Seq, fault.NACK, fault.Silence, fault.WrongNonce) {
		changes := edit.Set{}
		switch f.Kind {
		case fault.Silence:
			r.did(f, "entry %d is not sent", st.Seq)
			t.accepted, r.silent = accepted, true
			return nil
		case fault.WrongNonce:
			nonce := edit.NonceOfRequest
			if r.Delta() {
				nonce = edit.NonceOfDeltaRequest
			}
			r.did(f, "entry %d is sent with a nonce that nobody gave", st.Seq)
			changes[protowire.Number(nonce)] = "wrong-on-purpose"
		default:
			why := edit.AppendString(protowire.AppendVarint(protowire.AppendTag(nil, edit.CodeOfStatus, protowire.VarintType), uint64(codes.InvalidArgument)),
				edit.MessageOfStatus, "rejected on purpose")
			r.did(f, "entry %d, an ACK, is sent as a NACK", st.Seq)
			if r.Delta() {
				changes[edit.ErrorOfDeltaRequest] = string(why)
			} else {
				changes[edit.ErrorOfRequest], changes[edit.VersionOfRequest], t.accepted = string(why), accepted, accepted
			}
		}
		if wrong, ok := changes.Apply(out); ok {
			out = wrong
		}
	}
	return out
}
