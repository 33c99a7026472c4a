package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

const token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"

func TestTextPatterns(t *testing.T) {
	k := New()
	for text, stays := range map[string]string{
		"before\n" + planted + "after":               "before\n|\nafter",
		planted[:40]:                                 "",
		"x -----BEGIN EC PRIVATE KEY-----\nabcdefgh": "x ",
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\nxxxxxxxx-----END PGP PRIVATE KEY BLOCK-----": "",
		base64.StdEncoding.EncodeToString([]byte(planted)):                                   "",
		"Bearer " + token + " there":                                                         "Bearer | there",
		"eyJhbGciOiJkaXIifQ..aXY.Y2lwaGVydGV4dA.dGFn":                                        "",
		"redis://:hunter22@cache:6379/0":                                                     "redis://:|@cache:6379/0",
		"https://user:pass:word@host/a?b https://u:passpass@h2/":                             "https://user:|@host/a?b https://u:|@h2/",
	} {
		got, ok := k.text(text)
		if !ok || len(got) != len(text) {
			t.Errorf("%q became %q", text, got)
		}
		for _, part := range strings.Split(stays, "|") {
			if !strings.Contains(got, part) {
				t.Errorf("%q became %q, without %q", text, got, part)
			}
		}
		for _, gone := range []string{"MIIEvQ", "abcdefgh", "TUlJ", "c2lnbmF0", "hunter", "word", "passpass", "Y2lwaGVy", "xxxxxxxx"} {
			if strings.Contains(got, gone) {
				t.Errorf("%q became %q", text, got)
			}
		}
		if again, _ := k.text(got); again != got {
			t.Errorf("%q became %q", got, again)
		}
	}
	for _, text := range []string{
		chain, "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n", base64.StdEncoding.EncodeToString([]byte(chain)),
		"http://host:80/a@b", "spiffe://cluster.local/ns/a@b", "https://user@host/", "eyJ", "eyJ.", "eyJhbGci.x", "PRIVATE KEY", "a://", "://@",
	} {
		if got, ok := k.text(text); ok || got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// The last character of base64 may hold bits that mean nothing. They stay where the last
// byte stays, and the text is as long as before.
func TestBase64KeepsItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		plain string
		stays bool // the last byte is no part of a secret
	}{
		"text after the secret":  {"Bearer " + token + " and more", true},
		"the secret is the end":  {"and more: Bearer " + token, false},
		"two characters of four": {"Bearer " + token + " more", true},
	} {
		for pad := range 3 {
			plain := strings.Repeat("-", pad) + c.plain
			in := []byte(base64.RawStdEncoding.EncodeToString([]byte(plain)))
			if len(in)%4 != 0 { // the next character has the same bits that mean something
				in[len(in)-1]++
			}
			got := bytes.Clone(in)
			w := walker{masks: newMasks(), write: true, full: true}
			w.Base64(got)
			out, err := base64.RawStdEncoding.DecodeString(string(got))
			if err != nil || len(out) != len(plain) || bytes.Contains(out, []byte(token)) || w.masked != 1 {
				t.Fatalf("%s, %d: %q became %q: %v", name, pad, plain, out, err)
			}
			if (plain[len(plain)-1] == out[len(out)-1]) != c.stays || (got[len(got)-1] == in[len(in)-1]) != c.stays {
				t.Errorf("%s, %d: the last of %q became that of %q, in base64 %q that of %q", name, pad, plain, out, in, got)
			}
		}
	}
}

func TestMasksKnowTheirOwn(t *testing.T) {
	m, other := newMasks(), newMasks()
	for n := range 200 {
		secret := []byte(strings.Repeat("s", n))
		mask := bytes.Clone(secret)
		m.fill(mask, secret)
		if !m.is(mask) {
			t.Errorf("%q is not taken for a mask", mask)
		}
		if n > 0 && m.is(secret) {
			t.Errorf("%d bytes: a secret is taken for a mask", n)
		}
		if n >= 16 && other.is(mask) {
			t.Errorf("%q is taken for a mask of another Masker", mask)
		}
		if n >= 16 {
			mask[len(maskHead)] ^= 1
			if m.is(mask) {
				t.Errorf("%q passes for a mask", mask)
			}
		}
	}
}

func TestMaskJSONInDepth(t *testing.T) {
	body := `{"resources":[{"@type":"t/envoy.config.listener.v3.Listener","name":"my-auth","address":{"v":"keep-1"},
	"headers":[{"value":"Bearer gone-1","key":"authorization"},{"header":{"key":"x-api-key","value":"gone-2"},"append_action":"keep-2"},
	{"name":"x-token","string_match":{"exact":"gone-3"}},{"key":"x-plain","value":"keep-3"}],
	"jwks":{"keys":[{"k":"gone-4","kty":"oct","kid":"keep-4"},{"kty":"RSA","n":"keep-5","d":"gone-5"}]},
	"text":"{\"client_secret\":\"gone-6\"}","url":"https:\/\/u:gone-7@host","hmac_secret":{"name":"keep-6","sds_config":{"path":"keep-7"}},
	"awsSecretAccessKey":"gone-8","jwt":"` + token + `","typed":{"api_key":["gone-9",{"a":"gone-0"}]}}]} {"password":"gone-a"}`
	k := New()
	e := masked(t, k, sdsRESTPath, session.Server, whole([]byte(body)), "application/json")
	got := e.Message.Data.Bytes()
	if len(got) != len(body) || len(e.Problems) > 0 {
		t.Fatalf("%q %s", e.Problems, got)
	}
	for _, n := range "1234567890a" {
		if bytes.Contains(got, []byte("gone-"+string(n))) {
			t.Errorf("gone-%c is still there: %s", n, got)
		}
	}
	for _, want := range []string{"keep-1", "keep-2", "keep-3", "keep-4", "keep-5", "keep-6", "keep-7", "my-auth", "authorization"} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("%s is gone: %s", want, got)
		}
	}
	if bytes.Contains(got, []byte("c2lnbmF0")) {
		t.Errorf("the token is still there: %s", got)
	}
	if first, _, ok := bytes.Cut(got, []byte("]} {")); !ok || !json.Valid(append(first, "]}"...)) {
		t.Errorf("no longer JSON: %s", got)
	}
	e = masked(t, k, sdsRESTPath, session.Server, whole(got), "application/json")
	if again := e.Message.Data.Bytes(); !bytes.Equal(again, got) {
		t.Errorf("masked twice:\n%s\n%s", got, again)
	}
}

func TestMaskMetadataInDepth(t *testing.T) {
	e := session.Entry{
		Kind: session.KindOpen, Stream: 1, Method: "/v3/discovery:clusters?access_token=seed-1&a=b",
		Headers: []session.Field{
			{Name: ":path", Value: "/v3/discovery:clusters?access_token=seed-1&a=b"}, {Name: "x-forwarded", Value: "jwt=" + token}, {Name: "x-b", Value: "plain"},
		},
		Status: &session.Status{Message: "cannot dial https://u:seed-2@host"},
		GoAway: &session.GoAway{Debug: "too many calls to https://u:seed-3@host"},
	}
	status, goAway := e.Status, e.GoAway
	New().Transform(&e)
	if strings.Contains(e.Method+e.Headers[0].Value, "seed") || !strings.HasSuffix(e.Method, "&a=b") || e.Method != e.Headers[0].Value {
		t.Errorf("%q %q", e.Method, e.Headers[0].Value)
	}
	if strings.Contains(e.Headers[1].Value, "c2ln") || e.Headers[2].Value != "plain" {
		t.Errorf("%+v", e.Headers)
	}
	if strings.Contains(e.Status.Message, "seed") || !strings.Contains(status.Message, "seed") {
		t.Errorf("%q %q", e.Status.Message, status.Message)
	}
	if strings.Contains(e.GoAway.Debug, "seed") || !strings.Contains(goAway.Debug, "seed") {
		t.Errorf("%q %q", e.GoAway.Debug, goAway.Debug)
	}
}

// In a message of which nothing is known, what names a type and cannot be read
// is not kept as it is.
func TestMaskUnknownMessagesThatAreTorn(t *testing.T) {
	key := strings.Repeat("not-in-PEM-", 9)
	data := msg(str(3, "plain"), sub(1, anyOf(7, secretURL, tlsSecret(key)), str(2, "x")))
	for n := range data {
		for _, path := range []string{"", "/some.Service/Method"} {
			e := masked(t, New(), path, session.Server, whole(data[:n]), "application/grpc")
			if bytes.Contains(e.Message.Data.Bytes(), []byte(key[:20])) {
				t.Fatalf("%q cut at %d of %d: %q", path, n, len(data), e.Message.Data)
			}
		}
	}
}

// Texts that are made to be slow are not.
func TestTextPatternsAreLinear(t *testing.T) {
	for _, part := range []string{
		"PRIVATE KEY", "eyJ", "eyJ.", "://", "://a:@", "LS0tLS1CRUdJT", "-----BEGIN PRIVATE KEY", `{"kty":`, `[{"key":"token","value":`,
		"token=", `token="`, "sig=", `key:"token"`, `key:"token" value`, "-token ", "--token -", "bearer ", "Bearer a", "Basic dXNlcjpw ", "authorization: ", "cookie: a",
		`{"`, `{"a":`, `{"a":"{`, `{"kty":{`, "AIza", "aglpat-", "a-ghp_", "xdstp://", "xdstp://a ", "/services/T", "SG.", "eyJaaaaaaaaa-", "eyJaaaaaaaaa.", "dG9rZW49dG9r",
		"password=)", `\\"token\\":\\"`, "secret: '", "a;b", "token=a;", "&token=", "%20", "1234567890:A", "-----BEGIN ", "=", ":", "-a",
	} {
		New().text(strings.Repeat(part, 1<<18))
	}
}

// What passes on streams of other kinds is not harmed, whatever its fields.
func TestMaskLeavesOtherProtocolsAlone(t *testing.T) {
	for name, data := range map[string][]byte{
		"text":   msg(str(1, "a"), str(2, "several lines\nof text, "+strings.Repeat("and more ", 9)), str(3, "b")),
		"binary": msg(num(1, 7), sub(2, bytes.Repeat([]byte{0xff, 0, 'a'}, 30)), sub(2, bytes.Repeat([]byte{0x12, 0x05}, 30))),
		"html":   []byte("<html><body>" + strings.Repeat("not found ", 20) + "</body></html>"),
	} {
		for _, side := range []session.Side{session.Client, session.Server} {
			e := masked(t, New(), "/some.Service/Method", side, whole(data), "")
			if !bytes.Equal(e.Message.Data.Bytes(), data) || e.Message.Masked || len(e.Problems) > 0 {
				t.Errorf("%s: %q became %q, %q", name, data, e.Message.Data, e.Problems)
			}
		}
	}
}

// A key set in a configuration keeps what is public in it.
func TestMaskKeySets(t *testing.T) {
	const url = "type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtProvider"
	provider := func(jwks string) []byte {
		return anyOf(2, url, str(1, "https://issuer.example/"), sub(4, str(3, jwks)))
	}
	k := New()
	keys := provider(`{"keys":[{"kty":"RSA","n":"modulus","e":"AQAB","kid":"one"},{"k":"symmetric","kid":"two","kty":"oct"},{"kty":"EC","x":"ex","y":"why","d":"scalar-of-it"}]}`)
	got := string(k.Content(keys))
	for _, want := range []string{"modulus", "AQAB", "one", "two", "oct", `"ex"`, "why", "issuer.example"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is gone: %q", want, got)
		}
	}
	for _, gone := range []string{"symmetric", "scalar-of-it"} {
		if strings.Contains(got, gone) {
			t.Errorf("%s is still there: %q", gone, got)
		}
	}
	if got := string(k.Content(provider("no JSON, so who knows"))); strings.Contains(got, "who knows") || !strings.Contains(got, "issuer") {
		t.Errorf("%q", got)
	}
	public := provider(`{"keys":[{"kty":"RSA","n":"modulus","e":"AQAB"}]}`)
	if got := k.Content(public); &got[0] != &public[0] {
		t.Errorf("public keys are masked: %q", got)
	}
}

// Equal secrets have equal masks wherever they stand, and the chunks of equal
// resources are equal.
func TestEqualSecretsStayEqual(t *testing.T) {
	k := New()
	inSecret := k.Content(anyOf(2, secretURL, tlsSecret(planted)))
	inCluster := k.Content(anyOf(2, clusterURL, str(1, "c"), sub(24, str(1, "tls"),
		anyOf(3, "t/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", sub(1, sub(2, sub(2, str(3, planted))))))))
	onStream := masked(t, k, sdsPath, session.Server, whole(msg(sub(2, sub(2, tlsSecret(planted))), str(4, secretURL))), "").Message.Data.Bytes()
	mask := []byte(planted)
	k.masks.fill(mask, mask)
	for name, got := range map[string][]byte{"secret": inSecret, "cluster": inCluster, "stream": onStream} {
		if !bytes.Contains(got, mask) {
			t.Errorf("%s: another mask: %q", name, got)
		}
	}
}

func BenchmarkParseShapes(b *testing.B) {
	for b.Loop() {
		parseShapes(maskTable)
	}
}

// What looks like a mask, and what the parts of one are, at each length.
func TestLooksOfMasks(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "*": true, "***************": true, "**************x": false, "****************": false,
		"[masked:abcdefg]": true, "[masked:abcdef]": false, "[masked:abcdefg)": false, "[nasked:abcdefg]": false, "[masked:abcdefgh..]": true,
	} {
		if Looks([]byte(text)) != want {
			t.Errorf("%q looks like a mask: %v", text, !want)
		}
	}
	for n, want := range map[int][2]int{8: {8, 4}, 9: {9, 5}, 15: {15, 8}, 16: {7, 4}, 17: {8, 4}, 51: {42, 21}, 52: {43, 22}, 53: {43, 22}, 200: {43, 22}} {
		if halves, first := frame(make([]byte, n)); len(halves) != want[0] || first != want[1] {
			t.Errorf("%d bytes: %d of both halves, %d of the first", n, len(halves), first)
		}
	}
	m := newMasks()
	secret := []byte(strings.Repeat("s", 100))
	mask := bytes.Clone(secret)
	m.fill(mask, secret)
	for i := range mask {
		b := bytes.Clone(mask)
		if b[i] ^= 1; m.is(b) {
			t.Errorf("byte %d of a mask can be another", i)
		}
	}
	for n, want := range map[int]bool{0: true, 7: true, 15: true, 16: false} {
		if m.is(bytes.Repeat([]byte("*"), n)) != want {
			t.Errorf("%d asterisks are a mask: %v", n, !want)
		}
	}
}
