package mask_test

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/decode/mask/secrets"
	"github.com/xdsproxy/xdsproxy/internal/bait"
	"github.com/xdsproxy/xdsproxy/session"
)

// joined are keys that have no sign before the word which says that they are secret, or
// another word after it.
var joined = []string{
	"PGPASSWORD", "DBPASSWORD", "MYPASSWORD", "dbpassword", "userpassword", "passWord", "accesstoken", "authtoken", "clientsecret",
	"x-clientsecret", "x-rapidapi-key", "secretString", "privateKeyPem", "privatekey", "tls.key", "TLS_KEY", "SECRET_KEY_BASE", "basicauth",
	"SENTRY_DSN", "Authentication", "PGPASSWORD_2", "dbPasswordHash", "secretdata", "DBPASS",
}

// A key that says so makes its value secret wherever both stand, however it is written.
func TestKeysInAllPlaces(t *testing.T) {
	p := bait.Text{Secret: "s001AZq9x7Kw2Zq9x7Kw"}
	for _, key := range joined {
		for _, m := range underKey(t, key, p.Secret) {
			checkGone(t, m, p)
		}
		k, in := mask.New(), []session.Field{{Name: strings.ToLower(key), Value: p.Secret}}
		e := session.Entry{Kind: session.KindOpen, Stream: 1, Headers: in}
		if k.Transform(&e); p.Holds(e.Headers[0].Value) {
			t.Errorf("the header %s is %q", key, e.Headers[0].Value)
		}
	}
}

// underKey are messages with a text under a key.
func underKey(t *testing.T, key, text string) []proto.Message {
	t.Helper()
	of := func(v any) *structpb.Struct {
		s, err := structpb.NewStruct(map[string]any{"more": v})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	object := `{"a":"b","` + key + `":"` + text + `"}`
	all := []proto.Message{
		&corev3.HeaderValue{Key: key, Value: text},
		&corev3.HeaderValue{Key: key, RawValue: []byte(text)},
		&routev3.HeaderMatcher{Name: key, HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: text}}}},
	}
	for _, v := range []any{
		map[string]any{key: text},
		map[string]any{key: []any{text, text}},
		map[string]any{key: map[string]any{"x": map[string]any{"y": text}}},
		[]any{map[string]any{"name": key, "value": text}},
		[]any{"--" + key, text},
		object, `[{"name":"` + key + `","value":"` + text + `"}]`,
		key + "=" + text, "export " + key + "=" + text, "db:\n  " + key + ": " + text + "\n  name: keep",
		base64.StdEncoding.EncodeToString([]byte(object)), base64.StdEncoding.EncodeToString([]byte(key + "=" + text)),
	} {
		all = append(all, &corev3.Node{Id: "n", Metadata: of(v)})
	}
	return all
}

// Among the fields of all linked types only those are keys of secrets that have one of
// these words for their last, and not a longer one that ends so.
func TestFieldsThatAreKeys(t *testing.T) {
	last := regexp.MustCompile(`(^|_)(authorization|token|secrets?|passwords?|credentials?|cookie|jwt|hmac|json_key|access_key|private_key|pkcs12|session_id|secret_data)$`)
	n := 0
	handmade.EachMessage(func(mt protoreflect.MessageType) {
		fields := mt.Descriptor().Fields()
		for i := range fields.Len() {
			fd := fields.Get(i)
			is := secrets.IsKey([]byte(fd.Name()))
			if is != secrets.IsKey([]byte(fd.JSONName())) || is && !last.MatchString(string(fd.Name())) {
				t.Errorf("%s, or %s in JSON, is a key of a secret", fd.FullName(), fd.JSONName())
			}
			n++
		}
	})
	if n < 5000 {
		t.Errorf("only %d fields: are they linked?", n)
	}
}
