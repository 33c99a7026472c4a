package mask

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// A word without a digit is a value where key and value are an entry of YAML, and
// prose where they are not.
func TestWordsInYAML(t *testing.T) {
	for text, want := range map[string]string{
		"db:\n  password: hunter\n  user: bob":          "db:\n  password: ******\n  user: bob",
		"- password: hunter\n- user: bob":               "- password: ******\n- user: bob",
		"a: b\r\npassword: hunter\r\n":                  "a: b\r\npassword: ******\r\n",
		"a: b\npassword: hunter":                        "a: b\npassword: ******",
		"{password: hunter, user: bob}":                 "{password: ******, user: bob}",
		"{user: bob, password: hunter}":                 "{user: bob, password: ******}",
		"{user: bob, \"password\": hunter}":             "{user: bob, \"password\": ******}",
		"client_secret: hunter":                         "client_secret: ******",
		"password: hunter":                              "password: hunter", // or a sentence
		"password: hunter is too short":                 "password: hunter is too short",
		"a: b\ntoken: expected identifier\nc: d":        "a: b\ntoken: expected identifier\nc: d",
		"a: b\ntoken: missing\nc: d":                    "a: b\ntoken: missing\nc: d",
		"a: b\nauth: enabled\nsecret: my-certificate\n": "a: b\nauth: enabled\nsecret: my-certificate\n",
		"invalid token: ghost":                          "invalid token: ghost",
		"bad api_key: ghost in the machine":             "bad api_key: ghost in the machine",
	} {
		if got, _ := New().text(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}

// What says where a value will come from is none, as in the format of an access log.
func TestCommandsAreNoSecrets(t *testing.T) {
	entry := func(key, v string) []byte { return sub(1, str(1, key), sub(2, str(3, v))) }
	e := masked(t, New(), adsPath, session.Client, whole(msg(sub(2, str(1, "n"), sub(3,
		entry("authorization", "%REQ(AUTHORIZATION)%"), entry("cookie", "%REQ(COOKIE)%%TRAILER(:X)%"), entry("token", "%41gone%"), entry("password", "%REQgone%"))), str(4, clusterURL))), "application/grpc")
	got := string(e.Message.Data.Bytes())
	if !strings.Contains(got, "%REQ(AUTHORIZATION)%") || !strings.Contains(got, "%REQ(COOKIE)%%TRAILER(:X)%") || strings.Contains(got, "gone") {
		t.Errorf("%q", got)
	}
}
