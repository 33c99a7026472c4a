package handmade

import (
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/typepb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
)

// said is a message in brief: how long it is, its fields in order, and a sum.
func said(b []byte) string {
	return fmt.Sprintf("%d bytes, %08x", len(b), crc32.ChecksumIEEE(b))
}

// What is made is the same as ever: who reads a seed in a failed test makes the same
// of it.
func TestMade(t *testing.T) {
	var b strings.Builder
	for _, s := range Samples {
		fmt.Fprintf(&b, "%s %v %s\n", s.Path, s.Side, hex.EncodeToString(s.Data))
	}
	fmt.Fprintf(&b, "node %x\n0 clusters %x\n1 cluster %x\n1000 clusters %s\n", Node, Clusters(0), Clusters(1), said(Clusters(1000)))
	for _, delta := range []bool{false, true} {
		for i := range 15 {
			fmt.Fprintf(&b, "delta %v, resource %d: %q\n", delta, i, NewSaid(delta, ClusterURL, 15).Resources[i])
		}
		for op := range byte(40) {
			s := NewSaid(delta, ClusterURL, 100)
			s.edit(op, rand.New(rand.NewPCG(uint64(op), 1)))
			fmt.Fprintf(&b, "delta %v, edit %d: version %d, %d resources, %s\n", delta, op, s.Version, len(s.Resources), said(s.Bytes(op)))
		}
		for _, n := range []int{1, 2, 89, 90, 91, 299, 300, 301} {
			for op := range byte(10) {
				s := NewSaid(delta, ClusterURL, n)
				s.edit(op, rand.New(rand.NewPCG(uint64(n), uint64(op))))
				fmt.Fprintf(&b, "delta %v, edit %d of %d: %d resources, %s\n", delta, op, n, len(s.Resources), said(s.Bytes(0)))
			}
		}
	}
	golden.Is(t, "testdata/made.golden", b.String())
}

// Messages at random, and with all that they can have, are the same as ever.
func TestFilled(t *testing.T) {
	var b strings.Builder
	all := []proto.Message{
		&discoveryv3.DeltaDiscoveryRequest{}, &corev3.GrpcService{}, &typepb.Field{}, &structpb.Struct{}, &anypb.Any{},
		&wrapperspb.DoubleValue{}, &wrapperspb.FloatValue{}, &wrapperspb.Int64Value{}, &wrapperspb.BytesValue{},
	}
	for _, m := range all {
		for seed := range uint64(12) {
			made := m.ProtoReflect().New()
			Fill(rand.New(rand.NewPCG(seed, 2)), made, int(seed%4), []float64{0, 0.2, 1}[seed%3])
			b.WriteString(summary(made))
		}
		for variant := range 3 {
			for depth := range 4 {
				made := m.ProtoReflect().New()
				Populate(made, depth, variant)
				b.WriteString(summary(made))
			}
		}
	}
	golden.Is(t, "testdata/filled.golden", b.String())
}

func summary(m protoreflect.Message) string {
	raw, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(m.Interface())
	if err != nil {
		return fmt.Sprintf("%s: %v\n", m.Descriptor().Name(), err)
	}
	text := ""
	if len(raw) < 200 {
		text = hex.EncodeToString(raw)
	}
	return fmt.Sprintf("%s: %s %s\n", m.Descriptor().Name(), said(raw), text)
}

// Every kind of field has a value of its own, in both ways of making one.
func TestKinds(t *testing.T) {
	var b strings.Builder
	for _, mt := range []protoreflect.MessageType{
		(&wrapperspb.BoolValue{}).ProtoReflect().Type(), (&wrapperspb.Int32Value{}).ProtoReflect().Type(), (&wrapperspb.UInt32Value{}).ProtoReflect().Type(),
		(&wrapperspb.Int64Value{}).ProtoReflect().Type(), (&wrapperspb.UInt64Value{}).ProtoReflect().Type(), (&wrapperspb.FloatValue{}).ProtoReflect().Type(),
		(&wrapperspb.DoubleValue{}).ProtoReflect().Type(), (&wrapperspb.BytesValue{}).ProtoReflect().Type(), (&wrapperspb.StringValue{}).ProtoReflect().Type(),
	} {
		fd := mt.Descriptor().Fields().Get(0)
		fmt.Fprintf(&b, "%s: %v;", fd.Kind(), scalar(fd))
		for seed := range uint64(30) {
			text := fmt.Sprintf("%q", fmt.Sprint(Pick(rand.New(rand.NewPCG(seed, 3)), fd)))
			fmt.Fprintf(&b, " %.30s", text)
		}
		b.WriteByte('\n')
	}
	golden.Is(t, "testdata/kinds.golden", b.String())
	if n := EachMessage(func(mt protoreflect.MessageType) {
		if mt.Descriptor().IsMapEntry() {
			t.Errorf("%s is an entry of a map", mt.Descriptor().FullName())
		}
	}); n < 100 {
		t.Errorf("%d messages are linked", n)
	}
	if got := Marshal(t, wrapperspb.String("a")); string(got) != "\x0a\x01a" {
		t.Errorf("%q", got)
	}
}

// whole is a Transformer that leaves messages as they are. If frees, it copies each, and
// gives its memory back. If it empties them, it leaves this of each.
type whole struct {
	frees   bool
	free    func(session.Chunks)
	empties bool
	empty   session.Chunks
}

func (w *whole) Free(f func(session.Chunks)) { w.free = f }

func (w *whole) Transform(e *session.Entry) {
	if w.empties && e.Message != nil {
		e.Message = &session.Message{Data: w.empty, Size: e.Message.Size}
		return
	}
	if !w.frees || w.free == nil || e.Message == nil {
		return
	}
	m := *e.Message
	m.Data = nil
	for _, c := range e.Message.Data {
		m.Data = append(m.Data, append([]byte(nil), c...))
	}
	w.free(e.Message.Data)
	e.Message = &m
}

// The responses of a seed are the same as ever, whether their memory is given back or
// not.
func TestRepeat(t *testing.T) {
	seeds := map[string][]byte{
		"edits":  {0, 20, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 20, 0, 10, 0},
		"cut":    {0x3d, 0x3e, 0x3f, 0x7d, 0xbe, 60, 61, 62, 63},
		"others": []byte(strings.Repeat("\x40\x80\xc0\x00\x14", 9)),
	}
	var b strings.Builder
	for _, name := range []string{"cut", "edits", "others"} {
		for _, frees := range []bool{false, true} {
			n := 0
			Repeat(t, 7, seeds[name], &whole{frees: frees}, func() Transformer { return &whole{} }, func(path string, data []byte, got, want *session.Entry) {
				n++
				if !reflect.DeepEqual(got.Message.Data.Bytes(), data) {
					t.Errorf("%s, %d: the message is another", name, n)
				}
				fmt.Fprintf(&b, "%s %v: stream %d, %s %s in %d pieces\n", name, frees, got.Stream, path[len(path)-30:], said(data), len(got.Message.Data))
			})
		}
	}
	golden.Is(t, "testdata/repeat.golden", b.String())
	n := 0
	Repeat(t, 7, seeds["edits"], &whole{empties: true}, func() Transformer { return &whole{empties: true, empty: session.Chunks{}} }, func(string, []byte, *session.Entry, *session.Entry) { n++ })
	if n != len(seeds["edits"]) {
		t.Errorf("of %d messages nothing is left alike", n)
	}
}
