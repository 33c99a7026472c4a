package decode_test

import (
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/xdsproxy/xdsproxy/decode"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// eachService calls f for every service that is linked.
func eachService(f func(protoreflect.ServiceDescriptor)) {
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		for i := range fd.Services().Len() {
			f(fd.Services().Get(i))
		}
		return true
	})
}

// Every method that speaks of discovery is known, with its messages, its
// direction and its REST path; and no method is known that does not exist.
func TestMethodsAgreeWithTheAPI(t *testing.T) {
	exists := make(map[string]bool)
	eachService(func(sd protoreflect.ServiceDescriptor) {
		for i := range sd.Methods().Len() {
			md := sd.Methods().Get(i)
			path := "/" + string(sd.FullName()) + "/" + string(md.Name())
			m := xds.LookupMethod(path)
			name := string(md.Input().FullName())
			discovery := strings.HasSuffix(name, "DiscoveryRequest") || strings.Contains(string(sd.Name()), "Discovery") || strings.Contains(string(sd.Name()), "LoadReporting")
			if !discovery {
				continue
			}
			exists[path] = true
			if m.Request == "" {
				t.Errorf("%s is not known", path)
				continue
			}
			if m.Request != name || m.Response != string(md.Output().FullName()) {
				t.Errorf("%s: %s and %s, want %s and %s", path, m.Request, m.Response, name, md.Output().FullName())
			}
			if m.Unary == md.IsStreamingServer() || m.V2 != strings.Contains(path, "v2") {
				t.Errorf("%s: unary %v, v2 %v", path, m.Unary, m.V2)
			}
			if rule, _ := proto.GetExtension(md.Options(), annotations.E_Http).(*annotations.HttpRule); rule.GetPost() != "" {
				exists[rule.GetPost()] = true
				rest := xds.LookupMethod(rule.GetPost())
				if rest.Request != m.Request || rest.Response != m.Response || rest.Type != m.Type || !rest.Unary || rest.V2 != m.V2 {
					t.Errorf("%s: %+v", rule.GetPost(), rest)
				}
				if decode.FormOf(rest, "") != decode.FormJSON {
					t.Errorf("%s is not read as JSON", rule.GetPost())
				}
			}
			// The variant follows from the messages.
			want := map[string]string{"DiscoveryRequest": "sotw", "DeltaDiscoveryRequest": "delta"}[name[strings.LastIndexByte(name, '.')+1:]]
			if want != "" && strings.HasPrefix(string(sd.Name()), "Aggregated") {
				want += "-ads"
			}
			if want != "" && string(m.Variant) != want {
				t.Errorf("%s: variant %s, want %s", path, m.Variant, want)
			}
			checkType(t, sd, m)
		}
	})
	for _, m := range xds.Methods() {
		if !exists[m.Path] {
			t.Errorf("%s does not exist", m.Path)
		}
	}
}

// checkType compares the type of a per-type stream with what the API says that
// its service carries.
func checkType(t *testing.T, sd protoreflect.ServiceDescriptor, m xds.Method) {
	t.Helper()
	opts := sd.Options().ProtoReflect()
	opts.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.FullName() != "envoy.annotations.resource" {
			return true
		}
		typ := v.Message().Get(v.Message().Descriptor().Fields().ByName("type")).String()
		if got := xds.ShortType(typ); got != m.Type {
			t.Errorf("%s carries %s, that is %s, not %s", m.Path, typ, got, m.Type)
		}
		if _, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(typ)); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
		return true
	})
}
