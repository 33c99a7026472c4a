package decode

import (
	"encoding/json"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// What a message is read as follows from the method, else from the bytes.
func TestDecodeFindsTheForm(t *testing.T) {
	const jsonBody = `{"resources":[]}`
	for _, c := range []struct {
		path, content, data string
		fields, typed       bool
		problems            int
	}{
		{adsPath, "application/grpc", string(sotwResponseBytes), true, true, 0},
		{"", "", string(sotwResponseBytes), true, true, 1},
		{"", "application/grpc", jsonBody, false, true, 0},
		{"/v3/discovery:clusters", "", jsonBody, false, true, 0},
		{"/v3/discovery:clusters", "application/x-protobuf", string(sotwResponseBytes), true, true, 0},
		{"/elsewhere", "application/json", jsonBody, false, false, 0},
		{"", "application/json", "\xff", false, false, 2},
	} {
		m := xds.Method{}
		if c.path != "" {
			m = xds.LookupMethod(c.path)
		}
		if doc := Decode(m, session.Server, c.content, []byte(c.data)); len(doc.Problems) != c.problems || (doc.Type == xds.PackageV3+"DiscoveryResponse") != c.typed {
			t.Errorf("%q of %q: a %q, %q", c.path, c.content, doc.Type, doc.Problems)
		}
		if fields, problem := (Decoder{}).Wire(m, session.Server, c.content, []byte(c.data), 100); len(fields) > 0 != c.fields || problem != "" {
			t.Errorf("%q of %q: %d fields, %q", c.path, c.content, len(fields), problem)
		}
	}
}

// The payload of a resource is read as what it is: protobuf, JSON, or nothing.
func TestDecodeResource(t *testing.T) {
	const url = "type.googleapis.com/google.protobuf.StringValue"
	for body, want := range map[string]string{
		`{"@type":"` + url + `","value":"x"}`: `{"@type":"` + url + `","value":"x"}`,
		string(handmade.Str(1, "x")):          `{"@type":"` + url + `","value":"x"}`,
		"":                                    `{"@type":"` + url + `","value":""}`,
	} {
		r := Resource{TypeURL: url, Body: []byte(body)}
		if doc := r.Decode(); string(doc.Compact()) != want || len(doc.Problems) > 0 {
			t.Errorf("%q: %s, %q", body, doc.Compact(), doc.Problems)
		}
	}
	if doc := (&Resource{Empty: true}).Decode(); string(doc.Compact()) != "{}" {
		t.Errorf("an empty one: %s", doc.Compact())
	}
}

// Nothing makes a decoder panic or run away.
func FuzzDecode(f *testing.F) {
	for _, s := range handmade.Samples {
		f.Add(s.Path, s.Data)
		f.Add("", s.Data)
	}
	f.Add("/v3/discovery:clusters", []byte(`{"resources":[{"@type":"a/b","name":"c"}]}`))
	f.Fuzz(func(t *testing.T, path string, data []byte) {
		for _, side := range []session.Side{session.Client, session.Server} {
			if doc := Decode(xds.LookupMethod(path), side, "", data); !json.Valid(doc.JSON()) {
				t.Errorf("%s", doc.JSON())
			}
			for _, r := range Peek(xds.LookupMethod(path), side, "", data).Resources {
				r.Decode()
			}
		}
	})
}
