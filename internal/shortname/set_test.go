package shortname

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func columnsOf(s string) (n int) {
	for _, r := range s {
		n += Columns(r)
	}
	return n
}

// apart says that names differ in so many columns, whichever way one goes through
// them.
func apart(tb testing.TB, s *Set, names []string, columns int) {
	tb.Helper()
	by := map[string]string{}
	for range 2 {
		for _, n := range names {
			short := s.Fit(n, columns)
			if columnsOf(short) > columns {
				tb.Fatalf("%q is %d columns wide, not %d", short, columnsOf(short), columns)
			}
			if columnsOf(n) <= columns && short != n && !strings.ContainsAny(n, "…(") {
				tb.Fatalf("%q has room and is %q", n, short)
			}
			if other, is := by[short]; is && other != n {
				tb.Fatalf("in %d columns, %q and %q are both %q", columns, n, other, short)
			}
			by[short] = n
		}
		slices.Reverse(names)
	}
}

func istioNodes(n int) (out []string) {
	r := rand.New(rand.NewPCG(1, 2))
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	for i := range n {
		tail := make([]byte, 5)
		for j := range tail {
			tail[j] = letters[r.IntN(len(letters))]
		}
		app := []string{"productpage-v1-6b746f74dc", "reviews-v2-7d9f4b6c5", "ratings-v1-85cc46b6d4", "details-v1-79f774bdb9"}[i%4]
		out = append(out, fmt.Sprintf("sidecar~10.0.%d.%d~%s-%s.default~default.svc.cluster.local", i/250, i%250, app, tail))
	}
	return out
}

func istioClusters(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("outbound|8080||svc-%04d.ns-%d.svc.cluster.local", i, i%7))
	}
	return out
}

func hostileNames() map[string][]string {
	middle, one, deep := []string{}, []string{}, []string{}
	for i := range 60 {
		middle = append(middle, strings.Repeat("a", 38)+fmt.Sprintf("%04d", i)+strings.Repeat("b", 38))
		n := []byte(strings.Repeat("x", 80))
		n[i+10] = 'y'
		one = append(one, string(n))
		deep = append(deep, strings.Repeat("ab", i)+strings.Repeat("c", 80-i))
	}
	return map[string][]string{
		"middle": middle, "one character": one, "prefixes": deep,
		"clusters": istioClusters(500), "nodes": istioNodes(200),
		"like short ones": {"abc…xyz", "abc…xyz(2)", strings.Repeat("abc", 20) + "xyz", "abc" + strings.Repeat("xyz", 20), "…", "(2)", ""},
		"wide":            {strings.Repeat("世", 40), strings.Repeat("世", 20) + "界" + strings.Repeat("世", 19), strings.Repeat("世", 39) + "界", strings.Repeat("e\u0301", 70), strings.Repeat("e", 70)},
		"ports":           {"outbound|80||a.b.svc.cluster.local", "outbound|81||a.b.svc.cluster.local", "inbound|80||a.b.svc.cluster.local", "outbound|80|v1|a.b.svc.cluster.local", "outbound|80||a.b.svc.cluster.local.", "outbound_.80_._.a.b.svc.cluster.local"},
	}
}

func TestNamesAreToldApart(t *testing.T) {
	for what, names := range hostileNames() {
		for _, columns := range []int{6, 7, 8, 10, 13, 22, 33, 60, 100} {
			t.Run(fmt.Sprintf("%s/%d", what, columns), func(t *testing.T) {
				apart(t, New(names), slices.Clone(names), columns)
				apart(t, new(Set), slices.Clone(names), columns) // it meets them one by one
			})
		}
	}
}

// What a name looks like hangs on the names around it, and on nothing else.
func TestShortNames(t *testing.T) {
	nodes := append(istioNodes(200), "router~10.8.1.9~istio-ingressgateway-5d48c-q7x2k.istio-system~istio-system.svc.cluster.local")
	gateway := []string{"envoy-default-eg-e41e7b31-5c9d8f7b6d-xk2p9", "envoy-default-eg-e41e7b31-5c9d8f7b6d-b8m4t"}
	consul := []string{"web.default.dc1.internal.0fa8e1c2-5a4f-11ee-be56-0242ac120002.consul", "v2.web.default.dc1.internal.0fa8e1c2-5a4f-11ee-be56-0242ac120002.consul", "api.default.dc1.internal.0fa8e1c2-5a4f-11ee-be56-0242ac120002.consul"}
	proxies := []string{"web-7c4f5d8b9-abcde-web-sidecar-proxy", "web-7c4f5d8b9-fghij-web-sidecar-proxy"}
	routes := []string{"httproute/shop/checkout-with-a-long-name/rule/0", "httproute/shop/checkout-with-a-long-name/rule/1", "httproute/shop/cart/rule/0"}
	for _, c := range []struct {
		set     []string
		at      int
		columns int
		want    string
	}{
		{nodes, 0, 13, "…p…v1…2v44j…"},
		{nodes, 0, 22, "…productpage-v1…2v44j…"},
		{nodes, 0, 40, "…productpage-v1-6b746f74dc-2v44j…"},
		{nodes, 200, 22, "…istio…5d48c-q7x2k…"},
		{istioClusters(2000), 17, 20, "…8080…svc-0017.ns-3…"},
		{istioClusters(2000), 17, 33, "outbound|8080…svc-0017.ns-3.svc…"},
		{gateway, 0, 22, "envoy-default-eg…xk2p9"},
		{consul, 0, 20, "web.default.dc1…"},
		{consul, 1, 28, "v2.web.default.dc1.internal…"},
		{proxies, 1, 20, "web…fghij-web…-proxy"},
		{routes, 0, 22, "…checkout-with…rule/0"},
		{routes, 1, 32, "…checkout-with-a…name/rule/1"},
		{[]string{"router~10.0.0.1~gw-0.istio"}, 0, 11, "route…istio"},
		{nodes[:1], 0, 22, "…productpage-v1…2v44j…"},
	} {
		if got := New(c.set).Fit(c.set[c.at], c.columns); got != c.want {
			t.Errorf("%q in %d columns is %q, want %q", c.set[c.at], c.columns, got, c.want)
		}
	}
}

func FuzzFit(f *testing.F) {
	for _, names := range hostileNames() {
		f.Add(strings.Join(names[:min(len(names), 7)], "\n"), 12)
	}
	f.Fuzz(func(t *testing.T, text string, columns int) {
		names := strings.Split(text, "\n")
		for _, n := range names {
			if !utf8.ValidString(n) || strings.ContainsFunc(n, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Skip()
			}
		}
		if len(names) > 90 {
			t.Skip() // numbers have two digits
		}
		if columns = columns & 63; columns < 6 {
			for _, n := range names {
				if got := New(names).Fit(n, columns); columnsOf(got) > columns {
					t.Fatalf("%q is wider than %d", got, columns)
				}
			}
			return
		}
		apart(t, New(names), slices.Clone(names), columns)
		apart(t, new(Set), names, columns)
	})
}

// What a list of a million rows costs: the set once, and a page of it each frame.
func BenchmarkSet(b *testing.B) {
	names := istioClusters(1_000_000)
	b.Run("a million names", func(b *testing.B) {
		for b.Loop() {
			New(names)
		}
	})
	s := New(names)
	b.Run("a page of fifty", func(b *testing.B) {
		at := 0
		for b.Loop() {
			for range 50 {
				s.Fit(names[at%len(names)], 33)
				at++
			}
		}
	})
}
