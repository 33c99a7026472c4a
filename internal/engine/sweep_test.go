package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What a client has only for a wildcard or a collection it drops when it gives that
// up. What it names, or has for another collection, it keeps.
func TestGivingUpAll(t *testing.T) {
	const (
		shop, bank = "xdstp://a/envoy.config.cluster.v3.Cluster/shop/", "xdstp://a/envoy.config.cluster.v3.Cluster/bank/"

		delta = "D> type=CDS N= sub=[*] node=n1\nd< type=CDS N=a res=[c1@1,c2@1,c3@1]\nD> type=CDS N=a\n"
		named = "D> type=CDS N= sub=[] node=n1\nd< type=CDS N=a res=[c1@1,c2@1,c3@1]\nD> type=CDS N=a\n"
		sotw  = "C> type=CDS V= N= R=[*] node=n1\nS< type=CDS V=1 N=a res=[c1,c2,c3]\nC> type=CDS V=1 N=a R=[*]\n"
		globs = "D> type=CDS N= sub=[" + shop + "*," + bank + "*,c1] node=n1\nd< type=CDS N=a res=[" + shop + "x@1," + bank + "y@1,c1@1,odd@1]\nD> type=CDS N=a\n"
	)
	for name, c := range map[string]struct{ text, want string }{
		"names remain":              {delta + "D> type=CDS N= sub=[c1] unsub=[*]", "c1 of 1"},
		"nothing remains":           {delta + "D> type=CDS N= unsub=[*]", " of 0"},
		"a collection remains":      {delta + "d< type=CDS N=b res=[" + shop + "x@1]\nD> type=CDS N=b sub=[" + shop + "*] unsub=[*]", shop + "x of 1"},
		"began without names":       {named + "D> type=CDS N= sub=[c2] unsub=[*]", "c2 of 1"},
		"named by an alias":         {delta + "d< type=CDS N=b res=[c2@2] alias=[other]\nD> type=CDS N=b sub=[other] unsub=[*]", "c2 of 1"},
		"the wildcard remains":      {delta + "D> type=CDS N= sub=[c1]", "c1 c2 c3 of -1"},
		"a rejection goes with it":  {delta + "d< type=CDS N=b res=[c2@2]\nD> type=CDS N=b err=\"bad\"\nD> type=CDS N= sub=[c1] unsub=[*]", "c1 of 1"},
		"before the answer":         {delta + "d< type=CDS N=b res=[c1@2,c2@2]\nD> type=CDS N= sub=[c1] unsub=[*]\nD> type=CDS N=b", "c1 of 1"},
		"state of the world, names": {sotw + "C> type=CDS V=1 N=a R=[c3]", "c3 of 1"},
		"state of the world, none":  {sotw + "C> type=CDS V=1 N=a R=[]", " of 0"},
		"began so, then names":      {strings.ReplaceAll(sotw, "[*]", "[]") + "C> type=CDS V=1 N=a R=[c3]", "c3 of 1"},
		"a collection is given up":  {globs + "D> type=CDS N= unsub=[" + shop + "*]", "c1 odd " + bank + "y of 2"},
		"a name is given up":        {globs + "D> type=CDS N= unsub=[c1]", "odd " + bank + "y " + shop + "x of 2"},
	} {
		k := played(t, c.text+"\n")
		s, ts := k.Streams[1].Sub("CDS"), k.Status()[0].Types[0]
		if got := fmt.Sprintf("%s of %d", strings.Join(s.Have.Names(), " "), ts.Wanted); got != c.want || ts.Have != s.Have.Len() {
			t.Errorf("%s: it has %s, want %s", name, got, c.want)
		}
		for _, n := range []string{"c1", "c2", "c3"} {
			held := s.Have.Get(n) != nil
			if _, was := s.Dropped[n]; !held && !was && !strings.HasPrefix(c.text, "D> type=CDS N= sub=[xdstp") {
				t.Errorf("%s: %s is not known to be given up", name, n)
			}
			if _, open := s.open.byName[n]; open && !held {
				t.Errorf("%s: %s may be accepted still", name, n)
			}
		}
		if slices.ContainsFunc(k.Tree("n1").Dangling, func(n *Node) bool { return s.Have.Get(n.Name) == nil }) {
			t.Errorf("%s: the tree has more than the client", name)
		}
	}
}

// All that a client gives up is taken from it, also where not every name is remembered.
func TestGivingUpMore(t *testing.T) {
	const n = MaxDropped + 2
	s := &Subscription{Stream: &Stream{}, Names: names{own: map[string]bool{"c7": true}, size: 1}, Wild: NotWild}
	for i := range n {
		s.Have.put(&Resource{Name: fmt.Sprintf("c%d", i)})
	}
	s.Kept, s.Seeded = s.Have.clone(), true
	r := &Request{}
	r.Before.Wild = ExplicitWild
	New(Options{}).drop(s, r)
	if s.Have.Len() != 1 || s.Have.Get("c7") == nil || len(s.Dropped) != MaxDropped {
		t.Errorf("%d are left, and %d remembered", s.Have.Len(), len(s.Dropped))
	}
}
