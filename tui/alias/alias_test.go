package alias

import (
	"fmt"
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

// A peer that sends ever new names fills the table, and no more; what comes
// after is hidden all the same.
func TestAliasesAreBounded(t *testing.T) {
	var a Table
	for i := range maxAliases + 10 {
		a.Meet("cluster", fmt.Sprintf("name-of-%d", i))
	}
	if len(a.Of) != maxAliases {
		t.Errorf("%d aliases", len(a.Of))
	}
	if got := a.exact("cluster", "one more"); got != hidden {
		t.Errorf("the one that is too many is %q", got)
	}
	if got := a.replace("name-of-77, name-of-9999999"); got != "cluster-78, name-of-9999999" {
		t.Errorf("text: %q", got)
	}
}

// What is exported is hidden in the same words, and names that the screen has
// not met are hidden, too.
func TestPrivateExport(t *testing.T) {
	var a Table
	a.Meet("client", "gw-0")
	p := a.Private()
	p.Meet(&check.Change{Change: engine.Change{Type: "CDS", Client: "gw-1", Message: &decode.Message{Names: []string{"shop"}}}})
	if got := p.Text("gw-0 gw-1 shop 10.0.0.1\n"); got != "client-1 client-2 cluster-1 addr-1\n" {
		t.Errorf("%q", got)
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
