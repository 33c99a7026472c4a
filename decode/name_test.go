package decode

import (
	"strings"
	"testing"
)

func TestNormalName(t *testing.T) {
	const listener = "xdstp://a/envoy.config.listener.v3.Listener"
	for name, want := range map[string]string{
		"":                          "",
		"outbound|80||a.b?x=2&a=1":  "outbound|80||a.b?x=2&a=1",
		"XDSTP://a/T/x?b=1&a=1":     "XDSTP://a/T/x?b=1&a=1",
		listener + "/x":             listener + "/x",
		listener + "/x?b=2&a=1":     listener + "/x?a=1&b=2",
		listener + "/x?a=1&b=2":     listener + "/x?a=1&b=2",
		listener + "/x?":            listener + "/x",
		listener + "/x?b&a=1":       listener + "/x?a=1&b=",
		listener + "/x?a=2&a=1":     listener + "/x?a=2",
		listener + "/x?%61=1&b=2":   listener + "/x?a=1&b=2",
		listener + "/x?k=a=b":       listener + "/x?k=a%3Db",
		listener + "/%66oo/b%2fr":   listener + "/foo/b/r",
		listener + "/a%3fb":         listener + "/a%3Fb",
		listener + "/%30%39%4a%4F":  listener + "/09JO",
		listener + "/%6A%6f%6a%5F":  listener + "/joj_",
		listener + "/%3/%/%3g%g3":   listener + "/%253/%25/%253g%25g3",
		listener + "/a%2":           listener + "/a%252",
		listener + "/a%41":          listener + "/aA",
		listener + "/%7d%7e%1f%20":  listener + "/}%7E%1F ",
		listener + "/a:b":           listener + "/a%3Ab",
		listener + "/x#entry=y":     listener + "/x%23entry=y",
		listener + "/100%":          listener + "/100%25",
		listener + "/g/*":           listener + "/g/*",
		listener + "/":              listener,
		"xdstp:///T/x?b=2&a=1":      "xdstp:///T/x?a=1&b=2",
		"xdstp://host:80/T/x?b&a":   "xdstp://host:80/T/x?a=&b=",
		"xdstp://h%2Fx/T/gr%C3%B6e": "xdstp://h%2Fx/T/gr%C3%B6e",
		"xdstp://a/T/größe":         "xdstp://a/T/gr%C3%B6%C3%9Fe",
		"xdstp:no/form?b=1&a=1":     "xdstp:no/form?b=1&a=1",
		"xdstp://a":                 "xdstp://a",
		"xdstp://a//x?b=1&a=1":      "xdstp://a//x?b=1&a=1",
	} {
		if got := NormalName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"outbound|80||a.default.svc.cluster.local", listener + "/a/b"} {
		if n := testing.AllocsPerRun(100, func() { NormalName(name) }); n != 0 {
			t.Errorf("%q: %v allocations", name, n)
		}
	}
}

func TestNameType(t *testing.T) {
	for name, want := range map[string]string{
		"xdstp://a/envoy.config.listener.v3.Listener/x":           "envoy.config.listener.v3.Listener",
		"xdstp:///envoy.config.listener.v3.Listener/x?a=1":        "envoy.config.listener.v3.Listener",
		"xdstp://a/envoy.config.endpoint.v3.LbEndpoint/g/*":       "envoy.config.endpoint.v3.LbEndpoint",
		"xdstp://a/envoy.config.endpoint.v3.LbEndpoint/*?x=%20":   "envoy.config.endpoint.v3.LbEndpoint",
		"xdstp://a/envoy.config.listener.v3.Listener/x#entry=foo": "envoy.config.listener.v3.Listener",
		"xdstp://a/T/x%41": "T",
		"xdstp://a/T/x%09": "T",
		"xdstp://a/T/x%aF": "T",
	} {
		if typ, is, err := NameType(name); typ != want || !is || err != nil {
			t.Errorf("%q: %q, %v, %v", name, typ, is, err)
		}
	}
	for _, name := range []string{"", "*", "a/b/c", "http://a/b/c", "xdstp"} {
		if typ, is, err := NameType(name); typ != "" || is || err != nil {
			t.Errorf("%q: %q, %v, %v", name, typ, is, err)
		}
	}
	for name, want := range map[string]string{
		"xdstp:a/T/x":           `"//" does not follow the scheme`,
		"xdstp://a":             "it has no resource type",
		"xdstp://a/":            "it has no resource type",
		"xdstp://a//x":          "it has no resource type",
		"xdstp://a/T":           "it has no id",
		"xdstp://a/T/?a=1":      "it has no id",
		"xdstp://a/T/100%":      `a "%" is not followed by two hexadecimal digits`,
		"xdstp://a/T/x?a=%zz":   `a "%" is not followed by two hexadecimal digits`,
		"xdstp://a/T/x%4":       `a "%" is not followed by two hexadecimal digits`,
		"xdstp://a/T/x%4/y":     `a "%" is not followed by two hexadecimal digits`,
		"xdstp://a/T/x%g0":      `a "%" is not followed by two hexadecimal digits`,
		"xdstp://a/T/x\x7f":     `it has a character '\x7f'`,
		"xdstp://a/T/two words": "it has a character ' '",
		"xdstp://a/T/x\n":       `it has a character '\n'`,
	} {
		if _, is, err := NameType(name); !is || err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, name := range []string{"c1", "xdstp://a/T/x?b=2&a=1", "xdstp://a%2f/T/%25/*?%61=%3d&a=#x", "xdstp:x", "xdstp://a//"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		normal := NormalName(name)
		if again := NormalName(normal); again != normal {
			t.Errorf("%q: normal %q, again %q", name, normal, again)
		}
		typ, is, err := NameType(name)
		normalType, normalIs, normalErr := NameType(normal)
		if is != normalIs || typ != normalType && err == nil {
			t.Errorf("%q: type %q, of the normal form %q", name, typ, normalType)
		}
		if err == nil && is && normalErr != nil && !strings.Contains(normalErr.Error(), "character") {
			t.Errorf("%q: normal form: %v", name, normalErr)
		}
		if !is && normal != name {
			t.Errorf("%q became %q", name, normal)
		}
		if len(normal) > 3*len(name)+len(name) {
			t.Errorf("%q grew to %q", name, normal)
		}
	})
}
