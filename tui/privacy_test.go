package tui

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/tui/key"
)

func TestAliasText(t *testing.T) {
	var a aliases
	a.meet("client", "web-7f9")
	a.meet("cluster", "outbound|9080||reviews.default.svc")
	a.meet("cluster", "outbound|9080||reviews")
	a.meet("cluster", "outbound")
	a.meet("client", "x")        // too short to be looked for
	a.meet("listener", "client") // an alias contains it
	a.meet("route", "größe")
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
		if got := a.text(in); got != want {
			t.Errorf("%q becomes %q, not %q", in, got, want)
		}
	}
}

// No alias is what something is really called.
func TestAliasesAreNoNames(t *testing.T) {
	var a aliases
	a.meet("client", "client-1")
	a.meet("client", "other")
	a.meet("client", "client-3")
	for name, want := range map[string]string{"client-1": "client-2", "other": "client-3"} {
		if got := a.of[name]; got != want && a.names[a.of[name]] != true {
			t.Errorf("%s is called %s", name, got)
		}
	}
	if a.of["client-1"] == "client-1" {
		t.Error("a name is its own alias")
	}
}

// A peer that sends ever new names fills the table, and no more; what comes
// after is hidden all the same.
func TestAliasesAreBounded(t *testing.T) {
	var a aliases
	for i := range maxAliases + 10 {
		a.meet("cluster", fmt.Sprintf("name-of-%d", i))
	}
	if len(a.of) != maxAliases {
		t.Errorf("%d aliases", len(a.of))
	}
	if got := a.exact("cluster", "one more"); got != hidden {
		t.Errorf("the one that is too many is %q", got)
	}
	if got := a.text("name-of-77, name-of-9999999"); got != "cluster-78, name-of-9999999" {
		t.Errorf("text: %q", got)
	}
}

// While privacy is on, no view shows the name of a client or of a resource, nor
// an address, and every alias stays.
func TestPrivacyHidesNames(t *testing.T) {
	paths, err := filepath.Glob(sessionPath("*"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d sessions: %v", len(paths), err)
	}
	address := regexp.MustCompile(`\b(10|172|192)\.\d+\.\d+\.\d+\b`)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			d := drive(t, fileSource(path), 160, 50, Options{Theme: "mono"})
			names := namesIn(d)
			d.press("P")
			for _, key := range []string{
				"1", "space", "2", "c", "c", "enter", "v", "v", "v", "q", "d", "q", "L", "q", "Y", "q", "G", "enter", "v", "v", "d", "q", "q",
				"3", "enter", "q", "4", "enter", "4", "5", "E", "?", "b",
			} {
				d.press(key)
				frame := d.frame()
				if !strings.Contains(frame, "PRIVATE") {
					t.Fatalf("the header does not say so:\n%s", frame)
				}
				for _, name := range names {
					if wordIn(frame, name) {
						t.Errorf("%s: %q is on the screen:\n%s", key, name, frame)
					}
				}
				if found := address.FindString(frame); found != "" {
					t.Errorf("%s: the address %s is on the screen:\n%s", key, found, frame)
				}
			}
			before := d.m.aliases.of
			kept := fmt.Sprint(before)
			d.press("P", "2", "P")
			if fmt.Sprint(d.m.aliases.of) != kept {
				t.Error("aliases have changed")
			}
		})
	}
}

// namesIn are the names of a session that the screen must not show: but for
// those that are words of the screen, and of help, as well.
func namesIn(d *driver) []string {
	var out []string
	own := fmt.Sprint(wordPage(), filterPage(), key.All(), commands(), check.Rules())
	add := func(name string) {
		if len(name) > 2 && !wordIn(own, name) {
			out = append(out, name)
		}
	}
	var walk func(nodes []*engine.Node)
	walk = func(nodes []*engine.Node) {
		for _, n := range nodes {
			add(n.Name)
			walk(n.Children)
		}
	}
	for _, c := range d.m.seen.standing {
		add(c.Client)
		if tree := d.m.feed.Tree(c.Client); tree != nil {
			walk(tree.Roots)
			walk(tree.Dangling)
			walk(tree.Missing)
		}
	}
	return out
}

// wordIn says whether a text has a name as a word of its own.
func wordIn(text, name string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(name)
		before := i > 0 && wordByte(text[i-1]) && wordByte(name[0])
		after := end < len(text) && wordByte(text[end]) && wordByte(name[len(name)-1])
		if !before && !after {
			return true
		}
		at = i + 1
	}
}

// What is exported is hidden in the same words, and names that the screen has
// not met are hidden, too.
func TestPrivateExport(t *testing.T) {
	var a aliases
	a.meet("client", "gw-0")
	p := a.copy()
	p.Meet(&check.Change{Change: engine.Change{Type: "CDS", Client: "gw-1", Message: &decode.Message{Names: []string{"shop"}}}})
	if got := p.Text("gw-0 gw-1 shop 10.0.0.1\n"); got != "client-1 client-2 cluster-1 addr-1\n" {
		t.Errorf("%q", got)
	}
	if len(a.of) != 1 {
		t.Error("the screen's own table has changed")
	}
}

func FuzzAliasText(f *testing.F) {
	f.Add("web-7f9", "outbound|9080", "at web-7f9, outbound|9080|| from 10.0.0.1:80 [::1]")
	f.Add("a\xff", "::1", "::ffff:1.2.3.4%eth0 a\xff ...:::")
	f.Fuzz(func(t *testing.T, one, two, text string) {
		var a aliases
		a.meet("client", one)
		a.meet("cluster", two)
		out := a.text(text)
		for _, name := range []string{one, two} {
			if len(name) >= leastName && a.of[name] != "" && a.names[name] == false && out == name {
				t.Errorf("%q is left of %q", name, text)
			}
		}
		if len(out) > 16*len(text)+16 {
			t.Errorf("%d bytes become %d", len(text), len(out))
		}
	})
}
