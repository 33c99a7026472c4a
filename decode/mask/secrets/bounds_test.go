package secrets

import (
	"slices"
	"strings"
	"testing"
)

// What is found at a bound, and what is not beyond it.
func TestFoundUpToABound(t *testing.T) {
	r := strings.Repeat
	pem := func(n int) string { return "-----BEGIN" + r("x", n) + "PRIVATE KEY-----\nabc\n-----END KEY-----" }
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2-l_n"
	for text, want := range map[string][]string{
		pem(40) + " x": {pem(40)},
		pem(41) + " x": nil,

		jwt + ", x":                {jwt},
		"abc" + jwt + " x":         {jwt},
		"eyJhbGciOiJIUzI1NiJ9..x":  nil,
		"eyJhbGciOiJIUzI1NiJ9..xy": {"eyJhbGciOiJIUzI1NiJ9..xy"},
		"eyJhbGciOiJIUzI1NiJ9.xyz": nil,

		"user:" + r("p", maxKey-2) + "@tcp(h:1)/db": {r("p", maxKey-2)},
		"user:" + r("p", maxKey-1) + "@tcp(h:1)/db": nil,
		":pw@tcp(h:1)/db":     nil,
		"note: x@tcp(h:1)/db": nil,

		"https://u:p@h/":                    {"p"},
		"https://u:p\x7fq@h/":               nil,
		"https://u:p q@h/":                  nil,
		"https://" + r("a1", 10) + "@h/":    {r("a1", 10)},
		"https://" + r("a1", 9) + "a@h/":    nil,
		"https://" + r("a1", 10) + ".b@h/":  nil,
		"https://u@h/?x=1&password=hunter2": {"hunter2"},

		"password    =hunter2":                     {"hunter2"},
		"password     =hunter2":                    nil,
		"x_token9=hunter2":                         {"hunter2"},
		"x_token0=hunter2":                         {"hunter2"},
		`password="abc1\`:                          {`abc1\`},
		`password="hunter2 {"x":1}`:                {`hunter2 {`},
		"a: b\napi_key: abc\nc: d":                 {"abc"},
		"api_key: abc\nc: d":                       {"abc"},
		"a: b\napi_key: abc":                       {"abc"},
		"see api_key: abc\nc: d":                   nil,
		"a: b\napi_key: abc def\nc: d":             nil,
		"xdstp://a/b?x=1&password=hunter2secret":   nil,
		"xdstp://a/b password=hunter2secret":       {"hunter2secret"},
		`xdstp://a/b" password=hunter2secret`:      {"hunter2secret"},
		"xdstp:" + "//a/b\x7fpassword=hunter2secr": {"hunter2secr"},

		"curl ---phpsessid hunter2": nil,
		"curl --phpsessid hunter2":  {"hunter2"},
		"curl -phpsessid hunter2":   {"hunter2"},
		"Bearer +abcdefgh12":        {"+abcdefgh12"},
		"Bearer -abcdefgh12":        {"-abcdefgh12"},
		"Bearer abcd":               {"abcd"},
		"Bearer abc":                nil,
		"basic OmJjZGVmZ2hp x":      {"OmJjZGVmZ2hp"}, // :bcdefghi
		"basic YTpjZGVmZ2hp x":      {"YTpjZGVmZ2hp"}, // a:cdefghi
		"basic YWI6ZGVmZ2hp x":      {"YWI6ZGVmZ2hp"}, // ab:defghi
		"basic YWJjZGVmZ2g6 x":      {"YWJjZGVmZ2g6"}, // abcdefgh:
		"basic YWJjZGVmZ2hp x":      nil,              // abcdefghi

		"12345678:A" + r("b", 33):                      {"A" + r("b", 33)},
		"12345678:A" + r("b", 32):                      nil,
		"10203049:A" + r("b", 33):                      {"A" + r("b", 33)},
		"1234567:A" + r("b", 33):                       nil,
		" 123456:A" + r("b", 33):                       nil,
		"1234567a:A" + r("b", 33):                      nil,
		"12345678:B" + r("b", 33):                      nil,
		"x/services/T1234567a/B234567a/" + r("a1", 10): {r("a1", 10)},
		"x/services/T1234567a/B234567a/" + r("a", 19):  nil,
		"x/services/T1234567/B234567a/" + r("a1", 10):  nil,
		"x/services/T1234567a/B23456a/" + r("a1", 10):  nil,

		"AIza1/dapi" + r("a1", 16):           {"dapi" + r("a1", 16)},
		"AIzaSy-" + r("a1", 17):              {"AIzaSy-" + r("a1", 17)},
		"see key AIzaSy-" + r("a1", 17):      {"AIzaSy-" + r("a1", 17)},
		"x./IncomingWebhook/a-" + r("b", 30): {"a-" + r("b", 30)},

		"eyJhbGciOi.abc.def":  {"eyJhbGciOi.abc.def"},
		"x eyJhbGciO.abc.def": nil,
		"abcdLS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmFiYwo= x":    {"LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmFiYwo="},
		"-----BEGIN PRIVATE KEY-----\nabc\n-----END----- x":     {"-----BEGIN PRIVATE KEY-----\nabc\n-----END-----"},
		"https://[masked:5]@host/":                              {"[masked:5]"},
		"Cookie: =abc1\nx":                                      {"=abc1"},
		"see the api_key: abcdefghijklmnop ok":                  {"abcdefghijklmnop"},
		"see the api_key: abcdefghijklmno ok":                   nil,
		`"key":` + r(" ", 7) + `"authorization", "value": "x1"`: {"x1"},
		`"key":` + r(" ", 8) + `"authorization", "value": "x1"`: nil,
		r("x ", 40) + "--password hunter2":                      {"hunter2"},
		"--" + r("x", 55) + "-password hunter2":                 {"hunter2"},
		"--" + r("x", 56) + "-password hunter2":                 nil,
		"a/Bearer abcdefgh12":                                   {"abcdefgh12"},
		"aBearer abcdefgh12":                                    nil,
		"basic YTpjZGVmZ2hpAAAA x":                              {"YTpjZGVmZ2hpAAAA"},
		"basic YTpjZGVmZ2hpAAAAA x":                             nil,
		`password=""abc1" x`:                                    nil,
		`password="""hunter2secret"""`:                          {`""hunter2secret""`},
		`password: '''hunter2secret'`:                           {`''hunter2secret`},
		`password=\"abc1\`:                                      {`abc1\`},
		`password=abc1\" x`:                                     {"abc1"},
		"?token=abc1;def":                                       {"abc1;def"},
		"?token=abc1&!":                                         {"abc1"},
		"password=hunter2" + r("!", 16):                         {"hunter2"},
		"password=hunter2" + r("!", 17):                         {"hunter2!"},
		`xdstp://a/b"password=hunter2secret`:                    {"hunter2secret"},
		"password" + r("'", 6) + "=hunter2":                     {"hunter2"},
		"password" + r("'", 7) + "=hunter2":                     nil,
		`{"api_key": abc}`:                                      {"abc"},
		`see "api_key": abc`:                                    nil,
		"password===hunter2":                                    {"hunter2"},
		"password====hunter2":                                   {"=hunter2"},
		"password=" + r(" ", 15) + "hunter2":                    {"hunter2"},
		"password=" + r(" ", 16) + "hunter2":                    nil,
	} {
		var f found
		if Each([]byte(text), &f); !slices.Equal(f.secrets, want) {
			t.Errorf("in %q there is %q, not %q", text, f.secrets, want)
		}
		if want != nil && !In([]byte(text)) {
			t.Errorf("in %q there may be none", text)
		}
	}
}

// What follows a secret at once is looked at, too.
func TestFoundAfterASecret(t *testing.T) {
	for _, between := range []string{" ", "\n", " \n"} {
		var f found
		if Each([]byte("password=hunter2"+between+`{"a":1}`), &f); !slices.Equal(f.secrets, []string{"hunter2"}) || !slices.Equal(f.braces, []string{"{"}) {
			t.Errorf("after %q: %q, %q", between, f.secrets, f.braces)
		}
	}
}

// A token that is shorter than those that were issued is none, wherever it stands.
func TestShortTokens(t *testing.T) {
	for _, token := range tokens {
		body := strings.Repeat("a1B2", token.least)[:token.least-1]
		for _, before := range []string{"", "see it: ", strings.Repeat("x ", 100)} {
			text := []byte(before + token.head + body)
			for n, shape := range tokens {
				if shape.head != token.head {
					continue
				}
				if from, to := tokenFrom(text, len(before), n, false); from < to {
					t.Errorf("in %q there is %q", text, text[from:to])
				}
			}
		}
	}
}

// What a byte is to a search.
func TestClassesOfBytes(t *testing.T) {
	for class, of := range map[uint8]string{
		inWord:  "azAZ09+/",
		between: ",;()<>'`\\@]}|~!?&#$*^\t\n\x00\x7f\x80\xff",
		anchor:  `=:-_. "%{[`,
	} {
		for i := range len(of) {
			if classes[of[i]] != class {
				t.Errorf("%q is %d, not %d", of[i], classes[of[i]], class)
			}
		}
	}
	for c, want := range map[byte]bool{' ': true, 0x1f: false, '~': true, 0x7f: false, 0x80: false, '\n': true, '\r': true, '\t': true, '\v': false, 0: false} {
		if isTextByte(c) != want {
			t.Errorf("%q is of a text: %v", c, !want)
		}
	}
	for c, want := range map[byte]byte{'A': 'a', 'Z': 'z', '@': '@', '[': '[', 'a': 'a', '0': '0'} {
		if lower(c) != want {
			t.Errorf("%q is %q in small letters", c, lower(c))
		}
	}
}

// Text in base64 is found from twelve letters on, and to its end.
func TestTextsInBase64(t *testing.T) {
	for word, want := range map[string]string{
		"ImFiImNkImVm":       "ImFiImNkImVm", // "ab"cd"ef
		"fWFifGNkfmVm":       "fWFifGNkfmVm", // }ab|cd~ef
		"YWJjZGVm":           "",
		"YWJjZGVmZ2hp":       "YWJjZGVmZ2hp",
		"xYWJjZGVmZ2hp":      "YWJjZGVmZ2hp",
		"YWJjZGVmZ2hpa":      "YWJjZGVmZ2hp",
		"YWJjZGVmZ2hpag":     "YWJjZGVmZ2hpag",
		"YWJjZGVmZ2hpams":    "YWJjZGVmZ2hpams",
		"YWJjZGVmZ2hpamts":   "YWJjZGVmZ2hpamts",
		"YWJjZGVmZ2hpAAAA":   "YWJjZGVmZ2hp",
		"YWJ/ZGVmZ2hpamts":   "ZGVmZ2hpamts", // ab, DEL
		"AAAAYWJjZGVmZ2hpAA": "YWJjZGVmZ2hpAA",
	} {
		if from, to := base64Text([]byte(word)); word[from:to] != want {
			t.Errorf("of %s it is %q, not %q", word, word[from:to], want)
		}
	}
}

// Values that are none, and values that look as if they were drawn.
func TestLooksOfValues(t *testing.T) {
	for v, want := range map[string]bool{
		"": true, "true": true, "(none)": true, "****": true, "*****": false, "a***": false, "é": false, "\u0080": false, "a(b": false, "aABC(b": false, "%ENV(x": true, "%(x": true, "%ENV": false, "x%ENV(": false, "%ENV%": true,
	} {
		if isPublic([]byte(v)) != want {
			t.Errorf("%q is public: %v", v, !want)
		}
	}
	r := strings.Repeat
	for v, want := range map[string]bool{
		r("0", 20): false, r("9", 20): false, r("1", 19) + "a": true, r("1", 18) + "a": false, r("a", 20): false, r("-1", 10): false, r("0", 19) + "z": true, r("0", 19) + "A": true,
	} {
		if looksRandom([]byte(v)) != want {
			t.Errorf("%q looks random: %v", v, !want)
		}
	}
	for v, want := range map[string]bool{"": true, "80": true, "65535/tcp": true, "655350": false, "8a": false, "/x": true} {
		if isPort([]byte(v)) != want {
			t.Errorf("%q is a port: %v", v, !want)
		}
	}
}
