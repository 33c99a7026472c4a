package foreign

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode/document"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// rejected is a conversation with findings of each severity, on two clients, with
// names that mean something to a terminal and to XML.
const rejected = `C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1,c1]
C> type=CDS V= N=a R=[] err="c1 <&\"'\u001b[31m]]>: no such" code=13 node=n1
t=+1s S< type=CDS V=1 N=a res=[c1]
-- stream 2 method=StreamAggregatedResources peer=10.0.0.2
C> type=CDS V= N= R=[] node=n2
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V= N=a R=[] err="c1: no such" code=13 node=n2
t=+60s -- tick
`

// report is what check finds in it.
func report(t *testing.T, source string, lines bool) *render.Report {
	t.Helper()
	s, err := script.Parse("x.xds", []byte(rejected))
	if err != nil {
		t.Fatal(err)
	}
	k := check.NewChecker(check.Options{Rules: check.Rules()})
	for e := range s.Entries() {
		k.Step(&e)
	}
	r := render.NewReport()
	r.Add(source, k.Findings(), k.Summary())
	if lines {
		render.AddLines(r.Findings, s.Line)
	}
	return r
}

// rulesOf are those that found something, and two more.
func rulesOf(r *render.Report) (out []*check.Rule) {
	found := map[string]bool{"nack-received": true, "mass-removal": true, "ttl-expired": true}
	for i := range r.Findings {
		found[r.Findings[i].Rule] = true
	}
	for _, rule := range check.Rules() {
		if found[rule.ID] {
			out = append(out, rule)
		}
	}
	return out
}

func TestSARIF(t *testing.T) {
	var b bytes.Buffer
	r := report(t, "", true)
	if err := SARIF(&b, r, "v1", "dir/x.xds", rulesOf(r)); err != nil {
		t.Fatal(err)
	}
	golden.Is(t, "testdata/script.sarif", b.String())
	b.Reset()
	r = report(t, "b.xdsp", false)
	if err := SARIF(&b, r, "v1", "a.xdsp b.xdsp", rulesOf(r)); err != nil {
		t.Fatal(err)
	}
	golden.Is(t, "testdata/two.sarif", b.String())
}

func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	r := report(t, "", true)
	for name, fails := range map[string]func(string) bool{
		"errors.xml": func(severity string) bool { return severity == "error" }, "all.xml": func(string) bool { return true },
	} {
		b.Reset()
		if err := JUnit(&b, r, "dir/x.xds", rulesOf(r), fails); err != nil {
			t.Fatal(err)
		}
		golden.Is(t, filepath.Join("testdata", name), b.String())
	}
}

func TestGrpcurl(t *testing.T) {
	doc := func(text string) document.Document { return document.JSON("", []byte(text)) }
	ads := xds.LookupMethod("/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources")
	first := doc(`{"node":{"id":"it's me"},"type_url":"t"}`)
	later := doc(`{"version_info":"1","resource_names":["a\u001b"],"type_url":"t","response_nonce":"n","error_detail":{"code":13},"@unknown":{"9":1}}`)
	for _, c := range []struct {
		r    Request
		want string
	}{
		{Request{Method: ads, Address: "10.0.0.1:15010", Body: first}, `grpcurl -plaintext -d '{"node":{"id":"it'\''s me"},"type_url":"t"}' 10.0.0.1:15010 envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources`},
		{Request{Method: ads, Body: later, First: first}, `grpcurl -plaintext -d '{"node":{"id":"it'\''s me"},"resource_names":["a\u001b"],"type_url":"t"}' HOST:PORT envoy`},
		{Request{Method: ads, Address: "a b;", Body: doc(`{"node":{"id":"own"}}`), First: first}, `grpcurl -plaintext -d '{"node":{"id":"own"}}' 'a b;' envoy`},
	} {
		got, err := c.r.Grpcurl()
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		if err != nil || len(lines) != 5 || !strings.HasPrefix(lines[4], c.want) {
			t.Errorf("%v: %s\nwant %s", err, got, c.want)
		}
		for _, l := range lines[:4] {
			if !strings.HasPrefix(l, "# ") {
				t.Errorf("it is no remark: %s", l)
			}
		}
	}
	for _, path := range []string{"/v3/discovery:clusters", "nothing"} {
		r := Request{Method: xds.LookupMethod(path), Body: first}
		if got, err := r.Grpcurl(); err == nil {
			t.Errorf("%s becomes %s", path, got)
		}
	}
	for word, want := range map[string]string{"": "''", "a-b_c./:@%+=,Z9": "a-b_c./:@%+=,Z9", "azAZ09": "azAZ09", "a b": "'a b'", "z{": "'z{'", "[": "'['", "`": "'`'"} {
		if got := shellQuote(word); got != want {
			t.Errorf("%q is %s, not %s", word, got, want)
		}
	}
}

// On how many proxies something was found is said where it is more than one.
func TestProxiesOfAFinding(t *testing.T) {
	for _, c := range []struct {
		proxies []string
		says    bool
	}{{[]string{"p1"}, false}, {[]string{"p1", "p2"}, true}} {
		r := report(t, "x.xds", false)
		for i := range r.Findings {
			r.Findings[i].Proxies = c.proxies
		}
		var sarif, junit bytes.Buffer
		if err := SARIF(&sarif, r, "v1", "x.xds", rulesOf(r)); err != nil {
			t.Fatal(err)
		}
		if err := JUnit(&junit, r, "x.xds", rulesOf(r), func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(sarif.String(), "(on 2 proxies: p1, p2)") != c.says || strings.Contains(junit.String(), ", on 2 proxies: p1, p2)") != c.says || strings.Contains(sarif.String()+junit.String(), "on 1 proxy") {
			t.Errorf("%q\n%s\n%s", c.proxies, &sarif, &junit)
		}
	}
}

// A finding that names no entry has the place of its recording alone.
func TestFindingWithoutEntries(t *testing.T) {
	r := report(t, "x.xds", true)
	r.Findings = r.Findings[:1]
	for _, seqs := range [][]uint64{nil, {7}} {
		r.Findings[0].Seqs = seqs
		var b bytes.Buffer
		if err := SARIF(&b, r, "v1", "x.xds", rulesOf(r)); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); strings.Count(text, `"fullyQualifiedName": "entry `) != len(seqs) || !strings.Contains(text, `"uri": "x.xds"`) {
			t.Errorf("of the entries %d:\n%s", seqs, text)
		}
	}
}

// A report without findings has the tests of the rules that ran, and no time.
func TestJUnitOfNothing(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, render.NewReport(), "x.xds", check.Rules()[:2], func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "timestamp") || strings.Count(text, "<testcase ") != 2 {
		t.Error(text)
	}
}
