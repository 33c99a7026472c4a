package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// conversation is two types on one stream, a rejection, and what comes after it.
const conversation = `C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1{eds}]
C> type=CDS V=1 N=a R=[]
C> type=EDS V= N= R=[c1]
S< type=EDS V=1 N=b res=[c1]
C> type=EDS V=1 N=b R=[c1]
S< type=CDS V=2 N=c res=[c1{eds},c2{eds}]
C> type=CDS V=1 N=c R=[] err="no" code=13
S< type=CDS V=3 N=d res=[c1{eds}]
C> type=CDS V=3 N=d R=[]
C> type=EDS V=1 N=b R=[c1,c3]
-- server-end code=14
`

func TestExcerpt(t *testing.T) {
	s := parsed(t, conversation)
	all := slices.Collect(s.Entries())
	words := make(map[session.Seq]string)
	tr := check.NewTracker(nil)
	for i := range all {
		c := tr.Step(&all[i])
		word := all[i].Kind.String()
		if c.Message != nil {
			word = strings.TrimSpace(c.What + " " + c.Type + " " + c.Message.Version)
		}
		words[all[i].Seq] = word
	}
	for chosen, want := range map[string]string{
		// What it rejects, what was accepted before and how, the node, the ends.
		"NACK CDS 1": "connect open SUB CDS header RESP CDS 1 ACK CDS 1 RESP CDS 2 trailer",
		// Its verdict; the other type is of no concern.
		"RESP EDS 1": "connect open SUB CDS header SUB EDS ACK EDS 1 trailer",
		// Names are told from those that were asked for before.
		"SUB EDS 1": "connect open SUB CDS header SUB EDS RESP EDS 1 ACK EDS 1 trailer",
		"ACK CDS 3": "connect open SUB CDS header RESP CDS 1 ACK CDS 1 RESP CDS 2 NACK CDS 1 RESP CDS 3 trailer",
		"trailer":   "connect open SUB CDS header",
		"connect":   "",
	} {
		x := engine.NewExcerpt()
		tr := check.NewTracker(nil)
		found := 0
		for i := range all {
			c := tr.Step(&all[i])
			is := words[all[i].Seq] == chosen
			if is {
				found++
			}
			x.Step(&all[i], &c.Change, is)
		}
		var got []string
		for _, seq := range x.Context() {
			got = append(got, words[seq])
		}
		if strings.Join(got, " ") != want || found != 1 || len(x.Chosen()) != 1 {
			t.Errorf("%s (%d): context is\n%s, want\n%s", chosen, found, strings.Join(got, " "), want)
		}
	}
}

// An Excerpt of any entries that a hostile recording may hold does not fail.
func FuzzExcerpt(f *testing.F) {
	f.Add([]byte{1, 1, 1, 1, 0, 2, 1, 1, 1, 0, 4, 1, 1, 1, 1, 9, 1, 0, 2, 0})
	f.Add([]byte{10, 0, 0, 0, 1, 9, 0, 0, 0, 0, 1, 0, 7, 0, 0, 6, 3, 3, 2, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		x, tr := engine.NewExcerpt(), check.NewTracker(nil)
		var seq session.Seq
		chosen := 0
		for ; len(b) >= 5; b = b[5:] {
			seq++
			e := session.Entry{
				Seq: seq, Kind: session.Kind(b[0] % 14), Conn: session.ConnID(b[1] % 3), Stream: session.StreamID(b[2] % 4), Side: session.Side(b[3] % 4),
				Method: adsMethods[int(b[4]/4)%len(adsMethods)],
			}
			switch e.Kind {
			case session.KindMessage:
				e.Message = &session.Message{Data: session.Chunks{b}, Truncated: b[4]&1 != 0}
			case session.KindGap:
				e.Gap = &session.Gap{Streams: make([]session.StreamID, int(b[3])*8), Cause: session.GapCause(b[4])}
			case session.KindNote:
				e.Note = &session.Note{About: session.Seq(b[3])}
			}
			c := tr.Step(&e)
			is := b[4]&2 != 0
			if is {
				chosen++
			}
			x.Step(&e, &c.Change, is)
		}
		context := x.Context()
		if len(x.Chosen()) != chosen || !slices.IsSorted(context) {
			t.Fatal(x.Chosen(), context)
		}
		for _, n := range context {
			if n == 0 || n > seq || slices.Contains(x.Chosen(), n) {
				t.Fatal(fmt.Sprint("entry ", n), x.Chosen(), context)
			}
		}
	})
}

var adsMethods = []string{
	"/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
	"/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
	"/v3/discovery:clusters", "",
}
