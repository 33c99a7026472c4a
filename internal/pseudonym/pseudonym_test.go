package pseudonym

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	_ "github.com/xdsproxy/xdsproxy/decode/types" // what messages consist of
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

func testKey() *Key {
	return &Key{Version: keyVersion, Secret: []byte("a key of 32 bytes, for the tests"), Words: make(map[string]string)}
}

// mapped learns values, settles and maps texts.
func mapped(t *testing.T, n *Names, values []string, in place, texts ...string) []string {
	t.Helper()
	for _, v := range values {
		n.text(v, inValue, 0)
	}
	for _, s := range texts {
		n.text(s, in, 0)
	}
	if err := n.Settle(); err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = n.text(s, in, 0)
	}
	if n.err != nil {
		t.Fatal(n.err)
	}
	return out
}

// shape is a text with its letters and digits made equal.
func shape(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9':
			return '0'
		case r >= 'a' && r <= 'z':
			return 'a'
		case r >= 'A' && r <= 'Z':
			return 'A'
		}
		return r
	}, s)
}

// Names keep their shape, and what in it has a meaning.
func TestShapes(t *testing.T) {
	for _, c := range []struct{ name, kept string }{
		{"outbound|8080||details.default.svc.cluster.local", "outbound|8080||"},
		{"outbound|8080||details.default.svc.cluster.local", ".svc.cluster.local"},
		{"xdstp://acme.example/envoy.config.cluster.v3.Cluster/prod/web?zone=east", "/envoy.config.cluster.v3.Cluster/"},
		{"httproute/prod/checkout/rule/0", "/0"},
		{"9e5580933739775e8bce696a57a2e1bc99368f23", ""},
		{"/api/v1/acme%2Fusers", "%2F"},
		{"[%START_TIME%] %REQ(X-ACME-TENANT?:PATH)% %RESPONSE_CODE%\n", "%RESPONSE_CODE%"},
	} {
		n := NewNames(testKey())
		out := mapped(t, n, nil, inValue, c.name)[0]
		if out == c.name || shape(out) != shape(c.name) || !strings.Contains(out, c.kept) {
			t.Errorf("%s became %s; want the same shape, with %q", c.name, out, c.kept)
		}
		if back := NewReveal(n.key).Text(out); back != c.name {
			t.Errorf("%s came back as %s", out, back)
		}
	}
	n := NewNames(testKey())
	out := mapped(t, n, nil, inValue, "sidecar~10.20.0.7~pod-a.shop~shop.svc.cluster.local", "ip-10-20-0-7.internal", `10\.20\.0\.7`, "127.0.0.1:80", "0.0.0.0", "169.254.169.254", "fe80::1")
	if strings.Contains(strings.Join(out, " "), "20") || !strings.HasPrefix(out[0], "sidecar~") || !strings.Contains(out[1], strings.ReplaceAll(strings.Split(out[0], "~")[1], ".", "-")) {
		t.Errorf("addresses in names: %q", out)
	}
	if got := strings.Join(out[3:], " "); got != "127.0.0.1:80 0.0.0.0 169.254.169.254 fe80::1" {
		t.Errorf("addresses that every machine has: %s", got)
	}
}

// What is numbered stays in order: rules list it so, and name the first.
func TestNumbered(t *testing.T) {
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprintf("httproute/prod/shop%d/rule", i))
	}
	if out := mapped(t, NewNames(testKey()), nil, inValue, names...); !slices.IsSorted(out) || slices.Equal(out, names) {
		t.Errorf("in another order: %q", out)
	}
}

// What belongs to the API stays.
func TestStays(t *testing.T) {
	all := []string{
		"type.googleapis.com/envoy.config.cluster.v3.Cluster", "envoy.filters.http.router", "ROUND_ROBIN", "x-forwarded-for", "*", "",
		"/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources", "networking.istio.io/v1alpha3/VirtualService",
		"1.40.0", "h2", "rsa_pss_rsae_sha256", "[masked:37lD1WfgqfSvUIOE1lm...]", "/dev/stdout", "%REQ(:AUTHORITY)%",
	}
	for i, got := range mapped(t, NewNames(testKey()), nil, inValue, all...) {
		if got != all[i] {
			t.Errorf("%s became %s", all[i], got)
		}
	}
	for _, foreign := range []string{"type.googleapis.com/acme.Config", "envoy.filters.http.acmeauth", "x-acme-tenant", "acme.istio.io.example/v1/Foo", "service-backend"} {
		if got := mapped(t, NewNames(testKey()), nil, inValue, foreign)[0]; got == foreign {
			t.Errorf("%s stays", foreign)
		}
	}
}

// In the text of an error the sentence stays, and what is a name elsewhere is one
// here.
func TestProse(t *testing.T) {
	n := NewNames(testKey())
	const text = "Error adding/updating cluster(s) service-backend: cluster web: Proto constraint validation failed (ClusterValidationError.ConnectTimeout: value must be greater than 0s) from 10.1.2.3 for acmecorp"
	out := mapped(t, n, []string{"service-backend", "web"}, inProse, text)[0]
	for _, gone := range []string{"service-backend", "web", "10.1.2.3", "acmecorp"} {
		if strings.Contains(out, gone) {
			t.Errorf("%s is in %s", gone, out)
		}
	}
	for _, kept := range []string{"Error adding/updating cluster(s) " + n.text("service-backend", inValue, 0) + ": cluster " + n.text("web", inValue, 0), "(ClusterValidationError.ConnectTimeout: value must be greater than 0s)"} {
		if !strings.Contains(out, kept) {
			t.Errorf("%q is not in %s", kept, out)
		}
	}
}

// Regular expressions and JSON stay what they are.
func TestForms(t *testing.T) {
	n := NewNames(testKey())
	n.text("acme", inValue, 0)
	if out := mapped(t, n, nil, inPattern, `^/acme/[a-z]+/\d{2}(?P<rest>.*)$`)[0]; out != "^/"+n.text("acme", inValue, 0)+`/[a-z]+/\d{2}(?P<rest>.*)$` {
		t.Errorf("a regular expression became %s", out)
	}
	n = NewNames(testKey())
	out := mapped(t, n, []string{"acme"}, inValue, `{"connect_timeout": "5s", "acme" : ["a\u0063me\n", 17, "ROUND_ROBIN"]}`)[0]
	if a := n.text("acme", inValue, 0); out != `{"connect_timeout": "5s", "`+a+`" : ["`+a+`\n", 17, "ROUND_ROBIN"]}` {
		t.Errorf("JSON became %s", out)
	}
}

// Letters of other scripts are the same name however they are written, and numbers
// name something, too.
func TestOtherForms(t *testing.T) {
	n := NewNames(testKey())
	out := mapped(t, n, nil, inValue, "東京-shop", "/%E6%9D%B1%E4%BA%AC-shop/100%25", `{"account": 123456789012, "of": [-1, 0.25, 654321, 12345]}`, "%CEL(x)% %ACCESS_LOG_TYPE% %ED")
	if out[1] != "/"+out[0]+"/100%25" {
		t.Errorf("%q and %q", out[0], out[1])
	}
	account := n.text("123456789012", inValue, 0)
	if len(account) != 12 || out[2] != `{"`+n.text("account", inField, 0)+`": `+account+`, "`+n.text("of", inField, 0)+`": [-1, 0.25, `+n.text("654321", inValue, 0)+`, 12345]}` {
		t.Errorf("JSON became %s", out[2])
	}
	if !strings.HasPrefix(out[3], "%CEL(") || !strings.Contains(out[3], ")% %ACCESS_LOG_TYPE% ") {
		t.Errorf("a command became %s", out[3])
	}
	number := func(v float64) []byte {
		return protowire.AppendFixed64(protowire.AppendTag(nil, 2, protowire.Fixed64Type), math.Float64bits(v))
	}
	for _, same := range []float64{0.25, 99999, -654321, math.NaN(), math.Inf(1)} {
		if got := n.message(messageType("google.protobuf.Value"), number(same), 0); !bytes.Equal(got, number(same)) {
			t.Errorf("%v became %x", same, got)
		}
	}
	want, _ := strconv.ParseFloat(account, 64)
	if got := n.message(messageType("google.protobuf.Value"), number(123456789012), 0); !bytes.Equal(got, number(want)) {
		t.Errorf("an account became %x, not %v", got, want)
	}
}

// What Envoy would reject otherwise stays: the words of a script, if it has no other
// ones, too, and what makes a key of a JSON web key.
func TestStaysValid(t *testing.T) {
	modulus := base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xa4}, 256))
	const script = "function envoy_on_response(handle) end"
	n := NewNames(testKey())
	out := mapped(t, n, nil, inValue, script, `{"keys":[{"kty":"RSA","kid":"acme","alg":"RS256","use":"sig","e":"AQAB","n":"`+modulus+`"}]}`)
	if out[0] != script {
		t.Errorf("a script became %s", out[0])
	}
	var set struct {
		Keys []struct{ Kty, Kid, Alg, Use, E, N string }
	}
	if err := json.Unmarshal([]byte(out[1]), &set); err != nil || len(set.Keys) != 1 {
		t.Fatalf("%v: %s", err, out[1])
	}
	flags := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "NR")
	if got := n.message(messageType("envoy.config.accesslog.v3.ResponseFlagFilter"), flags, 0); !bytes.Equal(got, flags) {
		t.Errorf("a flag became %q", got)
	}
	k := set.Keys[0]
	if b, err := base64.RawURLEncoding.DecodeString(k.N); err != nil || len(b) != 256 || b[255]&1 == 0 || k.N == modulus {
		t.Errorf("%v: %d bytes in %s", err, len(b), k.N)
	}
	if k.Kty != "RSA" || k.Alg != "RS256" || k.Use != "sig" || k.E != "AQAB" || k.Kid == "acme" {
		t.Errorf("%+v", k)
	}
}

// The same key makes the same of the same names, and another key something else.
func TestKeys(t *testing.T) {
	one, two := mapped(t, NewNames(testKey()), nil, inValue, "acme-prod")[0], mapped(t, NewNames(testKey()), nil, inValue, "acme-prod")[0]
	if three := mapped(t, NewNames(NewKey()), nil, inValue, "acme-prod")[0]; one != two || one == three {
		t.Errorf("%s, %s, %s", one, two, three)
	}
	path := filepath.Join(t.TempDir(), "key")
	if _, err := LoadKey(path); !IsMissing(err) {
		t.Error(err)
	}
	n := NewNames(NewKey())
	was := mapped(t, n, nil, inValue, "acme-prod")[0]
	if err := n.key.Save(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	key, err := LoadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if is := mapped(t, NewNames(key), []string{"another", "one"}, inValue, "acme-prod")[0]; is != was {
		t.Errorf("acme-prod was %s and is %s", was, is)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(path); err == nil || !strings.Contains(err.Error(), "0600") {
		t.Errorf("a key that others may read: %v", err)
	}
}

// Certificates are made anew, for stand-ins, and one still signs the other.
func TestCertificates(t *testing.T) {
	rootKey, leafKey := newTestKey(t), newTestKey(t)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Acme Root", Organization: []string{"Acme"}},
		NotAfter: time.Unix(2e9, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "web.acme.example"}, NotAfter: time.Unix(2e9, 0),
		DNSNames: []string{"web.acme.example"}, IPAddresses: []net.IP{net.IPv4(10, 1, 2, 3)},
	}
	rootDER, leafDER := signed(t, root, root, rootKey, rootKey), signed(t, leaf, root, leafKey, rootKey)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leafDER})) + string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER}))
	made := func() string { return mapped(t, NewNames(testKey()), nil, inValue, text)[0] }
	out := made()
	if out != made() {
		t.Error("the same key makes different certificates")
	}
	first, rest := pem.Decode([]byte(out))
	second, _ := pem.Decode(rest)
	l, err := x509.ParseCertificate(first.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	r, err := x509.ParseCertificate(second.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.CheckSignatureFrom(r); err != nil {
		t.Error(err)
	}
	if !l.NotAfter.Equal(leaf.NotAfter) || len(l.DNSNames) != 1 || l.DNSNames[0] != l.Subject.CommonName || shape(l.DNSNames[0]) != "aaa.aaaa.aaaaaaa" || l.IPAddresses[0].Equal(leaf.IPAddresses[0]) {
		t.Errorf("%v, %v, %v, %v", l.Subject, l.DNSNames, l.IPAddresses, l.NotAfter)
	}
	for _, der := range [][]byte{first.Bytes, second.Bytes} {
		if bytes.Contains(bytes.ToLower(der), []byte("acme")) {
			t.Errorf("acme is in %q", der)
		}
	}
}

func newTestKey(t *testing.T) *ecdsa.PrivateKey {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func signed(t *testing.T, c, by *x509.Certificate, key, byKey *ecdsa.PrivateKey) []byte {
	der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, byKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// A name that is found again is told, wherever it is.
func TestSearch(t *testing.T) {
	field := func(num protowire.Number, b string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), b)
	}
	for what, e := range map[string]*session.Entry{
		"a header":    {Kind: session.KindOpen, Headers: []session.Field{{Name: "x-a", Value: "to acmecorp"}}},
		"a status":    {Kind: session.KindTrailer, Status: &session.Status{Message: "no ACMECORP"}},
		"a message":   {Kind: session.KindMessage, Side: session.Client, Message: &session.Message{Data: session.Chunks{append(field(2, string(field(1, "acmecorp"))), field(4, "type.googleapis.com/envoy.config.cluster.v3.Cluster")...)}}},
		"raw bytes":   {Kind: session.KindMessage, Side: session.Client, Message: &session.Message{Data: session.Chunks{append(field(77, "\x01\x02web.acmecorp.example"), 0xff)}}},
		"base64":      {Kind: session.KindOpen, Headers: []session.Field{{Name: "x-a", Value: base64.StdEncoding.EncodeToString([]byte("is web.acmecorp.example here"))}}},
		"an address":  {Kind: session.KindConnect, Peer: &session.Peer{Client: "10.9.8.7:6543"}},
		"a note":      {Kind: session.KindNote, Note: &session.Note{Text: "the user said service-backend"}},
		"JSON inside": {Kind: session.KindOpen, Headers: []session.Field{{Name: "x-a", Value: `{"a": "\u0061cmecorp"}`}}},
	} {
		n := NewNames(testKey())
		mapped(t, n, []string{"web.acmecorp.example", "10.9.8.7", "service-backend"}, inValue)
		s := n.Search()
		if err := s.Entry(&session.Entry{Kind: session.KindOpen, Headers: []session.Field{{Name: "x-a", Value: n.text("web.acmecorp.example", inValue, 0)}}}); err != nil {
			t.Error(err)
		}
		e.Seq = 7
		var leak *LeakError
		if err := s.Entry(e); !errors.As(err, &leak) || !strings.Contains(err.Error(), "of entry 7") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// There is an end to what is kept.
func TestTooMany(t *testing.T) {
	n := NewNames(testKey())
	n.size = maxNames
	n.text("one-more", inValue, 0)
	if err := n.Settle(); !errors.Is(err, ErrTooMany) {
		t.Errorf("%v", err)
	}
}

// Whatever a text is: it maps without a panic to one of its shape, different words
// to different ones, and the key brings it back.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"outbound|80||a.b.svc.cluster.local", "%REQ(X-A)%", `{"a":"b"}`, "10.0.0.1 ::1 a::b", "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----", "\xff\xfe\x00", "Ünïcode", "a b c d", `\n[a-z(?:x)`, "[masked:x"} {
		f.Add(s, uint8(inValue))
		f.Add(s, uint8(inProse))
		f.Add(s, uint8(inPattern))
	}
	f.Fuzz(func(t *testing.T, s string, where uint8) {
		in := place(where % 7)
		n := NewNames(testKey())
		out := mapped(t, n, nil, in, s)[0]
		if strings.Contains(s, "-----BEGIN ") || strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") || strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") {
			return // written anew
		}
		seen := make(map[string]string)
		for word, standIn := range n.words {
			if was, twice := seen[standIn]; twice {
				t.Fatalf("%q stands for %q and %q", standIn, was, word)
			}
			seen[standIn] = word
		}
		if strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 }) {
			return // letters of other scripts become others
		}
		separators := func(s string) string {
			return strings.Map(func(r rune) rune {
				if r < 0x80 && isWord(byte(r)) || r == ':' || r == '.' {
					return -1 // which addresses have more or fewer of
				}
				return r
			}, s)
		}
		if separators(out) != separators(s) {
			t.Fatalf("%q became %q", s, out)
		}
	})
}

// What happened to a file is told by words that stay.
func TestFileFields(t *testing.T) {
	fields := []session.Field{
		{Name: xds.FileEvent, Value: xds.FileSwapped},
		{Name: xds.FileSeen, Value: "no"},
		{Name: xds.FileWatched, Value: xds.FileAlone},
		{Name: xds.FileFrom, Value: "/etc"},
		{Name: xds.FileReplaced, Value: "/etc"},
	}
	var words []string
	for _, f := range fields {
		words = append(words, f.Name, f.Value)
	}
	n := NewNames(testKey())
	mapped(t, n, words, inHeader, words...)
	for i, f := range n.fields(fields) {
		if f.Name != fields[i].Name || f.Value != fields[i].Value && !strings.HasPrefix(f.Value, "/") {
			t.Errorf("%v became %v", fields[i], f)
		}
	}
}

// Names of the API consist of words: a capital behind a small letter begins one, and
// whatever is no letter stands between two.
func TestSplit(t *testing.T) {
	v := vocabulary{api: map[string]bool{}}
	v.split("ZorgBlip.quux_9frob.HTTPGrid")
	want := map[string]bool{"zorg": true, "blip": true, "quux": true, "frob": true, "httpgrid": true}
	if !maps.Equal(v.api, want) {
		t.Errorf("%v, not %v", v.api, want)
	}
}
