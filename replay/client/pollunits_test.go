package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/replay"
)

// pollerOf is one that plays these turns and has not begun.
func pollerOf(turns ...replay.Turn) *poller {
	c := &client{ledger: replay.NewLedger(nil, nil)}
	st := &replay.Stream{Opened: 2}
	return &poller{
		Polling: &replay.Polling{Stream: st, Turns: turns}, role: &role{Stream: st, client: c}, client: c,
		topic: &replay.Topic{Type: "CDS"}, told: map[string]bool{},
	}
}

// The status of a reply is held against the recorded one, where that said something.
func TestStatusOfReplies(t *testing.T) {
	for _, c := range []struct {
		recorded, live int
		want           string
		matched        int
	}{
		{200, 200, "", 0},
		{200, 304, "", 0},
		{304, 200, "", 0},
		{200, 404, "expected status 200, got status 404", 0},
		{304, 503, "expected status 304, got status 503", 0},
		{200, 0, "expected status 200, got no answer", 0},
		{404, 404, "", 1},
		{404, 200, "expected status 404, got status 200", 0},
		{500, 404, "expected status 500, got status 404", 0},
		{404, 0, "expected status 404, got no answer", 0},
		{503, 404, "", 0},
		{503, 200, "", 0},
		{503, 503, "", 0},
		{0, 200, "", 0},
		{0, 0, "", 0},
	} {
		p := pollerOf(replay.Turn{Poll: 3, Reply: replay.Reply{Status: c.recorded}})
		for range 2 {
			p.compareStatus(&p.Turns[0], c.live)
		}
		var got []string
		for _, d := range p.client.ledger.Report(nil).Differences {
			got = append(got, "expected "+d.Expected+", got "+d.Got)
		}
		if text := strings.Join(got, "\n"); text != c.want || p.row.Matched != 2*c.matched {
			t.Errorf("%d for %d: %q, %d matched; want %q once", c.live, c.recorded, text, p.row.Matched, c.want)
		}
	}
}

// A server that was never reached ends the play; one that only did not answer does not.
func TestUnreached(t *testing.T) {
	over, stop := context.WithCancel(t.Context())
	stop()
	for _, c := range []struct {
		name        string
		ctx, within context.Context
		begun       bool
		goes        bool
		broken      string
	}{
		{"the play is over", over, over, true, false, ""},
		{"no answer in time", t.Context(), over, false, true, ""},
		{"once it has answered", t.Context(), t.Context(), true, true, ""},
		{"never", t.Context(), t.Context(), false, false, "the server could not be asked: refused"},
	} {
		p := pollerOf()
		p.row.Begun = c.begun
		goes := p.unreached(c.ctx, c.within, errors.New("refused"))
		failed := p.client.failed.Load()
		if goes != c.goes || p.broken != c.broken || (failed != nil) != (c.broken != "") {
			t.Errorf("%s: it goes on: %v, %q, %v", c.name, goes, p.broken, failed)
		}
	}
}

// What is no content is told once, and what the client has does not change by it.
func TestReceiveNoContent(t *testing.T) {
	p := pollerOf()
	p.live = "1"
	for range 2 {
		p.receive("application/json", []byte("{"))
	}
	d := p.client.ledger.Report(nil).Differences
	if len(d) != 1 || d[0].Expected != "a response of CDS" || d[0].Got != "something else" || d[0].Seq != 2 || d[0].Detail == "" || p.live != "1" {
		t.Errorf("%+v, %q", d, p.live)
	}
}

// What was never asked is one difference; the rows count all turns.
func TestNeverReached(t *testing.T) {
	p := pollerOf(replay.Turn{Reply: replay.Reply{Status: 404}}, replay.Turn{Reply: replay.Reply{Status: 304}}, replay.Turn{Reply: replay.Reply{Status: http.StatusServiceUnavailable}})
	p.broken = "refused"
	p.compare()
	var got []string
	for _, d := range p.client.ledger.Report(nil).Differences {
		got = append(got, d.Expected+", "+d.Got+", "+d.Detail)
	}
	if !slices.Equal(got, []string{"an answer to polls for CDS, none, refused"}) || p.row.ToSend != 3 || p.row.Expected != 1 {
		t.Errorf("%q, %+v", got, p.row)
	}
}
