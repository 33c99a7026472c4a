package rewrite

import (
	"errors"
	"strings"
	"testing"
)

func TestParseHeader(t *testing.T) {
	for in, want := range map[string]Header{
		"x-team=blue":                  {Name: "x-team", Value: "blue"},
		"X-Team=blue=green":            {Name: "x-team", Value: "blue=green"},
		"x-empty=":                     {Name: "x-empty"},
		"authorization=Bearer a b":     {Name: "authorization", Value: "Bearer a b"},
		"trace-bin=AAEC":               {Name: "trace-bin", Value: "AAEC"},
		"trace-bin=AAE=":               {Name: "trace-bin", Value: "AAE="},
		"trace-bin=AAE,AAEC, AA==":     {Name: "trace-bin", Value: "AAE,AAEC, AA=="},
		"user-agent=caf\u00e9 \tagent": {Name: "user-agent", Value: "caf\u00e9 \tagent"},
	} {
		if got, err := ParseHeader(in); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"x-team":                                `header "x-team" has no =`,
		"authorization: Bearer seed1":           `header "authorization…" has no =`,
		"authorization: Bearer seed=":           `header name "authorization…" has a character ':'`,
		"=seed":                                 "without a name",
		":authority=seed":                       "cannot be set like others",
		":path=/seed":                           "pseudo-header",
		"host=seed":                             "cannot be set like others",
		"x y=seed":                              "has a character ' '",
		"x\x1b[2J=seed":                         `has a character '\x1b'`,
		"connection=seed":                       "about the connection",
		"TE=seed":                               "about the connection",
		"content-length=5":                      "describes what the client sends",
		"grpc-timeout=1S":                       "begin with grpc-",
		"x=seed\r\ny: z":                        "control character 0x0d at byte 5",
		"x=\x00seed":                            "control character 0x00 at byte 1",
		"x= seed":                               "begins or ends with a space",
		"x=seed\t":                              "begins or ends with a space",
		"x-bin=seed!":                           "not base64",
		"x=" + strings.Repeat("seed", maxValue): "more than",
	} {
		_, err := ParseHeader(in)
		e := (*Error)(nil)
		if !errors.As(err, &e) || !strings.Contains(e.Text, want) {
			t.Errorf("%.40q: %v; want %q", in, err, want)
		} else if strings.Contains(e.Text, "seed") || strings.ContainsAny(e.Text, "\x1b\r\n") {
			t.Errorf("%.40q: the error tells of the value: %q", in, e.Text)
		}
	}
}

func TestParseHeaderFile(t *testing.T) {
	if got, err := ParseHeaderFile("Authorization=/var/run/token=1"); err != nil || got != (Header{Name: "authorization", File: "/var/run/token=1"}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, in := range []string{"authorization", "authorization=", "te=/x", "=/x"} {
		if _, err := ParseHeaderFile(in); err == nil {
			t.Errorf("%q is taken", in)
		}
	}
}

func TestAuthority(t *testing.T) {
	for _, s := range []string{
		"localhost", "istiod.istio-system.svc:15012", "10.0.0.1", "10.0.0.1:1", "[::1]", "[2001:db8::1]:65535", "a%2fb", "under_score:80", "x!$&'()*+,;=~",
	} {
		if err := (&Rules{Authority: s}).Check(); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{
		":80", "a:", "a:0", "a:65536", "a:http", "http://a", "a/b", "u@a", "::1", "[::1", "[::1]x", "[::1]:", "[::1%eth0]", "[10.0.0.1]", "a b", "a\r\n", "caf\u00e9",
		"a%2", "a%zz", "a%", "a?b", "a#b", "a,b c", strings.Repeat("a", 2000),
	} {
		if err := (&Rules{Authority: s}).Check(); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
}

func TestRulesCheck(t *testing.T) {
	if err := (&Rules{Headers: []Header{{Name: "x", Value: "1"}, {Name: "y", File: "/f"}}}).Check(); err != nil {
		t.Error(err)
	}
	for _, h := range [][]Header{
		{{Name: "x", Value: "1"}, {Name: "x", Value: "2"}}, {{Name: "X", Value: "1"}}, {{Name: "x", Value: "1", File: "/f"}}, {{Name: "x", Value: "\n"}}, {{}},
	} {
		if err := (&Rules{Headers: h}).Check(); err == nil {
			t.Errorf("%+v is taken", h)
		}
	}
}
