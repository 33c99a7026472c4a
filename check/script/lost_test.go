package script

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// rewritten is what is written of a script of which something else was recorded: the
// last lines of the text, one for each wanted, and what is lost.
func rewritten(t *testing.T, text string, lines int, change func(*session.Entry)) (string, []string) {
	t.Helper()
	var out bytes.Buffer
	lost, err := Write(&out, func(yield func(session.Entry) bool) {
		for e := range parseText(t, strings.TrimSpace(text)+"\n").Entries() {
			if change(&e); !yield(e) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSpace(out.String()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n"), lost
}

// responseOf is a response with one payload.
func responseOf(typeURL string, payload []byte) []byte {
	text := func(b []byte, field protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
	}
	b := text(nil, 1, []byte("1"))
	b = text(b, 2, text(text(nil, 1, []byte(typeURL)), 2, payload))
	b = text(b, 4, []byte(typeURL))
	return text(b, 5, []byte("a"))
}

// What a script has no words for is counted, and what can be said of the rest is said.
func TestLost(t *testing.T) {
	const asked = "C> type=CDS V= N= R=[] node=n1\n"
	const sent = asked + "S< type=CDS V=1 N=a res=[c1]"
	const poll = "P> path=/v3/discovery:clusters type=CDS V= R=[] node=n1\np< 200 type=CDS V=1 N= res=[c1]"
	listener := func(source, route string) []byte {
		r := synth.Resource{TypeURL: xds.TypeURL("LDS"), Name: "l1", Refs: synth.Refs{Routes: []string{route}, Source: source}}
		return r.Body()
	}
	message := func(side session.Side, change func(*session.Message)) func(*session.Entry) {
		return func(e *session.Entry) {
			if e.Kind == session.KindMessage && e.Side == side {
				m := *e.Message
				e.Message = &m
				change(e.Message)
			}
		}
	}
	says := func(side session.Side, data []byte) func(*session.Entry) {
		return message(side, func(m *session.Message) { m.Data, m.Size = session.Chunks{data}, int64(len(data)) })
	}
	status := func(code int) func(*session.Entry) {
		return func(e *session.Entry) {
			if e.Kind == session.KindHeader && e.Side == session.Server {
				e.Headers = []session.Field{{Name: ":status", Value: fmt.Sprint(code)}, {Name: "content-type", Value: jsonType}}
			}
		}
	}
	oneBody := "one body that is no discovery message is left out"
	oneReport := "one load report or client status says more"
	const report = "L> node=n1 stats=[c1]\nl< clusters=[c1] interval=10s"
	failed := &synth.HeldResponse{Items: []synth.HeldItem{{Resource: synth.Resource{TypeURL: xds.TypeURL("CDS"), Name: "c1", Content: "no room"}, State: decode.HeldFailed}}}
	both := (&synth.StatusResponse{}).Marshal()
	both = append(both, both...)
	for name, c := range map[string]struct {
		text   string
		change func(*session.Entry)
		want   string
		lost   []string
	}{
		"nothing": {sent, func(*session.Entry) {}, "S< type=CDS V=1 N=a res=[c1]", nil},
		"problems": {
			sent, func(e *session.Entry) {
				if e.Kind == session.KindMessage {
					e.Problems = []string{"no room"}
				}
			}, "S< type=CDS V=1 N=a res=[c1]", []string{"2 entries could not be recorded as they were"},
		},
		"a time before": {
			asked + "t=+5s S< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]", func(e *session.Entry) {
				if e.Kind == session.KindMessage && e.Side == session.Client && !e.Time.Equal(start) {
					e.Time = e.Time.Add(-time.Second)
				}
			}, "C> type=CDS V=1 N=a R=[]", []string{"one entry is older than the one before it, and is written as if it were not"},
		},
		"a gap of some": {
			sent + "\n-- tick", func(e *session.Entry) {
				if e.Kind == session.KindTime {
					e.Kind, e.Gap = session.KindGap, &session.Gap{Entries: 3}
				}
			}, "S< type=CDS V=1 N=a res=[c1]", []string{"3 entries were missing in the recording, so that messages may be missing here"},
		},
		"a gap of nobody knows what": {
			sent + "\n-- tick", func(e *session.Entry) {
				if e.Kind == session.KindTime {
					e.Kind = session.KindGap
				}
			}, "S< type=CDS V=1 N=a res=[c1]", nil,
		},
		"the end of a message": {
			sent, message(session.Server, func(m *session.Message) { m.Truncated = true }),
			"S< type=CDS V=1 N=a res=[c1]",
			[]string{"one message was not recorded whole"},
		},
		"a compressed message": {
			sent, message(session.Server, func(m *session.Message) { m.Compressed = true }),
			"C> type=CDS V= N= R=[] node=n1",
			[]string{"one message was not recorded whole"},
		},
		"a stream that is not known": {
			"-- stream 1\n" + sent, func(e *session.Entry) {
				if e.Kind == session.KindMessage {
					e.Stream = 0
				}
			}, "-- stream 1\n-- server-headers", []string{"2 messages are of a service or in a form that a script does not know"},
		},
		"references to two sources": {
			strings.ReplaceAll(sent, "CDS", "LDS"), says(session.Server, responseOf(xds.TypeURL("LDS"), append(listener("ads", "r1"), listener("self", "r2")...))),
			"S< type=LDS V=1 N=a res=[l1{rds=r1}]",
			[]string{"one reference of a resource is left out"},
		},
		"a fault of a secret": {
			// A validation_context with match_subject_alt_names, which is deprecated.
			strings.ReplaceAll(sent, "CDS", "SDS"), says(session.Server, responseOf(xds.TypeURL("SDS"), []byte("\x0a\x02s1\x22\x05\x4a\x03\x0a\x01x"))),
			"S< type=SDS V=1 N=a res=[s1]",
			[]string{"one fault in a resource is left out"},
		},
		"a scope of another authority": {
			// Its key is k1.
			strings.ReplaceAll(sent, "CDS", "SRDS"), says(session.Server, responseOf("example.com/envoy.config.route.v3.ScopedRouteConfiguration", []byte("\x0a\x02s1\x1a\x06\x0a\x04\x0a\x02k1"))),
			"S< type=example.com/envoy.config.route.v3.ScopedRouteConfiguration V=1 N=a res=[s1]",
			[]string{"one fault in a resource is left out"},
		},
		"a fault of a cluster": {
			sent, says(session.Server, responseOf(xds.TypeURL("CDS"), (&synth.Resource{TypeURL: xds.TypeURL("CDS"), Name: "c1", Dated: true}).Body())),
			"S< type=CDS V=1 N=a res=[c1#deprecated]", nil,
		},
		"a body":               {poll, says(session.Server, []byte("no json")), `p< 200 body="no json"`, nil},
		"a body that is long":  {poll, says(session.Server, bytes.Repeat([]byte("a"), 64<<10)), `p< 200 body="` + strings.Repeat("a", 64<<10) + `"`, nil},
		"a body, too long":     {poll, says(session.Server, bytes.Repeat([]byte("a"), 64<<10+1)), `p< 200 body="?"`, []string{oneBody}},
		"a body without words": {poll, says(session.Server, []byte("\xff")), `p< 200 body="?"`, []string{oneBody}},
		"the least status":     {poll, status(100), `p< 100 body=`, nil},
		"less":                 {poll, status(99), `p< 500 body=`, []string{oneBody}},
		"the last status":      {poll, status(599), `p< 599 body=`, nil},
		"more":                 {poll, status(600), `p< 500 body=`, []string{oneBody}},
		"a report":             {report, says(session.Server, (&synth.LoadResponse{Clusters: []string{"c1"}, Interval: time.Second}).Marshal()), "l< clusters=[c1] interval=1s", nil},
		"a report that says more": {
			report, says(session.Server, append((&synth.LoadResponse{Clusters: []string{"c1"}}).Marshal(), 0x78, 1)), "l< clusters=[c1]", []string{oneReport},
		},
		"a status": {"-- csds node=n1 CDS/c1=ACKED@1", func(*session.Entry) {}, "-- csds node=n1 CDS/c1=ACKED@1", nil},
		"a status of nobody": {
			asked + "-- csds node=n1 CDS/c1=ACKED@1", func(e *session.Entry) {
				if e.Stream != 1 {
					says(session.Server, nil)(e)
				}
			}, "-- stream 2 method=StreamClientStatus", []string{oneReport},
		},
		"a status of two": {"-- csds node=n1 CDS/c1=ACKED@1", says(session.Server, both), "-- csds node=\"\"\n-- csds node=\"\"", []string{oneReport}},
		"a status that says why": {
			"-- csds node=n1 CDS/c1=ACKED@1", says(session.Server, failed.Marshal()), "-- csds node=\"\" CDS/c1=NACKED", []string{oneReport},
		},
		"a status, asked for twice": {
			"-- csds node=n1 CDS/c1=ACKED@1\n-- csds node=n1 CDS/c1=ACKED@1", func(e *session.Entry) {
				if e.Kind == session.KindMessage && e.Side == session.Server && e.Seq < 6 {
					e.Side, e.Message = session.Client, &session.Message{}
				}
			}, "-- csds node=n1 CDS/c1=ACKED@1", []string{"2 load reports or client statuses say more"},
		},
		"a status, not asked for": {
			"-- csds node=n1 CDS/c1=ACKED@1", func(e *session.Entry) {
				if e.Kind == session.KindMessage && e.Side == session.Client {
					e.Kind = session.KindTime
				}
			}, "-- csds node=n1 CDS/c1=ACKED@1", []string{oneReport},
		},
		"what is held, in all": {
			`-- held node=n1 CDS/error=[c1@2#"no room",c2#x] CDS/gone=[c3@1,c4]`, func(*session.Entry) {},
			`-- held node=n1 source=envoy-admin at=127.0.0.1:9901 CDS/error=[c1@2#"no room",c2#"x"] CDS/gone=[c3@1,c4]`, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, lost := rewritten(t, c.text, 1+strings.Count(c.want, "\n"), c.change)
			if strings.HasSuffix(c.want, "body=") {
				got, _, _ = strings.Cut(got, `"`)
			}
			if got != c.want {
				t.Errorf("written is\n%.200s\nwant\n%.200s", got, c.want)
			}
			if !slices.Equal(lost, c.lost) {
				t.Errorf("lost: %q, want %q", lost, c.lost)
			}
		})
	}
}

// Blanks in a list belong to no element of it.
func TestBlanksInLists(t *testing.T) {
	const line = "C> type=CDS V= N= R=[%s] node=n1"
	text, _ := written1(t, parseText(t, fmt.Sprintf(line, " a ,b\t,\"c d\" \t")))
	if want := fmt.Sprintf(line, `a,b,"c d"`); !strings.Contains(text, want) {
		t.Errorf("%s\nwant %s", text, want)
	}
}
