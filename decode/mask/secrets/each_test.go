package secrets

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/bait"
	"github.com/xdsproxy/xdsproxy/internal/golden"
)

// found notes what is found in a text.
type found struct{ secrets, base64, braces []string }

func (f *found) Secret(b []byte)           { f.secrets = append(f.secrets, string(b)) }
func (f *found) Base64(b []byte)           { f.base64 = append(f.base64, string(b)) }
func (f *found) Brace(b []byte, i int) int { f.braces = append(f.braces, string(b[i:i+1])); return i }

// outside are texts in which a secret is where it is seldom, and those that only look so.
func outside() []string {
	return []string{
		`password=ünïcödé-geheim1`, `password = "a b c"`, `password="a\"b1"`, `{\"password\":\"hunter2\"}`, "password=`x1y2`", `password: 'it''s'`,
		`password==hunter2secret`, `password=>hunter2secret`, `password:=hunter2secret`, "password:\n  hunter2secret", `password="`, `password=`, `password:`,
		`?key=abcdefghij0123456789`, `key=abcdefghij0123456789`, `?code=abc`, `X-Amz-Signature=abcdefghij0123456789`, `sig=abcdefghijklmnop012345&x=1`,
		`cookie: a=b; c=d` + "\n" + `x: y`, `Set-Cookie: nothing`, `Authorization: Bearer of`, `authorization: Basic dXNlcjpwYXNz`, `Proxy-Authorization: Digest username="x", response="y"`,
		`bearer%20abcdefgh12345678`, `Bearer abcd`, `Bearer abc`, `xBearer abcdefgh`, `basic dXNlcjpwYXNz`, `basic training`, `Basic dXNlcg==`,
		`curl --password hunter2 x`, `curl -password "hunter2" x`, `curl --password --token x`, `--password`, `--password is`, `---password hunter2`,
		`headers:add("authorization", "Bearer xyz12345678")`, `h:replace("x-api-key", 'k1')`, `h:add("x-name", "value")`, `h:add("authorization")`, `h:remove("authorization")`,
		`{"key":"authorization","value":"Bearer xyz12345678"}`, `{"name": "x-api-key", "raw_value": "k1k2"}`, `{"key":"x","value":"y"}`, `{"key":"authorization"}`,
		`https://user:pa:ss@host/`, `https://user@host/`, `https://abcdefghij0123456789@host/`, `https://[masked: 5]@host/`, `postgres://u:p@h:1/d?sslmode=x`, `user:pw@tcp(h:1)/db`, `user:pw@unix(/s)/db`, `a:b@c`,
		`-----BEGIN RSA PRIVATE KEY-----` + "\nabc\n" + `-----END RSA PRIVATE KEY----- after`, `-----BEGIN PRIVATE KEY-----` + "\nabc", `-----BEGIN CERTIFICATE-----` + "\nabc\n" + `-----END CERTIFICATE-----`,
		`LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmFiYwo=`, `LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmFiYwo=`,
		`{"tls.key": "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmFi-_8=", "name": "x_y"}`,
		`eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln`, `eyJhbGciOiJIUzI1NiJ9.e.x`, `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0`, `xdstp://a/b?password=hunter2secret`,
		`123456789:AAabcdefghijklmnopqrstuvwxyz0123456789`, `12345:AAabcdefghijklmnopqrstuvwxyz0123456789`,
		`https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx`, `https://x/services/T0/B0/abc`, `https://discord.com/api/webhooks/123456789012/` + strings.Repeat("a1", 30),
		`password=%ENV(PASSWORD)%`, `password=%REQ(x-pw):5%`, `password=%ENV`, `password=${PASSWORD}`, `password=/etc/pw`, `password=true`, `password=***`, `password=<redacted>`, `token: 8080/tcp`, `token: 18080/tcp`, `token: 180800/tcp`, `token: 80801234567`,
		`secret: hunter2secret`, `secret=hunter2secret`, `inline_string: "abc"`, `inlineBytes: YWJj`, `db.inline_string: "abc"`, `[password=hunter2], (token=abc1), {secret=x1}.`, `password=(x1)`, `password=a1,b=c`, `password=a1, b`, `password=a1;b`,
		`{api_key: abc}`, `{api_key: abc, x: y}`, `api_key: abc`, `- api_key: abc` + "\n", `the token: invalid`, `the token: abc def`, "password=a1\x7fb", `password=a1\nb`, `password=a1\x`,
	}
}

// TestEach: what is found of the secrets in texts, and no more of what is around them. A look for
// any finds one where each is found.
func TestEach(t *testing.T) {
	var b strings.Builder
	look := func(text, shown string) (f found) {
		Each([]byte(text), &f)
		if len(f.secrets) > 0 && !In([]byte(text)) {
			t.Errorf("%q has none, and %q", shown, f.secrets)
		}
		for cut := range text {
			Each([]byte(text[:cut]), &found{})
			Each([]byte(text[cut:]), &found{})
		}
		return f
	}
	mark := regexp.MustCompile(`s\d{3}A[Zq9x7Kw2]*`)
	for _, p := range bait.Texts("s") {
		f := look(p.Text, p.Text)
		for i := range f.secrets {
			f.secrets[i] = mark.ReplaceAllString(f.secrets[i], "SECRET")
		}
		fmt.Fprintf(&b, "%s: %.100q in base64: %d, braces: %d\n", p.Kind, f.secrets, len(f.base64), len(f.braces))
	}
	for _, text := range outside() {
		f := look(text, text)
		fmt.Fprintf(&b, "%q: %q, in base64: %q, braces: %q\n", text, f.secrets, f.base64, f.braces)
	}
	golden.Is(t, "testdata/found.txt", b.String())
	harmless := bait.Harmless()
	if len(harmless) == 0 {
		t.Error("no harmless texts")
	}
	for _, text := range harmless {
		if f := look(text, text); len(f.secrets) > 0 {
			t.Errorf("%q has %q", text, f.secrets)
		}
	}
}

// Each kind of token is found from its least length on, where it is a word of its own.
func TestTokens(t *testing.T) {
	for _, token := range tokens {
		body := strings.Repeat("a1B2", token.least)[:token.least]
		for _, form := range []string{"%s", "see %s, please", `"%s"`, "x=%s;"} {
			var f found
			if Each(fmt.Appendf(nil, form, token.head+body), &f); len(f.secrets) != 1 || f.secrets[0] != token.head+body {
				t.Errorf("in %q of %s there is %q", form, token.head, f.secrets)
			}
		}
	}
}
