package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	sdsPath     = "/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets"
	sdsV2Path   = "/envoy.service.discovery.v2.SecretDiscoveryService/StreamSecrets"
	cdsPath     = "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters"
	sdsRESTPath = "/v3/discovery:secrets"
	secretURLv2 = "type.googleapis.com/envoy.api.v2.auth.Secret"
	planted     = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n"
	chain       = "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n"
)

func tlsSecret(key string) []byte {
	return msg(str(1, "default"), sub(2, sub(1, str(3, chain)), sub(2, str(2, key)), sub(3, str(1, "/etc/password"))))
}

// masked runs one message through a Masker that has seen the stream's opening.
func masked(t testing.TB, k *Masker, path string, side session.Side, m session.Message, content string) session.Entry {
	t.Helper()
	if path != "" {
		open := session.Entry{
			Kind: session.KindOpen, Side: session.Client, Conn: 1, Stream: 1, Method: path,
			Headers: []session.Field{{Name: "content-type", Value: content}},
		}
		k.Transform(&open)
		header := session.Entry{
			Kind: session.KindHeader, Side: session.Server, Conn: 1, Stream: 1,
			Headers: []session.Field{{Name: "content-type", Value: content}},
		}
		k.Transform(&header)
	}
	e := session.Entry{Kind: session.KindMessage, Side: side, Conn: 1, Stream: 1, Message: &m}
	before := make(session.Chunks, len(m.Data))
	for i := range m.Data {
		before[i] = bytes.Clone(m.Data[i])
	}
	k.Transform(&e)
	contents(k, &e)
	for i := range before {
		if !bytes.Equal(before[i], m.Data[i]) {
			t.Fatal("the Masker wrote to the message's own bytes")
		}
	}
	k.Transform(&session.Entry{Kind: session.KindTrailer, Conn: 1, Stream: 1})
	return e
}

// contents does what a recorder does with the chunks of a message.
func contents(k *Masker, e *session.Entry) {
	if e.Message == nil {
		return
	}
	next := *e.Message
	next.Data = nil
	for i, chunk := range e.Message.Data {
		got := chunk
		if len(chunk) >= 48 {
			got = k.Content(chunk)
			if again := k.Content(got); !bytes.Equal(again, got) {
				panic(fmt.Sprintf("Content masks its masks: %q became %q", got, again))
			}
		}
		if len(got) != len(chunk) {
			panic("Content changed a length")
		}
		if len(chunk) > 0 && &got[0] != &chunk[0] {
			next.Masked = true
		}
		next.Data = append(next.Data, e.Message.Data[i:i+1]...)
		next.Data[i] = got
	}
	e.Message = &next
}

func whole(data []byte) session.Message {
	return session.Message{Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data))}
}

func TestMaskSecretsWhereverTheyStand(t *testing.T) {
	key := anyOf(2, secretURL, tlsSecret(planted))
	cases := map[string]struct {
		path string
		data []byte
	}{
		"SDS":                     {sdsPath, msg(str(1, "1"), key, str(4, secretURL), str(5, "n"))},
		"SDS without a type":      {sdsPath, msg(str(1, "1"), sub(2, sub(2, tlsSecret(planted))))},
		"SDS of version 2":        {sdsV2Path, msg(anyOf(2, secretURLv2, tlsSecret(planted)), str(4, secretURLv2))},
		"SDS of an unknown type":  {sdsPath, msg(anyOf(2, "a.b/my.Key", str(1, planted)))},
		"ADS":                     {adsPath, msg(str(1, "1"), key, str(4, secretURL), str(5, "n"))},
		"ADS, value before type":  {adsPath, msg(sub(2, sub(2, tlsSecret(planted)), str(1, secretURL)), str(4, secretURL))},
		"ADS, in a wrapper":       {adsPath, msg(anyOf(2, wrapperURL, str(1, "v"), str(3, "default"), key), str(4, secretURL))},
		"delta ADS":               {deltaADSPath, msg(sub(2, str(1, "v"), str(3, "default"), key), str(4, secretURL))},
		"headers lost":            {"", msg(str(1, "1"), key, str(4, secretURL), str(5, "n"))},
		"inside another resource": {adsPath, msg(anyOf(2, clusterURL, str(1, "c"), sub(24, str(1, "x"), sub(3, key))), str(4, clusterURL))},
		"on a stream of clusters": {cdsPath, msg(key, str(4, clusterURL))},
		"client status":           {"/envoy.service.status.v3.ClientStatusDiscoveryService/StreamClientStatus", sub(1, sub(4, sub(1, key)))},
		"password":                {sdsPath, anyOf(2, secretURL, str(1, "p"), sub(2, sub(3, str(2, planted))))},
		"pkcs12":                  {sdsPath, anyOf(2, secretURL, sub(2, sub(8, str(2, planted))))},
		"ticket keys":             {sdsPath, anyOf(2, secretURL, sub(3, sub(1, str(2, "x")), sub(1, str(2, planted))))},
		"generic":                 {sdsPath, anyOf(2, secretURL, sub(5, sub(1, str(3, planted))))},
		"generic, many":           {sdsPath, anyOf(2, secretURL, sub(5, sub(2, str(1, "k"), sub(2, str(3, planted)))))},
		"provider, Struct":        {sdsPath, anyOf(2, secretURL, sub(2, sub(6, str(1, "p"), sub(2, sub(1, str(1, "pin"), sub(2, sub(6, sub(1, str(3, planted)))))))))},
		"provider, known Any": {sdsPath, anyOf(2, secretURL, sub(2, sub(6, str(1, "p"),
			anyOf(3, "a/envoy.extensions.private_key_providers.cryptomb.v3alpha.CryptoMbPrivateKeyMethodConfig", sub(1, str(2, planted))))))},
		"provider, unknown Any":   {sdsPath, anyOf(2, secretURL, sub(2, sub(6, str(1, "p"), anyOf(3, "a/b.c", str(9, planted)))))},
		"a field of a later API":  {sdsPath, anyOf(2, secretURL, str(1, "p"), sub(17, str(2, planted)))},
		"a secret that is broken": {sdsPath, anyOf(2, secretURL, append(tlsSecret(planted), 0xff))},
		"an end that is broken":   {sdsPath, append(msg(str(1, "1"), key), 0x12, 0x7f, 0x0a)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{len(c.data), 7, 1} { // in chunks of any size
				m := session.Message{Data: slices.Collect(slices.Chunk(c.data, size)), Size: int64(len(c.data))}
				e := masked(t, New(), c.path, session.Server, m, "application/grpc")
				got := e.Message.Data.Bytes()
				if bytes.Contains(got, []byte(planted[30:60])) {
					t.Fatalf("the key is still there: %q", got)
				}
				if !e.Message.Masked || e.Message.Size != m.Size {
					t.Errorf("%+v", e.Message)
				}
				if !e.Message.Truncated && len(got) != len(c.data) {
					t.Errorf("%d bytes became %d", len(c.data), len(got))
				}
				if name != "an end that is broken" && (e.Message.Truncated || !bytes.Contains(got, []byte("[masked:"))) {
					t.Errorf("%v %q", e.Message.Truncated, got)
				}
			}
		})
	}
}

func TestMaskKeepsWhatIsPublic(t *testing.T) {
	data := msg(str(1, "1"), anyOf(2, secretURL, tlsSecret(planted)), str(4, secretURL), str(5, "n"))
	e := masked(t, New(), sdsPath, session.Server, whole(data), "application/grpc")
	for _, want := range []string{chain, "default", "/etc/password", secretURL} {
		if !bytes.Contains(e.Message.Data.Bytes(), []byte(want)) {
			t.Errorf("%q is gone", want)
		}
	}
	if len(e.Problems) != 0 {
		t.Error(e.Problems)
	}
	// What names no secret is not touched, not even copied.
	for path, data := range map[string][]byte{
		adsPath: sotwResponseBytes,
		sdsPath: msg(str(1, "1"), anyOf(2, secretURL, str(1, "ca"), sub(4, sub(1, str(3, chain)))), str(4, secretURL)),
		cdsPath: msg(anyOf(2, clusterURL, str(1, "SdsSecretConfig")), str(4, clusterURL)),
	} {
		m := whole(data)
		e := masked(t, New(), path, session.Server, m, "application/grpc")
		if e.Message.Masked || &e.Message.Data[0][0] != &data[0] || len(e.Problems) != 0 {
			t.Errorf("%s: %+v %q", path, e.Message, e.Problems)
		}
	}
	// Nor is a request for secrets.
	m := whole(msg(str(3, "default"), str(4, secretURL)))
	if e := masked(t, New(), sdsPath, session.Client, m, ""); e.Message.Masked || e.Message.Truncated {
		t.Errorf("%+v", e.Message)
	}
}

// Equal secrets stay equal, different ones differ, and nobody else could have
// made the mask.
func TestMasksCompare(t *testing.T) {
	mask := func(k *Masker, s string) string {
		b := []byte(s)
		k.masks.fill(b, b)
		if len(b) != len(s) {
			t.Fatalf("%d bytes became %d", len(s), len(b))
		}
		return string(b)
	}
	k := New()
	for _, n := range []int{1, 8, 15, 16, 17, 52, 53, 2000} {
		a, b := strings.Repeat("a", n), strings.Repeat("a", n-1)+"b"
		if again := mask(k, strings.Clone(a)); mask(k, a) != again {
			t.Errorf("%d bytes: equal secrets differ", n)
		}
		if n >= 8 && mask(k, a) == mask(k, b) {
			t.Errorf("%d bytes: different secrets are equal", n)
		}
		if n >= 8 && mask(k, a) == mask(New(), a) {
			t.Errorf("%d bytes: two Maskers agree", n)
		}
		if got := mask(k, a); n >= 16 && (!strings.HasPrefix(got, "[masked:") || !strings.HasSuffix(got, "]")) {
			t.Errorf("%q", got)
		}
	}
}

func TestMaskConservatively(t *testing.T) {
	key := msg(str(1, "1"), anyOf(2, secretURL, str(1, "ca")), anyOf(2, secretURL, tlsSecret(planted)))
	clusters := msg(str(1, "1"), anyOf(2, clusterURL, str(1, "c1")), anyOf(2, clusterURL, str(1, "c2")))
	for _, path := range []string{sdsPath, adsPath, deltaADSPath, ""} {
		m := whole(key)
		m.Compressed = true
		e := masked(t, New(), path, session.Server, m, "application/grpc")
		if e.Message.Data != nil || !e.Message.Masked || !e.Message.Truncated || len(e.Problems) != 1 {
			t.Errorf("%q compressed: %+v %q", path, e.Message, e.Problems)
		}
		for n := range key {
			m := whole(key[:n])
			m.Truncated = true
			e := masked(t, New(), path, session.Server, m, "application/grpc")
			if bytes.Contains(e.Message.Data.Bytes(), []byte("PRIVATE")) {
				t.Fatalf("%q cut at %d: %q", path, n, e.Message.Data)
			}
		}
	}
	// Any resource may hold one: what is not whole is not kept.
	m := whole(clusters[:len(clusters)-2])
	m.Truncated = true
	e := masked(t, New(), cdsPath, session.Server, m, "")
	if whole := anyOf(2, clusterURL, str(1, "c1")); !bytes.Equal(e.Message.Data.Bytes(), msg(str(1, "1"), whole)) || len(e.Problems) != 1 {
		t.Errorf("%+v", e.Message)
	}
}

func TestMaskJSON(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString([]byte(planted))
	body := `{"version_info":"1","type_url":"` + secretURL + `","resources":[
		{"@type":"` + secretURL + `","name":"default","tls_certificate":{"certificate_chain":{"inline_string":"CHAIN"},
		 "privateKey":{"inlineBytes":"` + b64 + `"},"pass\u0077ord":{"inline_string":"pass\nword-secret"},"private_key_provider":{"provider_name":"p","typed_config":{"@type":"a/b","pin":1234}}}},
		{"@type":"` + secretURL + `","name":"g","generic_secret":{"secrets":{"filename":{"inline_string":"topsecret"}}}},
		{"@type":"` + secretURL + `","name":"f","generic_secret":{"secret":{"filename":"/run/s"}}}]}`
	k := New()
	for _, path := range []string{sdsRESTPath, "/v3/discovery:clusters", "/elsewhere", ""} {
		e := masked(t, k, path, session.Server, whole([]byte(body)), "application/json")
		got := e.Message.Data.Bytes()
		if len(got) != len(body) || !e.Message.Masked || len(e.Problems) != 0 {
			t.Fatalf("%s: %d bytes became %d: %+v %q", path, len(body), len(got), e.Message.Masked, e.Problems)
		}
		for _, gone := range []string{b64, "word-secret", "topsecret", "1234"} {
			if bytes.Contains(got, []byte(gone)) {
				t.Errorf("%s: %q is still there: %s", path, gone, got)
			}
		}
		for _, stays := range []string{"CHAIN", "/run/s", `"default"`, `"p"`} {
			if !bytes.Contains(got, []byte(stays)) {
				t.Errorf("%s: %q is gone", path, stays)
			}
		}
		if !json.Valid(got) {
			t.Errorf("%s: no longer JSON: %s", path, got)
		}
		// The same bytes have the same mask in JSON and in protobuf.
		mask := []byte(planted)
		k.masks.fill(mask, mask)
		if !bytes.Contains(got, []byte(base64.StdEncoding.EncodeToString(mask))) {
			t.Errorf("%s: the mask of base64 is not the mask of its bytes", path)
		}
	}
	for n := range body {
		m := whole([]byte(body[:n]))
		m.Truncated = true
		e := masked(t, k, sdsRESTPath, session.Server, m, "application/json")
		if got := e.Message.Data.Bytes(); bytes.Contains(got, []byte(b64[:40])) || bytes.Contains(got, []byte("word-se")) || bytes.Contains(got, []byte("topse")) {
			t.Fatalf("cut at %d: %s", n, got)
		}
	}
}

func TestMaskHeaders(t *testing.T) {
	k := New()
	for name, secret := range map[string]bool{
		"authorization": true, "proxy-authorization": true, "cookie": true, "set-cookie": true, "Authorization": true,
		"x-auth-token": true, "x-custom-token": true, "x-api-key": true, "my-api-key": true, "x-client-secret": true,
		"x-goog-iam-authorization-token": true, "x-auth-bin": true, "x-session-token-bin": true, "token": true, "x_api_key": true,
		"x-amz-security-token": true, "x-envoy-password": true, "x-serverless-authorization": true,
		"content-type": false, "user-agent": false, ":authority": false, ":path": false, "grpc-status": false,
		"grpc-trace-bin": false, "grpc-encoding": false, "x-request-id": false, "traceparent": false,
		"x-tokenizer": false, "sec-websocket-key": false, "author": false,
	} {
		value := "abcdefghijklmnopqrstuvwxyz"
		if secret {
			value = "Bearer " + value
		}
		in := []session.Field{{Name: name, Value: value}}
		e := session.Entry{Kind: session.KindOpen, Stream: 1, Headers: in}
		k.Transform(&e)
		if in[0].Value != value {
			t.Fatal("the Masker wrote to the entry's own headers")
		}
		got := e.Headers[0].Value
		if strings.Contains(got, "defghijk") == secret || len(got) != len(in[0].Value) {
			t.Errorf("%s: %q", name, got)
		}
		if strings.HasSuffix(strings.ToLower(name), "authorization") && !strings.HasPrefix(got, "Bearer [masked:") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestMaskerForgetsStreams(t *testing.T) {
	k := New()
	for i := range session.StreamID(10) {
		k.Transform(&session.Entry{Kind: session.KindOpen, Conn: session.ConnID(i % 2), Stream: i + 1, Method: adsPath})
	}
	k.Transform(&session.Entry{Kind: session.KindTrailer, Conn: 0, Stream: 1})
	k.Transform(&session.Entry{Kind: session.KindCancel, Conn: 1, Stream: 2})
	k.Transform(&session.Entry{Kind: session.KindDisconnect, Conn: 0})
	// Messages of stream 2 may still come.
	if streams, conns := k.streams.Len(); streams != 5 || conns != 1 {
		t.Errorf("%d streams and %d connections remembered, want 5 and 1", streams, conns)
	}
}

// A secret that is planted into a valid message never remains, and no bytes
// make the Masker panic.
func FuzzMasker(f *testing.F) {
	f.Add(uint8(0), []byte(planted), []byte("name"), uint16(0))
	f.Add(uint8(3), []byte("0123456789abcdef"), sotwResponseBytes, uint16(9))
	f.Add(uint8(5), []byte("0123456789abcdef"), []byte(`{"a":"b"}`), uint16(1))
	for where := range uint8(5) {
		f.Add(130+where, []byte("0123456789abcdef"), []byte("name"), uint16(7))
	}
	f.Fuzz(func(t *testing.T, where uint8, secret, noise []byte, cut uint16) {
		paths := []string{adsPath, sdsPath, deltaADSPath, cdsPath, "", sdsRESTPath}
		k := New()
		masked(t, k, paths[int(where)%len(paths)], session.Server, whole(noise), "")
		if len(secret) < 12 || bytes.Contains(noise, secret) || bytes.Contains([]byte(secretURL+secretURLv2+wrapperURL+chain+"default/etc/password"), secret) {
			return
		}
		source := sub(2, str(2, string(secret)))
		cert := msg(str(1, string(noise)), sub(2, source))
		body := map[uint8][]byte{
			0: cert, 1: sub(3, sub(1, str(3, string(secret)))), 2: sub(5, sub(2, str(1, "k"), source)),
			3: msg(sub(4, sub(1, str(3, chain))), sub(2, sub(8, str(2, string(secret))))),
		}[where%4]
		url := []string{secretURL, secretURLv2}[where/4%2]
		one := anyOf(2, url, body)
		if where >= 128 {
			url = clusterURL
			one = anyOf(2, url, str(1, string(noise)), deepSecret(where, source, secret))
		}
		var data []byte
		switch where / 8 % 3 {
		case 0:
			data = msg(one, str(4, url))
		case 1:
			data = msg(anyOf(2, wrapperURL, one), str(4, url))
		case 2:
			data = msg(sub(2, str(3, "n"), one), str(4, url))
		}
		if bytes.Count(data, secret) != 1 {
			return // a length beside the noise happens to complete it
		}
		path := paths[int(where)%5]
		k = New() // which knows nothing of the stream if the path is lost
		m := session.Message{Data: slices.Collect(slices.Chunk(data, 1+int(cut)%97)), Size: int64(len(data))}
		e := masked(t, k, path, session.Server, m, "application/grpc")
		if got := e.Message.Data.Bytes(); bytes.Contains(got, secret) {
			t.Errorf("%s: the secret remains in %q", path, got)
		} else if len(got) != len(data) {
			t.Errorf("%s: %d bytes became %d", path, len(data), len(got))
		}
	})
}

// deepSecret is a field of a cluster with a secret somewhere in it.
func deepSecret(where uint8, source, secret []byte) []byte {
	const types = "type.googleapis.com/envoy.extensions."
	switch where % 5 {
	case 0: // transport_socket, common_tls_context, tls_certificates, private_key
		return sub(24, str(1, "tls"), anyOf(3, types+"transport_sockets.tls.v3.UpstreamTlsContext", sub(1, sub(2, source))))
	case 1: // metadata, filter_metadata
		return sub(25, sub(1, str(1, "any.filter"), sub(2, sub(1, str(1, "apiKey"), sub(2, str(3, string(secret)))))))
	case 2: // typed_extension_protocol_options
		return sub(36, str(1, "envoy.filters.network.redis_proxy"), anyOf(2, types+"filters.network.redis_proxy.v3.RedisProtocolOptions", sub(1, str(3, string(secret)))))
	case 3: // health_checks, http_health_check, request_headers_to_add
		return sub(8, sub(8, str(2, "/"), sub(6, sub(1, str(1, "x-api-key"), str(2, string(secret))))))
	}
	return sub(24, str(1, "x"), anyOf(3, "example.com/not.Known", sub(9, anyOf(7, types+"filters.http.basic_auth.v3.BasicAuth", sub(1, str(2, string(secret)))))))
}

func BenchmarkMaskerPrefilter(b *testing.B) {
	data := handmade.Clusters(20_000)
	chunks := session.Chunks(slices.Collect(slices.Chunk(data, 16<<10)))
	k := New()
	k.Transform(&session.Entry{Kind: session.KindOpen, Stream: 1, Method: adsPath})
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		e := session.Entry{Kind: session.KindMessage, Side: session.Server, Stream: 1, Message: &session.Message{Data: chunks}}
		k.Transform(&e)
	}
}

func BenchmarkMaskerSecret(b *testing.B) {
	data := msg(str(1, "1"), anyOf(2, secretURL, tlsSecret(strings.Repeat(planted, 20))), str(4, secretURL))
	k := New()
	k.Transform(&session.Entry{Kind: session.KindOpen, Stream: 1, Method: sdsPath})
	for b.Loop() {
		e := session.Entry{Kind: session.KindMessage, Side: session.Server, Stream: 1, Message: &session.Message{Data: session.Chunks{data}}}
		k.Transform(&e)
	}
}

// However deep a hostile message nests, the walk stays shallow and masks what
// it does not enter.
func TestMaskDeepNesting(t *testing.T) {
	for name, wrap := range map[string]func([]byte) []byte{
		"wrappers": func(b []byte) []byte { return anyOf(2, wrapperURL, b) },
		"messages": func(b []byte) []byte { return sub(2, b) },
		"secrets":  func(b []byte) []byte { return anyOf(2, secretURL, sub(4, b)) },
		"structs": func(b []byte) []byte {
			return sub(5, sub(1, str(1, "k"), sub(2, b)))
		},
	} {
		b := anyOf(2, secretURL, tlsSecret(planted))
		if name == "structs" {
			b = str(3, planted)
		}
		for range 300 {
			b = wrap(b)
		}
		if name == "structs" {
			b = anyOf(2, secretURL, sub(2, sub(6, sub(2, sub(1, str(1, "k"), sub(2, b))))))
		}
		e := masked(t, New(), sdsPath, session.Server, whole(msg(b, str(4, secretURL))), "")
		if bytes.Contains(e.Message.Data.Bytes(), []byte("PRIVATE")) {
			t.Errorf("%s: the key is still there", name)
		}
	}
}

// What the server got is masked as what the client sent is, with equal masks;
// and a value from a file whatever its name is.
func TestMaskSent(t *testing.T) {
	const word = "Bearer abcdefghijklmnopqrstuvwxyz"
	sent := []session.Field{
		{Name: "authorization", Value: word},
		{Name: "x-odd", Value: word, Secret: true},
		{Name: ":path", Value: "/x", Secret: false},
		{Name: "x-plain", Value: "as it was"},
		{Name: ":authority", Value: "control.example"},
	}
	own := slices.Clone(sent)
	e := session.Entry{Kind: session.KindOpen, Stream: 1, Headers: []session.Field{{Name: "authorization", Value: word}}, Sent: sent}
	New().Transform(&e)
	if !slices.Equal(sent, own) {
		t.Error("the Masker wrote to the entry's own fields")
	}
	if e.Sent[0].Value != e.Headers[0].Value || !strings.HasPrefix(e.Sent[0].Value, "Bearer [masked:") {
		t.Errorf("sent %q, headers %q", e.Sent[0].Value, e.Headers[0].Value)
	}
	if strings.Contains(e.Sent[1].Value, "klmnop") || len(e.Sent[1].Value) != len(word) {
		t.Errorf("a value from a file is %q", e.Sent[1].Value)
	}
	if !slices.Equal(e.Sent[2:], own[2:]) {
		t.Errorf("others are %+v", e.Sent[2:])
	}
}
