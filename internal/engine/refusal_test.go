package engine

import (
	"fmt"
	"strings"
	"testing"
)

func TestMentions(t *testing.T) {
	for text, is := range map[string]bool{
		"no c1":                          true,
		"c1":                             true,
		"cluster(c1): bad":               true,
		"outbound|c1 is bad":             false,
		"c12":                            false,
		"xc1":                            false,
		"c1-a and c1":                    true,
		"":                               false,
		"éc1":                            false,
		"Àc1":                            false, // its last byte is 0x80
		strings.Repeat("c12 ", 7) + "c1": true,
		strings.Repeat("c12 ", 8) + "c1": false, // it gives up
	} {
		if Mentions(text, "c1") != is {
			t.Errorf("%q: %v", text, !is)
		}
	}
	if Mentions("anything", "") {
		t.Error("a name without letters is mentioned")
	}
}

// A rejection stands until something else is sent of what was rejected, whatever
// becomes of other resources: status says so, and why.
func TestRejectionStands(t *testing.T) {
	const (
		first = `
D> type=EDS N= sub=[e1,e2] node=n1
d< type=EDS N=a res=[e1@1,e2@1]
D> type=EDS N=a
`
		rejected = first + `
d< type=EDS N=b res=[e1@2]
D> type=EDS N=b err="no e1" code=13
`
		other = rejected + `
d< type=EDS N=c res=[e2@2]
`
		accepted = other + `
D> type=EDS N=c
`
		both = first + `
d< type=EDS N=b res=[e1@2,e2@2]
`
		sotw = `
C> type=EDS V= N= R=[e1,e2] node=n1
S< type=EDS V=1 N=a res=[e1,e2]
C> type=EDS V=1 N=a R=[e1,e2]
S< type=EDS V=2 N=b res=[e1#bad]
C> type=EDS V=1 N=b R=[e1,e2] err="no e1" code=13
S< type=EDS V=3 N=c res=[e2#2]
C> type=EDS V=3 N=c R=[e1,e2]
`
	)
	for name, c := range map[string]struct{ text, want string }{
		"another sent":                 {other, "NACKED by 8: no e1"},
		"another accepted":             {accepted, "NACKED by 8: no e1"},
		"accepted out of order":        {first + "d< type=EDS N=b res=[e1@2]\nd< type=EDS N=c res=[e2@2]\nD> type=EDS N=c\nD> type=EDS N=b err=\"no e1\"", "NACKED by 10: no e1"},
		"mended, not answered":         {accepted + "d< type=EDS N=d res=[e1@3]", "PENDING"},
		"mended":                       {accepted + "d< type=EDS N=d res=[e1@3]\nD> type=EDS N=d", "SYNCED"},
		"taken back":                   {accepted + "d< type=EDS N=d rm=[e1]\nD> type=EDS N=d", "SYNCED"},
		"given up":                     {accepted + "D> type=EDS N= unsub=[e1]", "SYNCED"},
		"the same again":               {accepted + "d< type=EDS N=d res=[e1@2]", "NACKED by 8: no e1"},
		"the same again, then another": {accepted + "d< type=EDS N=d res=[e1@2]\nd< type=EDS N=e res=[e2@3]\nD> type=EDS N=e", "NACKED by 8: no e1"},
		"the same again, accepted":     {accepted + "d< type=EDS N=d res=[e1@2]\nD> type=EDS N=d", "SYNCED"},
		"both rejected":                {other + "D> type=EDS N=c err=\"no e2\"", "NACKED by 10: no e2"},
		"the newer one mended":         {other + "D> type=EDS N=c err=\"no e2\"\nd< type=EDS N=d res=[e2@3]\nD> type=EDS N=d", "NACKED by 8: no e1"},
		"the older one mended":         {other + "D> type=EDS N=c err=\"no e2\"\nd< type=EDS N=d res=[e1@3]\nD> type=EDS N=d", "NACKED by 10: no e2"},
		"both mended":                  {other + "D> type=EDS N=c err=\"no e2\"\nd< type=EDS N=d res=[e1@3,e2@3]\nD> type=EDS N=d", "SYNCED"},
		"older rejected after newer":   {first + "d< type=EDS N=b res=[e1@2]\nd< type=EDS N=c res=[e2@2]\nD> type=EDS N=c err=\"no e2\"\nD> type=EDS N=b err=\"no e1\"\nd< type=EDS N=d res=[e2@3]\nD> type=EDS N=d", "NACKED by 10: no e1"},
		"who is to blame mended":       {both + "D> type=EDS N=b err=\"no e1\"\nd< type=EDS N=c res=[e1@3]\nD> type=EDS N=c", "SYNCED"},
		"who is to blame not mended":   {both + "D> type=EDS N=b err=\"no e1\"\nd< type=EDS N=c res=[e2@3]\nD> type=EDS N=c", "NACKED by 8: no e1"},
		"nobody is named":              {both + "D> type=EDS N=b err=\"no\"\nd< type=EDS N=c res=[e1@3]\nD> type=EDS N=c", "NACKED by 8: no"},
		"nobody is named, both mended": {both + "D> type=EDS N=b err=\"no\"\nd< type=EDS N=c res=[e1@3]\nD> type=EDS N=c\nd< type=EDS N=d res=[e2@3]\nD> type=EDS N=d", "SYNCED"},
		"reconnected":                  {accepted + "-- server-end code=14\n-- stream 2\nD> type=EDS N= sub=[e1,e2] node=n1 init={e1:1,e2:2}", "NACKED by 8: no e1"},
		"reconnected, sent anew":       {accepted + "-- server-end code=14\n-- stream 2\nD> type=EDS N= sub=[e1,e2] node=n1 init={e1:1,e2:2}\nd< type=EDS N=1 res=[e1@3]\nD> type=EDS N=1", "SYNCED"},
		"nobody asks for it":           {first + "D> type=EDS N= unsub=[e1]\nd< type=EDS N=b res=[e1@2]\nD> type=EDS N=b err=\"no e1\"\nd< type=EDS N=c res=[e2@2]\nD> type=EDS N=c", "SYNCED"},
		"state of the world":           {sotw, "NACKED by 8: no e1"},
		"state of the world, mended":   {sotw + "S< type=EDS V=4 N=d res=[e1#3]\nC> type=EDS V=4 N=d R=[e1,e2]", "SYNCED"},
		"state of the world, all":      {strings.ReplaceAll(sotw, "EDS", "CDS"), "SYNCED"},
	} {
		k := played(t, c.text)
		s := k.Status()[0].Types[0]
		got := s.State.String()
		if s.State == Nacked {
			got = fmt.Sprintf("%s by %d: %s", got, s.Seq, s.Nack)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// However many rejections last, so many are remembered, and the oldest is forgotten.
func TestRejectionsAreBounded(t *testing.T) {
	const n = maxRefusals + 3
	names := func(version string, i int) string { return fmt.Sprintf("e%d@%s", i, version) }
	text := "D> type=EDS N= sub=[*] node=n1\n"
	for i := range n {
		text += fmt.Sprintf("d< type=EDS N=a%d res=[%s]\nD> type=EDS N=a%[1]d err=\"no\"\n", i, names("1", i))
	}
	for i := n - 1; i > 1; i-- {
		k := played(t, text)
		if s := k.Streams[1].Sub("EDS"); len(s.refusals) > maxRefusals {
			t.Fatalf("%d are remembered", len(s.refusals))
		}
		if state := k.Status()[0].Types[0].State; state != Nacked {
			t.Fatalf("before e%d is mended it is %s", i, state)
		}
		text += fmt.Sprintf("d< type=EDS N=b%d res=[%s]\nD> type=EDS N=b%[1]d\n", i, names("2", i))
	}
	if k := played(t, text); k.Status()[0].Types[0].State != Synced {
		t.Error("more are remembered than there is room for")
	}
}
