package alias

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

func TestAliasText(t *testing.T) {
	var a Table
	a.Meet("client", "web-7f9")
	a.Meet("cluster", "outbound|9080||reviews.default.svc")
	a.Meet("cluster", "outbound|9080||reviews")
	a.Meet("cluster", "outbound")
	a.Meet("client", "x")        // too short to be looked for
	a.Meet("listener", "client") // an alias contains it
	a.Meet("route", "größe")
	for in, want := range map[string]string{
		"":                                       "",
		"web-7f9 asked":                          "client-1 asked",
		"(web-7f9)":                              "(client-1)",
		"web-7f9a and myweb-7f9":                 "web-7f9a and myweb-7f9",
		"outbound|9080||reviews.default.svc: up": "cluster-1: up",
		"outbound|9080||reviews.default":         "cluster-2.default",
		"outbound|9080||reviewsx":                "cluster-3|9080||reviewsx",
		"to outbound.":                           "to cluster-3.",
		"x":                                      "x",
		"client-1 is the client":                 "client-1 is the listener-1",
		"größe, grö":                             "route-1, grö",
		"from 10.1.2.3:8080, 10.1.2.3":           "from addr-1:8080, addr-1",
		"[2001:db8::1]:80 and 2001:DB8::1":       "[addr-2]:80 and addr-2",
		"at 12:41:03.101 version 1.34.1":         "at 12:41:03.101 version 1.34.1",
		"127.0.0.1:80 0.0.0.0 ::1 ::":            "127.0.0.1:80 0.0.0.0 ::1 ::",
		"10.1.2.3.":                              "addr-1.",
		"upstream 10.1.2.3: refused":             "upstream addr-1: refused",
		"10.1.2.0/24":                            "addr-3/24",
		"1.2.3.4.5 a10.1.2.3":                    "1.2.3.4.5 a10.1.2.3",
		"web-7f9web-7f9":                         "web-7f9web-7f9",
		"\xff web-7f9 \xff":                      "\xff client-1 \xff",
		`up\nweb-7f9: \tweb-7f9`:                 `up\nclient-1: \tclient-1`,
		`\x1bweb-7f9\u2028x, \U000e0001outbound`: `\x1bclient-1\u2028x, \U000e0001cluster-3`,
		`\n10.1.2.3:80 \u202810.1.2.3`:           `\naddr-1:80 \u2028addr-1`,
		`\kweb-7f9 \nmweb-7f9 \x1web-7f9`:        `\kweb-7f9 \nmweb-7f9 \x1web-7f9`,
	} {
		// The order of a map is random, but 2001: and 10.1.2.0 are met in it.
		a.exact("addr", "10.1.2.3")
		a.exact("addr", "2001:db8::1")
		if got := a.replace(in); got != want {
			t.Errorf("%q becomes %q, not %q", in, got, want)
		}
	}
}

// No alias is what something is really called.
func TestAliasesAreNoNames(t *testing.T) {
	var a Table
	a.Meet("client", "client-1")
	a.Meet("client", "other")
	a.Meet("client", "client-3")
	for name, want := range map[string]string{"client-1": "client-2", "other": "client-3"} {
		if got := a.Of[name]; got != want && a.names[a.Of[name]] != true {
			t.Errorf("%s is called %s", name, got)
		}
	}
	if a.Of["client-1"] == "client-1" {
		t.Error("a name is its own alias")
	}
}

// Beyond the last alias a name is hidden without one of its own, in texts, too, and an
// export says so.
func TestAliasesAreBounded(t *testing.T) {
	var a Table
	for i := range maxAliases {
		a.Meet("cluster", fmt.Sprintf("name-of-%d", i))
		a.replace(fmt.Sprint("at ", netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})))
	}
	p := a.Private()
	text := "name-of-77 at 10.1.0.8:80, name-of-x, 10.9.9.9:80"
	if got, err := p.Text(text[:25]); got != "cluster-78 at addr-9:80" || err != nil || p.Told() != "" {
		t.Errorf("text: %q, %v, told %q", got, err, p.Told())
	}
	meet := func(name string) {
		p.Meet(&check.Change{Change: engine.Change{Type: "CDS", Message: &decode.Message{Names: []string{name}}}})
	}
	meet("name-of-x")
	if got, err := p.Text(text); got != "cluster-78 at addr-9:80, (hidden), (hidden):80" || err != nil || p.Told() != saidFull {
		t.Errorf("text: %q, %v, told %q", got, err, p.Told())
	}
	if got := a.exact("cluster", "one more"); got != hidden || a.replace(hidden) != hidden {
		t.Errorf("the one that is too many is %q", got)
	}
	if len(a.names) != 2*maxAliases+1 || len(a.addrs) != maxAliases {
		t.Errorf("%d aliases, %d of addresses", len(a.names)-1, len(a.addrs))
	}
}

// An address that has an alias keeps it if something is called so, and the other way.
func TestAddressesAreNames(t *testing.T) {
	var a Table
	a.Meet("client", "10.0.0.1")
	for _, name := range []string{"10.0.0.1", "10.0.0.2"} {
		a.replace(name)
		a.Meet("endpoints", name)
	}
	if got := a.replace("10.0.0.1 10.0.0.2, 10.0.0.3:80: refused"); got != "client-1 addr-1, addr-2:80: refused" {
		t.Error(got)
	}
}

// Names are kept up to so many bytes. Once there are others, no text can be searched for
// them: it is hidden as a whole, and nothing is exported.
func TestNamesAreKeptUpToABound(t *testing.T) {
	var told []string
	a := Table{On: true, Full: func(said string) { told = append(told, said) }}
	long := strings.Repeat("x", maxSize-2*perName-len("web"))
	a.Meet("cluster", "web")
	a.Meet("cluster", long)
	p, stamp := a.Private(), a.Stamp()
	if got, err := p.Text("of web and y"); got != "of cluster-1 and y" || err != nil || len(told) != 0 {
		t.Errorf("%q, %v, told %q", got, err, told)
	}
	p.Meet(&check.Change{Change: engine.Change{Client: "y"}})
	if got, err := p.Text("of web and y"); got != "" || !errors.Is(err, ErrLost) {
		t.Errorf("%q, %v", got, err)
	}
	a.Meet("cluster", "y")
	a.Meet("cluster", "z")
	if got := a.Text("of web and y"); got != hidden || a.Text("| -") != "| -" || a.Text(saidLost) != saidLost || a.Stamp() == stamp || !slices.Equal(told, []string{saidLost}) {
		t.Errorf("%q, told %q", got, told)
	}
	if a.Name("y") != hidden || a.Name("web") != "cluster-1" {
		t.Errorf("names are %q and %q", a.Name("y"), a.Name("web"))
	}
}

// A name with signs that some form escapes, doubles or leaves out is not to be found in all
// of them: nothing is exported.
func TestOddNamesAreNotExported(t *testing.T) {
	for name, odd := range map[string]bool{
		`a"b`: true, `a\b`: true, "a\nb": true, "a\tb": true, "a\u202eb": true, "a\u00a0b": true, "a\xffb": true, "a  b": true, " ab": true, "ab ": true,
		"a b": false, "a,b": false, "it's": false, "größe": false, "<a>&b": false, "xdstp://a/b?c=d#e": false, "outbound|80||web": false, `"`: false,
	} {
		var a Table
		a.Meet("client", "gw-0")
		p := a.Private()
		p.Meet(&check.Change{Change: engine.Change{Type: "CDS", Message: &decode.Message{Names: []string{name}}}})
		if got, err := p.Text("of gw-0"); errors.Is(err, ErrOdd) != odd || odd != (got == "") {
			t.Errorf("with %q: %q, %v", name, got, err)
		}
	}
}

// A name is found whenever it came, and only few runs are looked through.
func TestSearch(t *testing.T) {
	var r search
	for i := range 5000 {
		r.add(fmt.Sprint("name-", i*7919%5000))
		if i%3 == 0 {
			r.settle()
		}
	}
	before := r.clone()
	r.add("name-17-more")
	r.settle()
	for text, want := range map[string]string{"name-17 x": "name-17", "name-4999": "name-4999", "name-5000": "", "name-17-more.": "name-17-more"} {
		if got := r.longest(text); got != want {
			t.Errorf("%q begins with %q", text, got)
		}
	}
	if got := before.longest("name-17-more"); got != "name-17" || len(r.runs) > 14 {
		t.Errorf("the copy has %q; %d runs", got, len(r.runs))
	}
}

// What is exported is hidden in the same words, and names that the screen has
// not met are hidden, too.
func TestPrivateExport(t *testing.T) {
	var a Table
	a.Meet("client", "gw-0")
	p := a.Private()
	p.Meet(&check.Change{Change: engine.Change{Type: "CDS", Client: "gw-1", Message: &decode.Message{Names: []string{"shop"}}}})
	if got, err := p.Text("gw-0 gw-1 shop 10.0.0.1\n"); got != "client-1 client-2 cluster-1 addr-1\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if len(a.Of) != 1 {
		t.Error("the screen's own table has changed")
	}
}

func FuzzAliasText(f *testing.F) {
	f.Add("web-7f9", "outbound|9080", "at web-7f9, outbound|9080|| from 10.0.0.1:80 [::1]")
	f.Add("a\xff", "::1", "::ffff:1.2.3.4%eth0 a\xff ...:::")
	f.Fuzz(func(t *testing.T, one, two, text string) {
		var a Table
		a.Meet("client", one)
		a.Meet("cluster", two)
		out := a.replace(text)
		for _, name := range []string{one, two} {
			if len(name) >= leastName && a.Of[name] != "" && a.names[name] == false && out == name {
				t.Errorf("%q is left of %q", name, text)
			}
		}
		if len(out) > 16*len(text)+16 {
			t.Errorf("%d bytes become %d", len(text), len(out))
		}
	})
}
