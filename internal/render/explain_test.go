package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/session"
)

func factsText(facts []Fact) string {
	var b strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&b, "%s|%s|%s\n", f.Name, f.Text, f.Means)
	}
	return b.String()
}

// TestExplain tells of messages what they mean beside their neighbours.
func TestExplain(t *testing.T) {
	const url = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	message := func(c check.Change, m decode.Message) (*session.Entry, *check.Change) {
		m.TypeURL = url
		c.Message, c.Type = &m, "CDS"
		return &session.Entry{Seq: 9, Kind: session.KindMessage, Message: &session.Message{}}, &c
	}
	answered := &Neighbour{Seq: 8, Version: "88", After: 212 * time.Millisecond}
	for _, tc := range []struct {
		name   string
		change check.Change
		of     decode.Message
		around Surroundings
		want   []string
	}{
		{
			"a rejection",
			check.Change{Change: engine.Change{What: engine.NACK}},
			decode.Message{Kind: decode.SotwRequest, Version: "87", Nonce: "c4", Error: &decode.Error{Code: 13, Message: "bad\n\nworse"}},
			Surroundings{Answered: answered},
			[]string{"version_info|87|still on 87: the client rejected 88", "response_nonce|c4|answers 8 after 212ms", "error_detail|code 13 INTERNAL|\n|bad|\n|worse|"},
		},
		{
			"a rejection of the first",
			check.Change{Change: engine.Change{What: engine.NACK}},
			decode.Message{Kind: decode.SotwRequest, Nonce: "c4", Error: &decode.Error{}},
			Surroundings{Answered: answered},
			[]string{"version_info||it has no version of this type yet: it rejected 88"},
		},
		{
			"of what was not seen",
			check.Change{Change: engine.Change{What: engine.ACK, Uncertain: true}},
			decode.Message{Kind: decode.SotwRequest, Version: "1", Nonce: "c4"},
			Surroundings{},
			[]string{"what|ACK|accepts a response; a guess", "response_nonce|c4|the response that it answers is not in the recording", "version_info|1|accepted"},
		},
		{
			"names",
			check.Change{Change: engine.Change{What: engine.SUB, Added: []string{"b"}, Removed: []string{"c"}}},
			decode.Message{Kind: decode.SotwRequest, Names: []string{"a", "b"}},
			Surroundings{},
			[]string{"resource_names|2|1 new, 1 no longer\n|a|\n|b|new\n|c|no longer asked for", "response_nonce||answers no response"},
		},
		{
			"delta",
			check.Change{Change: engine.Change{What: engine.SUB}},
			decode.Message{Kind: decode.DeltaRequest, Subscribe: []string{"a"}, Unsubscribe: []string{"b"}, InitialVersions: []decode.NameVersion{{Name: "c", Version: "4"}}},
			Surroundings{},
			[]string{"resource_names_subscribe|1|", "|a|", "resource_names_unsubscribe|1|", "initial_resource_versions|1|what it has from a stream before\n|c|4"},
		},
		{
			"accepted",
			check.Change{Change: engine.Change{What: engine.RESP}},
			decode.Message{Kind: decode.SotwResponse, Version: "5"},
			Surroundings{Answer: &Neighbour{Seq: 12, After: time.Second}, Held: &Neighbour{Seq: 3, Version: "5"}},
			[]string{"version_info|5|accepted by 12 after 1s; the version of 3"},
		},
		{
			"rejected",
			check.Change{Change: engine.Change{What: engine.RESP}},
			decode.Message{Kind: decode.SotwResponse, Version: "5"},
			Surroundings{Answer: &Neighbour{Seq: 12, Rejected: true, Reason: "no\n good"}, Held: &Neighbour{Seq: 3, Version: "4"}},
			[]string{"version_info|5|rejected by 12; still on 4\n|no good|"},
		},
		{
			"the first is rejected",
			check.Change{Change: engine.Change{What: engine.RESP}},
			decode.Message{Kind: decode.SotwResponse, Version: "5"},
			Surroundings{Answer: &Neighbour{Seq: 12, Rejected: true}, None: true},
			[]string{"the client had accepted none before"},
		},
		{
			"what was accepted before is not known",
			check.Change{Change: engine.Change{What: engine.RESP}},
			decode.Message{Kind: decode.SotwResponse, Version: "5"},
			Surroundings{Answer: &Neighbour{Seq: 12, Rejected: true}},
			[]string{"rejected by 12; what it had accepted before is not known"},
		},
		{
			"not answered",
			check.Change{Change: engine.Change{What: engine.DELTA}},
			decode.Message{Kind: decode.DeltaResponse, Version: "5", ResourceErrors: []decode.ResourceError{{Name: "x", Error: decode.Error{Code: 5}}}},
			Surroundings{},
			[]string{"system_version_info|5|no answer to it was seen", "resource_errors|x|the server cannot give it", "|code 5 NOT_FOUND|"},
		},
	} {
		e, c := message(tc.change, tc.of)
		got := factsText(Explain(e, c, tc.around))
		for _, want := range tc.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: there is no %q in\n%s", tc.name, want, got)
			}
		}
	}
}

func TestExplainEvents(t *testing.T) {
	for want, e := range map[string]session.Entry{
		"entries|240 (5 to 244)|the disk was slower": {Kind: session.KindGap, Gap: &session.Gap{First: 5, Last: 244, Entries: 240, Streams: []session.StreamID{3}}},
		"streams|#3|":                         {Kind: session.KindGap, Gap: &session.Gap{Streams: []session.StreamID{3}}},
		"bytes|90 B|that the capture has not": {Kind: session.KindGap, Gap: &session.Gap{Bytes: 90}},
		"left out on purpose":                 {Kind: session.KindGap, Gap: &session.Gap{Cause: session.Cut}},
		"note|remark|about 7\ntext|look|":     {Kind: session.KindNote, Note: &session.Note{Code: session.NoteRemark, Text: "look", About: 7}},
		"goaway|ENHANCE_YOUR_CALM|":           {Kind: session.KindGoAway, GoAway: &session.GoAway{Code: 11, Debug: "too_many_pings"}},
		"grpc-status|14|UNAVAILABLE":          {Kind: session.KindTrailer, Status: &session.Status{Code: 14, Message: "reset"}},
		"reset|CANCEL|":                       {Kind: session.KindCancel, Side: session.Client, Status: &session.Status{Code: -1, Reset: 8, WasReset: true}},
		"broken off by the client":            {Kind: session.KindCancel, Side: session.Client},
		"upstream|b:2|":                       {Kind: session.KindConnect, Peer: &session.Peer{Client: "a:1", Upstream: "b:2"}},
		"the server was not reached":          {Kind: session.KindConnect, Peer: &session.Peer{Client: "a:1", Upstream: "b:2"}},
		"headers|:a: 1|\n|x: y|\n|x: z|\n|gone: 3|\nrewritten|:a: 2|what the proxy sends the server\n|new: 4|what the proxy sends the server\n|gone: 3|is not sent to the server": {
			Kind:    session.KindOpen,
			Headers: []session.Field{{Name: ":a", Value: "1"}, {Name: "x", Value: "y"}, {Name: "x", Value: "z"}, {Name: "gone", Value: "3"}},
			Sent:    []session.Field{{Name: ":a", Value: "2"}, {Name: "x", Value: "y"}, {Name: "x", Value: "z"}, {Name: "new", Value: "4"}},
		},
		"headers|:status: 200|\n|x: y|": {Kind: session.KindHeader, Headers: []session.Field{{Name: ":status", Value: "200"}, {Name: "x", Value: "y"}}},
	} {
		if got := factsText(Explain(&e, &check.Change{}, Surroundings{})); !strings.Contains(got, want) {
			t.Errorf("%v: there is no %q in\n%s", e.Kind, want, got)
		}
	}
}

// Only a status that is an error looks bad: most streams end with 0, in order.
func TestLookOfStatus(t *testing.T) {
	for code, want := range map[int32]FactLook{0: FactPlain, 1: FactBad, 14: FactBad} {
		e := session.Entry{Kind: session.KindTrailer, Status: &session.Status{Code: code}}
		all := Explain(&e, &check.Change{}, Surroundings{})
		if i := slices.IndexFunc(all, func(f Fact) bool { return f.Name == "grpc-status" }); i < 0 || all[i].Look != want {
			t.Errorf("grpc-status %d has not the look %d in %+v", code, want, all)
		}
	}
}

// A note of a rule is no fault: it does not look like one.
func TestLookOfFinding(t *testing.T) {
	for severity, want := range map[check.Severity]FactLook{check.Info: FactMuted, check.Warning: FactBad, check.Error: FactBad} {
		f := check.Finding{Rule: check.Rules()[0], Severity: severity, Seqs: []session.Seq{3}, LastSeq: 3, Count: 1}
		if got := ExplainFinding(&f)[0]; got.Look != want || got.Name != severity.String() {
			t.Errorf("%s has the look %d, not %d", severity, got.Look, want)
		}
	}
}
