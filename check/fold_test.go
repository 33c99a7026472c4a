package check_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
)

// rejection is a conversation on a stream of its own, in which a client rejects
// some resources.
func rejection(stream int, client, typ, resources, reason string) string {
	return fmt.Sprintf("-- stream %d\nC> type=%s V= N= R=[a,b] node=%s\nS< type=%s V=%d N=n%d res=[%s]\nC> type=%s V= N=n%d R=[a,b] err=%q\n",
		stream, typ, client, typ, stream, stream, resources, typ, stream, reason)
}

// What is the same cause on two clients, and what is not.
func TestFoldTellsCausesApart(t *testing.T) {
	first := rejection(1, "n1", "EDS", "a", "bad a")
	for name, c := range map[string]struct {
		second string
		folded int
	}{
		"the same":               {rejection(2, "n2", "EDS", "a", "bad a"), 1},
		"twice on one client":    {rejection(2, "n1", "EDS", "a", "bad a"), 1},
		"another reason":         {rejection(2, "n2", "EDS", "a", "bad a 2"), 2},
		"another resource":       {rejection(2, "n2", "EDS", "b", "bad b"), 2},
		"another type":           {rejection(2, "n2", "RDS", "a", "bad a"), 2},
		"clients without a name": {rejection(2, `""`, "EDS", "a", "bad a"), 2},
	} {
		found := of(check.Fold(judgeText(t, first+c.second)), "nack-received")
		if len(found) != c.folded {
			t.Errorf("%s: %s", name, words(found))
		}
	}
	// Who it is makes no difference, as long as it is a name of its own.
	for reason, folded := range map[string]int{"bad a of node %s": 1, "bad a of node %s-x": 2} {
		found := judgeText(t, rejection(1, "n1", "EDS", "a", fmt.Sprintf(reason, "n1"))+rejection(2, "n2", "EDS", "a", fmt.Sprintf(reason, "n2")))
		if found = of(check.Fold(found), "nack-received"); len(found) != folded {
			t.Errorf("%s: %s", reason, words(found))
		}
	}
}

// Findings of one cause may be worded differently, but for what a peer said.
func TestFoldComparesNoWords(t *testing.T) {
	route := func(stream int, client, name string) string {
		return fmt.Sprintf("-- stream %d\nC> type=CDS V= N= R=[] node=%s\nS< type=CDS V=%d N=a res=[web]\nC> type=CDS V=%d N=a R=[]\n"+
			"C> type=RDS V= N= R=[%s]\nS< type=RDS V=1 N=b res=[%s{wbe}]\nC> type=RDS V=1 N=b R=[%s]\nt=+16s -- tick\n", stream, client, stream, stream, name, name, name)
	}
	refusal := func(stream int, client, said string) string {
		return fmt.Sprintf("-- stream %d\nC> type=CDS V= N= R=[] node=%s\n-- server-end code=16 msg=%q\n", stream, client, said)
	}
	for text, want := range map[string]struct {
		rule   string
		folded int
	}{
		route(1, "n1", "r1") + route(2, "n2", "r2"):                               {"reference-never-sent", 1},
		refusal(1, "n1", "no token for n1") + refusal(2, "n2", "no token for n2"): {"stream-rejected", 1},
		refusal(1, "n1", "no token") + refusal(2, "n2", "it has expired"):         {"stream-rejected", 2},
	} {
		if found := of(check.Fold(judgeText(t, text)), want.rule); len(found) != want.folded {
			t.Errorf("%s: %d: %s", want.rule, len(found), words(found))
		}
	}
}

// A finding of several clients begins with the first, and counts all.
func TestFoldOfAFleet(t *testing.T) {
	var text strings.Builder
	for i := 1; i <= 3; i++ {
		text.WriteString(rejection(i, fmt.Sprintf("n%d", i), "EDS", "a", "bad a"))
	}
	text.WriteString("S< type=EDS V=9 N=z res=[a]\nC> type=EDS V= N=z R=[a,b] err=\"bad a\"\n")
	each := of(judgeText(t, text.String()), "nack-received")
	folded := check.Fold(each)
	if len(each) != 3 || len(folded) != 1 {
		t.Fatalf("%d findings, %d folded", len(each), len(folded))
	}
	f := folded[0]
	if want := []string{"n1", "n2", "n3"}; !reflect.DeepEqual(f.Clients, want) || f.Client != "n1" || f.MoreClients {
		t.Errorf("clients %v, first %s", f.Clients, f.Client)
	}
	if last := each[2]; f.Count != 4 || f.LastSeq != last.LastSeq || !f.Last.Equal(last.Last) || !reflect.DeepEqual(f.Seqs, each[0].Seqs) {
		t.Errorf("%+v", f)
	}
}

// Clients that are no more than counted leave room for other causes.
func TestFoldIsBounded(t *testing.T) {
	var text strings.Builder
	for i := 1; i <= 2100; i++ {
		text.WriteString(rejection(i, fmt.Sprintf("n%d", i), "EDS", "a", "bad a"))
		text.WriteString("-- server-end code=14\n")
	}
	text.WriteString(rejection(3000, "other", "EDS", "b", "bad b"))
	folded := of(check.Fold(judgeText(t, text.String())), "nack-received")
	if len(folded) != 2 || len(folded[0].Clients) != 2000 || !folded[0].MoreClients {
		t.Fatalf("%s", words(folded))
	}
	if f := folded[1]; f.Client != "other" || f.MoreClients || f.Clients != nil {
		t.Errorf("%+v", f)
	}
}

// A fault of very many clients leaves room for those of others, also where its
// words change from one time to the next.
func TestOneFaultDoesNotCrowdOutOthers(t *testing.T) {
	var text strings.Builder
	for i := 1; i <= 10_500; i++ {
		fmt.Fprintf(&text, "-- stream %d\nC> type=CDS V= N=t%d R=[] node=n%d\nC> type=EDS V= N=t%d R=[a]\n-- client-end\n", i, i, i, i)
	}
	text.WriteString(rejection(20_000, "last", "EDS", "a", "bad a"))
	found := judgeText(t, text.String())
	if len(of(found, "nack-received")) != 1 {
		t.Error("a rejection found no room")
	}
	if folded := of(check.Fold(found), "nonce-unknown"); len(folded) != 1 || !folded[0].MoreClients {
		t.Errorf("made-up nonces are %d findings", len(folded))
	}
}
