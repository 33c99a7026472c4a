package edit

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
)

func TestVersionOfPoll(t *testing.T) {
	for _, c := range []struct{ body, version, want string }{
		{`{"version_info":"1","node":{"id":"n"}}`, "2", `{"version_info":"2","node":{"id":"n"}}`},
		{`{"node":{"id":"n"}, "versionInfo" : "1" }`, `a"b`, `{"node":{"id":"n"}, "versionInfo":"a\"b" }`},
		{`{"node":{"version_info":"7"}}`, "2", `{"version_info":"2","node":{"version_info":"7"}}`},
		{`{}`, "2", `{"version_info":"2"}`},
		{`{"version_info":"1"}`, "", `{}`},
		{`{"version_info":"1","a":1}`, "", `{"a":1}`},
		{`{"a":1,"version_info":"1"}`, "", `{"a":1}`},
		{`{"a":1}`, "", `{"a":1}`},
	} {
		got, ok := VersionOfPoll([]byte(c.body), c.version)
		if !ok || string(got) != c.want {
			t.Errorf("%s with %q is %s, not %s", c.body, c.version, got, c.want)
		}
	}
	for _, body := range []string{"", "[]", "null", `{"a"`, `{"a":}`, `"version_info"`} {
		if got, ok := VersionOfPoll([]byte(body), "2"); ok {
			t.Errorf("%q is taken for a poll: %s", body, got)
		}
	}
}

// FuzzVersionOfPoll: what is an object stays one, and nothing but the version is
// another.
func FuzzVersionOfPoll(f *testing.F) {
	for _, seed := range []string{`{"version_info":"1","node":{"id":"n"}}`, `{"a":[1,{"version_info":2}],"versionInfo":null}`, `{ }`, `{"a":1,"version_info":"1"}`} {
		f.Add([]byte(seed), "2")
		f.Add([]byte(seed), "")
	}
	f.Fuzz(func(t *testing.T, body []byte, version string) {
		out, ok := VersionOfPoll(body, version)
		var before, after map[string]json.RawMessage
		if !ok || json.Unmarshal(body, &before) != nil || strings.Count(string(body), "nfo") > 1 {
			return
		}
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatalf("%q becomes %q: %v", body, out, err)
		}
		for _, o := range []map[string]json.RawMessage{before, after} {
			delete(o, "version_info")
			delete(o, "versionInfo")
		}
		if !maps.EqualFunc(before, after, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			t.Fatalf("%q becomes %q", body, out)
		}
	})
}

// What REST says in JSON is what gRPC says, masks included.
func TestFromJSON(t *testing.T) {
	const response = "envoy.service.discovery.v3.DiscoveryResponse"
	body := `{"version_info":"1","resources":[{"@type":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",` +
		`"name":"s","tls_certificate":{"private_key":{"inline_bytes":"[masked: 12 bytes]"}}}]}`
	wire, err := FromJSON(response, []byte(body))
	if err != nil || !strings.Contains(string(wire), "[masked: 12 bytes]") {
		t.Fatalf("%q, %v", wire, err)
	}
	again, err := ToJSON(response, wire)
	if err != nil || !strings.Contains(string(again), `"version_info"`) {
		t.Errorf("%s, %v", again, err)
	}
	for _, bad := range [][2]string{{"no.such.Type", "{}"}, {response, "[]"}, {response, `{"version_info":1,"resources":"x"}`}} {
		if _, err := FromJSON(bad[0], []byte(bad[1])); err == nil {
			t.Errorf("%s of %s is a message", bad[1], bad[0])
		}
	}
}
