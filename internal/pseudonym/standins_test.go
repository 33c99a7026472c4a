package pseudonym

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

var placeNames = [...]string{inValue: "value", inKey: "key", inField: "field", inAgent: "agent", inProse: "prose", inPattern: "pattern", inHeader: "header"}

// TestStandIns: what a key makes of a name is the same for ever, as who kept the
// key asks for what stands for what. A line of testdata/texts is a place and a
// text, with the escapes of Go.
func TestStandIns(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "texts"))
	if err != nil {
		t.Fatal(err)
	}
	type text struct {
		in   place
		is   string
		line string
	}
	var texts []text
	for line := range strings.SplitSeq(strings.TrimSpace(string(b)), "\n") {
		where, quoted, _ := strings.Cut(line, " ")
		var is string
		if err := json.Unmarshal([]byte(quoted), &is); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for in, name := range placeNames {
			if name == where {
				texts = append(texts, text{place(in), is, line})
			}
		}
	}
	n := NewNames(testKey())
	for _, x := range texts {
		n.text(x.is, x.in, 0)
	}
	if err := n.Settle(); err != nil {
		t.Fatal(err)
	}
	reveal := NewReveal(n.key)
	var out strings.Builder
	for _, x := range texts {
		got := n.text(x.is, x.in, 0)
		back := reveal.Text(got)
		fmt.Fprintf(&out, "%s\n      %q\n", x.line, got)
		if back != x.is {
			fmt.Fprintf(&out, " back %q\n", back)
		}
	}
	if n.err != nil {
		t.Error(n.err)
	}
	golden.Is(t, filepath.Join("testdata", "standins.txt"), out.String())
}

// TestRecording: entries of every kind with stand-ins, byte for byte; and no name
// is found in them, while each is found in what it was in.
func TestRecording(t *testing.T) {
	entries := allKinds(t)
	n := NewNames(testKey())
	learning := n.Walk()
	for i := range entries {
		learning.Entry(&entries[i])
	}
	if err := n.Settle(); err != nil {
		t.Fatal(err)
	}
	mapping, found, missed := n.Walk(), n.Search(), 0
	var out strings.Builder
	for i := range entries {
		before := fmt.Sprint(entries[i])
		e := mapping.Entry(&entries[i])
		if after := fmt.Sprint(entries[i]); after != before {
			t.Errorf("entry %d was changed from %s to %s", e.Seq, before, after)
		}
		if err := found.Entry(&e); err != nil {
			t.Error(err)
			found = n.Search()
		}
		if err := n.Search().Entry(&entries[i]); err == nil {
			missed++
		}
		var data []byte
		if e.Message != nil {
			m := *e.Message
			data, m.Data = m.Data.Bytes(), nil
			e.Message = &m
		}
		e.Time = time.Time{}
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n", b)
		if len(data) > 0 {
			fmt.Fprintf(&out, "  %q\n", data)
		}
	}
	if err := mapping.Err(); err != nil {
		t.Error(err)
	}
	fmt.Fprintf(&out, "%d of %d entries have no name\n", missed, len(entries))
	golden.Is(t, filepath.Join("testdata", "recording.txt"), out.String())
}

// allKinds are a conversation, and what else can be in a recording.
func allKinds(t *testing.T) (entries []session.Entry) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "conversation.xds"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse("conversation.xds", text)
	if err != nil {
		t.Fatal(err)
	}
	for e := range s.Entries() {
		entries = append(entries, e)
	}
	field := func(num protowire.Number, b string) string {
		return string(protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), b))
	}
	number := func(v float64) string {
		return string(protowire.AppendFixed64(protowire.AppendTag(nil, 2, protowire.Fixed64Type), math.Float64bits(v)))
	}
	member := func(key, value string) string { return field(1, field(1, key)+field(2, value)) }
	status := field(2, "no cluster acme-cart in the region") + field(3, field(1, "type.googleapis.com/acme.Detail")+field(2, "acme-cart"))
	metadata := member("account", number(123456789012)) + member("share", number(0.5)) + member("name", field(3, "acme-cart")) + member("filter_metadata", field(3, "envoy.lb")) + member("large", number(1e15)) + member("least", number(1e5))
	node := field(1, "sidecar~10.1.2.3~acme-cart-7d.shop~shop.svc.cluster.local") + field(2, "acme-cart.shop") + field(3, metadata) + field(4, field(1, "eu-acme-1")+field(2, "eu-acme-1b")) + field(6, "acme-agent") + field(10, "xds.config.resource-in-sotw")
	ads := "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	cds := "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	open := func(stream session.StreamID, method, content string) session.Entry {
		return session.Entry{Conn: 9, Stream: stream, Kind: session.KindOpen, Side: session.Client, Method: method, Headers: []session.Field{{Name: "content-type", Value: content}}}
	}
	message := func(stream session.StreamID, side session.Side, data string) session.Entry {
		return session.Entry{Conn: 9, Stream: stream, Kind: session.KindMessage, Side: side, Message: &session.Message{Size: int64(len(data)), Data: session.Chunks{[]byte(data)}}}
	}
	compressed := message(91, session.Server, "\x1f\x8bacme-cart in gzip")
	compressed.Message.Compressed = true
	cut := message(91, session.Server, field(1, "v-acme-1")+"\x0a\xff")
	cut.Message.Size = 4096
	hashed := message(91, session.Server, "")
	hashed.Message.Hash = []byte("0123456789abcdef")
	more := []session.Entry{
		{Conn: 9, Kind: session.KindConnect, Peer: &session.Peer{
			Client: "10.1.2.3:41234", Listen: "0.0.0.0:18000", Upstream: "istiod.acme-system.svc:15012", Local: "[2001:db8::7]:5000",
			ClientTLS: &session.TLS{Version: "1.3", Cipher: "TLS_AES_128_GCM_SHA256", ALPN: "h2", ServerName: "istiod.acme-system.svc", Identities: []string{"spiffe://acme.example/ns/shop/sa/cart"}, Issuer: "O=Acme"},
			ServerTLS: &session.TLS{Version: "1.3", ServerName: "xds.acme.example"},
		}},
		{
			Conn: 9, Stream: 90, Kind: session.KindOpen, Side: session.Client, Method: "/v3/discovery:clusters?tenant=acme-cart",
			Headers: []session.Field{
				{Name: ":path", Value: "/v3/discovery:clusters?tenant=acme-cart"},
				{Name: ":authority", Value: "xds.acme.example:443"},
				{Name: "user-agent", Value: "acme-agent/1.2 grpc-go/1.60.0"},
				{Name: "server", Value: "acme-envoy"},
				{Name: "via", Value: "1.1 acme"},
				{Name: "X-Acme-Tenant", Value: "cart-team"},
				{Name: "content-type", Value: "application/json"},
				{Name: "te", Value: "trailers"},
				{Name: "grpc-status-details-bin", Value: base64.StdEncoding.EncodeToString([]byte(status))},
				{Name: "acme-trace-bin", Value: base64.RawStdEncoding.EncodeToString([]byte("acme-cart is here"))},
				{Name: "acme-odd-bin", Value: "not base64, but acme-cart"},
				{Name: "grpc-message", Value: "no acme%2Dcart%20here"},
			},
			Sent: []session.Field{{Name: ":authority", Value: "xds.acme.example:8443"}},
		},
		message(90, session.Client, `{"node":{"id":"acme-cart-7d","cluster":"acme-cart"},"typeUrl":"`+cds+`","resourceNames":["outbound|80||acme-cart.shop.svc.cluster.local"],"versionInfo":"12345678"}`),
		message(90, session.Server, `not JSON, and about acme-cart`),
		open(91, ads, "application/grpc"),
		message(91, session.Client, field(2, node)+field(4, cds)+field(6, string(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 13))+field(2, "Error adding/updating cluster(s) acme-cart: no acme-pay"))),
		message(91, session.Server, field(1, "v-acme-1")+field(2, field(1, cds)+field(2, field(1, "acme-cart")+field(28, "acme-stat")))+field(4, cds)+field(5, "acme-nonce")+field(77, "acme-cart of another version")),
		message(91, session.Server, field(2, field(1, "type.googleapis.com/acme.Unknown")+field(2, "acme-cart, which nobody knows")+field(3, "acme-cart"))+field(4, cds)),
		message(91, session.Server, field(1, "v-acme-1")+"\x0a\xff"), message(91, session.Server, field(1, "v-acme-1")+"\x0a\x0eshort"), message(91, session.Server, field(1, "v-acme-1")+"\x0b"),
		compressed, cut, hashed,
		{Conn: 9, Stream: 91, Kind: session.KindTrailer, Side: session.Server, Status: &session.Status{Code: 14, Message: "no healthy upstream for acme-cart at 10.1.2.9"}, Problems: []string{"cannot decompress: acme-cart"}},
		open(92, "/acme.cart.v1.Cart/Get", "application/grpc"),
		message(92, session.Client, field(1, "acme-cart")),
		message(92, session.Server, "acme-cart says only text"), message(92, session.Server, "\x00\xffacme-cart"),
		open(93, "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats", "application/grpc"),
		message(93, session.Client, field(1, node)+field(2, field(1, "acme-cart")+field(6, "acme-service"))),
		{Conn: 9, Kind: session.KindGoAway, Side: session.Server, GoAway: &session.GoAway{Debug: "max age of acme-cart"}},
		{Conn: 9, Kind: session.KindDisconnect, Side: session.Server, Status: &session.Status{Code: -1, Message: "read tcp 10.1.2.3:41234: reset"}},
		{Kind: session.KindNote, Note: &session.Note{Text: "what acme-cart did", Hint: "ask acme-pay", Code: "other"}},
		{Kind: session.KindNote, Note: &session.Note{Text: "nack-received", Code: session.NoteSilenced}},
		{Kind: session.KindHeld, Held: &session.Held{Node: "acme-cart-7d", Address: "10.1.2.3:15000", Failed: "dial acme-cart: refused"}},
		{Conn: 9, Stream: 94, Kind: session.KindOpen, Side: session.Client, Method: xds.FilePrefix + "/etc/acme/cds.yaml", Headers: []session.Field{
			{Name: xds.FileEvent, Value: xds.FileSwapped}, {Name: xds.FileSeen, Value: "yes"}, {Name: xds.FileSeen, Value: "acme"}, {Name: xds.FileWatched, Value: xds.FileAlone}, {Name: xds.FileFrom, Value: "/etc/acme"}, {Name: xds.FileReplaced, Value: "/etc/acme"},
		}},
		{Kind: session.KindGap, Gap: &session.Gap{First: 3, Last: 4, Entries: 2}},
	}
	for _, e := range append(entries[:len(entries):len(entries)], more...)[len(entries):] {
		e.Seq = session.Seq(len(entries) + 1)
		entries = append(entries, e)
	}
	return entries
}

// TestKeyFiles: what is no key file is none, and why.
func TestKeyFiles(t *testing.T) {
	dir := t.TempDir()
	secret := base64.StdEncoding.EncodeToString(make([]byte, secretSize))
	for name, c := range map[string]struct {
		text, want string
		mode       os.FileMode
	}{
		"good":         {`{"version":1,"secret":"` + secret + `"}`, "", 0o600},
		"only read":    {`{"version":1,"secret":"` + secret + `"}`, "", 0o400},
		"group":        {`{"version":1,"secret":"` + secret + `"}`, "others may read it, which has mode 0640: it must be 0600", 0o640},
		"others":       {`{"version":1,"secret":"` + secret + `"}`, "others may read it, which has mode 0601: it must be 0600", 0o601},
		"of later":     {`{"version":2,"secret":"` + secret + `"}`, "it is no key file of xdsproxy", 0o600},
		"short secret": {`{"version":1,"secret":"AAAA"}`, "it is no key file of xdsproxy", 0o600},
		"no JSON":      {`{"version":1,`, "it is no key file of xdsproxy", 0o600},
		"empty":        {``, "it is no key file of xdsproxy", 0o600},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		k, err := LoadKey(path)
		if got := fmt.Sprint(err); (c.want != "" || err != nil) && got != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil && k.Words == nil {
			t.Errorf("%s: there is no room for words", name)
		}
	}
	if _, err := LoadKey(dir); err == nil || err.Error() != "it is no file" {
		t.Errorf("a directory: %v", err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxKeyFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(large); err == nil || err.Error() != "it is too large for a key file" {
		t.Errorf("a large file: %v", err)
	}
	if err := NewKey().Save(filepath.Join(dir, "nowhere", "key")); !IsMissing(err) {
		t.Errorf("a directory that is not there: %v", err)
	}
	occupied := filepath.Join(dir, "occupied")
	if err := os.MkdirAll(filepath.Join(occupied, "by"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := NewKey().Save(occupied); err == nil {
		t.Error("a directory was replaced by a key")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".names-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
