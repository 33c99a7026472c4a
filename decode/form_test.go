package decode

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// The content type says how a message is written, and where it does not, the method.
func TestFormOf(t *testing.T) {
	poll, stream := xds.LookupMethod("/v3/discovery:clusters"), xds.LookupMethod(adsPath)
	file := xds.Method{Variant: xds.VariantFile, Path: "/etc/v3/discovery:clusters"}
	for _, c := range []struct {
		m       xds.Method
		content string
		want    Form
	}{
		{stream, "", FormProto},
		{stream, "application/grpc", FormProto},
		{stream, "application/json", FormJSON},
		{stream, "text/plain", FormProto},
		{xds.Method{Service: "a.B", Path: "/v3/discovery:clusters"}, "", FormJSON}, // of a service that is not known
		{xds.Method{Response: "a.B", Path: "/v3/discovery:clusters"}, "", FormJSON},
		{poll, "", FormJSON},
		{poll, "application/grpc", FormProto},
		{poll, "application/grpc+proto", FormProto},
		{poll, "application/x-protobuf", FormProto},
		{poll, "application/protobuf; v=1", FormProto},
		{poll, "text/plain", FormJSON},
		{xds.Method{}, "Application/JSON; charset=utf-8", FormJSON},
		{xds.Method{}, "text/json", FormJSON},
		{xds.Method{}, "application/problem+json", FormJSON},
		{xds.Method{}, " Application/JSON ; charset", FormJSON}, // no media type that can be read
		{xds.Method{}, "", FormProto},
		{xds.Method{Path: "/v9/discovery:things"}, "", FormJSON},
		{xds.Method{Variant: xds.VariantREST}, "", FormJSON},
		{file, "", FormProto},
	} {
		if got := FormOf(c.m, c.content); got != c.want {
			t.Errorf("%q of %q %q: %v", c.content, c.m.Path, c.m.Variant, got)
		}
	}
}

// The kind follows from the method and from who sent it.
func TestKindOfMethods(t *testing.T) {
	for _, c := range []struct {
		variant        xds.Variant
		client, server Kind
	}{
		{xds.VariantSotw, SotwRequest, SotwResponse},
		{xds.VariantSotwADS, SotwRequest, SotwResponse},
		{xds.VariantREST, SotwRequest, SotwResponse},
		{xds.VariantFile, SotwRequest, SotwResponse},
		{xds.VariantDelta, DeltaRequest, DeltaResponse},
		{xds.VariantDeltaADS, DeltaRequest, DeltaResponse},
		{xds.VariantOther, Other, Other},
	} {
		for side, want := range map[session.Side]Kind{session.Client: c.client, session.Server: c.server, session.Proxy: Other, session.SideUnknown: Other} {
			if got, sure := KindOf(xds.Method{Variant: c.variant}, side, nil); got != want || !sure {
				t.Errorf("%q by the %s: %s, sure %v", c.variant, side, got, sure)
			}
			m := Message{Kind: want}
			if m.Request() != (want == SotwRequest || want == DeltaRequest) || m.Response() != (want == SotwResponse || want == DeltaResponse) {
				t.Errorf("%s: request %v, response %v", want, m.Request(), m.Response())
			}
		}
	}
	for side, data := range map[session.Side][]byte{session.Client: msg(str(4, clusterURL)), session.Proxy: msg(str(4, clusterURL))} {
		want, sure := SotwRequest, false
		if side == session.Proxy {
			want, sure = Other, true
		}
		if got, is := KindOf(xds.Method{}, side, session.Chunks{data[:3], data[3:]}); got != want || is != sure {
			t.Errorf("%s: %s, sure %v", side, got, is)
		}
	}
	for k, want := range map[Kind]string{
		Other: "other", SotwRequest: "DiscoveryRequest", SotwResponse: "DiscoveryResponse", DeltaRequest: "DeltaDiscoveryRequest", DeltaResponse: "DeltaDiscoveryResponse", 99: "other",
	} {
		if k.String() != want {
			t.Errorf("%d: %s", k, k)
		}
	}
}

// By the look of its bytes a message is of one kind, to the last byte of a type URL.
func TestSniff(t *testing.T) {
	long := "a.b/" + strings.Repeat("c", 1020)
	tail := func(fields ...[]byte) []byte { return msg(append([][]byte{str(4, clusterURL)}, fields...)...) }
	for name, c := range map[string]struct {
		side session.Side
		data []byte
		want Kind
	}{
		"nothing of a client":     {session.Client, nil, Other},
		"nothing of a server":     {session.Server, nil, Other},
		"neither side":            {session.Proxy, tail(), Other},
		"the longest type":        {session.Client, str(4, long), SotwRequest},
		"too long":                {session.Client, str(4, long+"c"), Other},
		"no dot":                  {session.Client, str(4, "a/b"), Other},
		"no slash":                {session.Client, str(4, "a.b"), Other},
		"a slash at first":        {session.Client, str(4, "/a.b"), Other},
		"a dot at first":          {session.Client, str(4, ".a/"), SotwRequest},
		"a space":                 {session.Client, str(4, "a.b/ c"), Other},
		"the last printable":      {session.Client, str(4, "a.b/!~"), SotwRequest},
		"delete":                  {session.Client, str(4, "a.b/\x7f"), Other},
		"a name of xdstp":         {session.Client, str(4, "xdstp://a.b/c"), Other},
		"the first of two counts": {session.Client, msg(str(2, "x"), str(2, clusterURL), str(4, clusterURL), str(4, "x")), SotwRequest},
		"not a length":            {session.Client, msg(num(2, 1), num(4, 1), str(4, clusterURL)), SotwRequest},

		"resources and no type":       {session.Server, anyOf(2, clusterURL), SotwResponse},
		"something and no type":       {session.Server, sub(2, str(1, "x")), Other},
		"the type again":              {session.Server, tail(anyOf(2, clusterURL, str(3, "x"))), SotwResponse},
		"a wrapper":                   {session.Server, tail(anyOf(2, wrapperURL, anyOf(2, clusterURL))), SotwResponse},
		"a resource with a name":      {session.Server, tail(sub(2, str(3, "x"))), DeltaResponse},
		"another type":                {session.Server, tail(sub(2, str(1, secretURL), str(2, "x"))), SotwResponse},
		"another type, and a payload": {session.Server, tail(sub(2, str(1, secretURL), anyOf(2, clusterURL))), DeltaResponse},
		"an error of delta":           {session.Server, tail(sub(9, str(1, "x"))), DeltaResponse},
		"a removed locator":           {session.Server, tail(sub(8, str(1, "x"))), DeltaResponse},
		"a field that none has":       {session.Server, tail(str(10, "x")), SotwResponse},
		"a removed name":              {session.Server, tail(str(6, "web")), DeltaResponse},
		"a removed name of nothing":   {session.Server, tail(str(6, "")), SotwResponse},
		"the control plane":           {session.Server, tail(sub(6, str(1, "cp"))), SotwResponse},
		"the first of two":            {session.Server, tail(sub(6, str(1, "cp")), str(6, "web")), SotwResponse},
		"a resource and a version":    {session.Server, tail(sub(2, num(1, 7), anyOf(2, clusterURL))), DeltaResponse},
	} {
		if got := sniff(c.side, c.data); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
	for data, want := range map[string]bool{
		string(str(3, "x")): true, string(anyOf(2, clusterURL)): true, string(str(2, "x")): false, string(num(2, 1)): false, "": false,
		string(msg(str(1, "x"), str(2, "x"), str(3, "x"))): false,
	} {
		if HoldsAny([]byte(data)) != want {
			t.Errorf("%q holds an Any: %v", data, !want)
		}
	}
	for data, want := range map[string]bool{
		"{}": true, " \t\r\n{\"": true, "{ ": true, "{\n": true, "{": false, "": false, "{a": false, "[]": false, "\x0b\"": false,
	} {
		if LooksLikeJSON([]byte(data)) != want {
			t.Errorf("%q looks like JSON: %v", data, !want)
		}
	}
}

// The names of resources are in order, and those without one are not among them.
func TestResourceNames(t *testing.T) {
	for _, c := range []struct {
		names, want []string
	}{
		{nil, nil},
		{[]string{""}, []string{}},
		{[]string{"b", "", "a", "b"}, []string{"b", "a", "b"}},
	} {
		var m Message
		for _, name := range c.names {
			m.Resources = append(m.Resources, Resource{Name: name})
		}
		if d := cmp.Diff(c.want, m.ResourceNames()); d != "" {
			t.Error(d)
		}
	}
	for _, c := range []struct {
		r    Resource
		want bool
	}{{Resource{}, true}, {Resource{Empty: true}, false}, {Resource{TypeURL: clusterURL}, false}} {
		if c.r.Untyped() != c.want {
			t.Errorf("%+v has no type: %v", c.r, !c.want)
		}
	}
}
