package diff_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Every list of the table is compared as a set, and no other.
func TestSetsInAnyOrder(t *testing.T) {
	for _, name := range append(diff.Sets(),
		"envoy.config.listener.v3.Listener.filter_chains", "envoy.config.route.v3.VirtualHost.routes",
		"envoy.config.listener.v3.FilterChain.filters", "envoy.config.route.v3.RouteAction.hash_policy",
		"envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager.http_filters",
		"envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.alpn_protocols",
	) {
		full := protoreflect.FullName(name)
		mt, err := protoregistry.GlobalTypes.FindMessageByName(full.Parent())
		if err != nil {
			t.Fatal(err)
		}
		fd := mt.Descriptor().Fields().ByName(full.Name())
		make := func(order ...int) *document.Tree {
			m := mt.New()
			list := m.Mutable(fd).List()
			for _, i := range order {
				v := list.NewElement()
				if fd.Message() == nil {
					v = scalar(fd, i)
				} else if !fill(v.Message(), i, 0) {
					t.Fatalf("%s: no two elements can be told apart", name)
				}
				list.Append(v)
			}
			wire, err := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(m.Interface())
			if err != nil {
				t.Fatal(err)
			}
			doc := document.Any("type.googleapis.com/"+string(full.Parent()), wire)
			return &doc.Root
		}
		r := diff.Compare(make(1, 2, 3), make(3, 1, 2), diff.Options{})
		if set := slices.Contains(diff.Sets(), name); r.Same() != set {
			t.Errorf("%s in another order: the same %v, %v", name, r.Same(), told(r))
		}
		r = diff.Compare(make(1, 2, 3), make(3, 2), diff.Options{})
		if r.Count[diff.Removed] != 1 || r.Count[diff.Added]+r.Count[diff.Changed] != 0 {
			t.Errorf("%s without one: %v", name, told(r))
		}
	}
}

func scalar(fd protoreflect.FieldDescriptor, i int) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprint("v", i))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{byte(i)})
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(i))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(i))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(i))
	}
	return protoreflect.Value{}
}

// fill sets the first field of a message that can tell it from others.
func fill(m protoreflect.Message, i, depth int) bool {
	fields := m.Descriptor().Fields()
	for n := range fields.Len() {
		fd := fields.Get(n)
		if fd.IsList() || fd.IsMap() || fd.Message() != nil {
			continue
		}
		if v := scalar(fd, i); v.IsValid() {
			m.Set(fd, v)
			return true
		}
	}
	for n := range fields.Len() {
		fd := fields.Get(n)
		if fd.Message() != nil && !fd.IsMap() && !fd.IsList() && depth < 4 {
			v := m.NewField(fd)
			if fill(v.Message(), i, depth+1) {
				m.Set(fd, v)
				return true
			}
		}
	}
	return false
}

// Of real sessions, the changes between the responses of each type make one of
// the other.
func TestRealResponses(t *testing.T) {
	files, err := filepath.Glob("../../check/testdata/sessions/*.xdsp")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	compared, differed := 0, 0
	for _, file := range files {
		r, err := recorder.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		tracker := check.NewTracker(nil)
		last := make(map[string]document.Document)
		for e, err := range r.Entries(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			c := tracker.Step(&e)
			if e.Kind != session.KindMessage || c.Message == nil || !c.Message.Response() {
				continue
			}
			doc := decode.Decode(c.Method, e.Side, "", e.Message.Data.Bytes())
			key := strings.Join([]string{c.Client, c.Type, doc.Type}, " ")
			if old, ok := last[key]; ok {
				o := diff.Options{Type: doc.Type}
				r := diff.Compare(&old.Root, &doc.Root, o)
				got := apply(&old.Root, slices.Collect(r.Changes()))
				if again := diff.Compare(&got, &doc.Root, o); !again.Same() || r.Coarse {
					t.Errorf("%s: entry %d: %v, coarse %v", file, e.Seq, told(again), r.Coarse)
				}
				if compared++; !r.Same() {
					differed++
				}
			}
			last[key] = doc
		}
		_ = r.Close()
	}
	if compared < 100 || differed < 50 {
		t.Errorf("%d pairs of responses, %d that differ", compared, differed)
	}
}
