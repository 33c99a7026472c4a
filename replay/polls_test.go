package replay

import (
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

func TestClaims(t *testing.T) {
	for _, c := range []struct {
		version, newest string
		sent            bool
		want            Claim
	}{
		{"", "", false, HasNothing},
		{"", engine.Short("1"), true, HasNothing},
		{"1", engine.Short("1"), true, HasNewest},
		{"1", engine.Short("1"), false, HasOther},
		{"2", engine.Short("1"), true, HasOther},
	} {
		if got := ClaimOf(c.version, c.newest, c.sent); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// Which replies say something: a content, or an error that is more than that the server was away.
func TestReplies(t *testing.T) {
	for status, told := range map[int]bool{0: false, 200: false, 304: false, 399: false, 400: true, 404: true, 408: false, 429: false, 500: true, 502: false, 503: false, 504: false, 505: true} {
		if r := (&Reply{Status: status, Body: 3}); r.Told() != told || r.Content() != (status == 200) {
			t.Errorf("%d: told %v, content %v", status, r.Told(), r.Content())
		}
	}
	if (&Reply{Status: 200}).Content() {
		t.Error("without a body it is a content")
	}
	if a, b := (&Turn{At: 3, Reply: Reply{At: 10}}).Held(), (&Turn{At: 3}).Held(); a != 7 || b != 0 {
		t.Errorf("held for %d and %d", a, b)
	}
}

// A poll judges the content before it, unless it may be that of another subscription.
func TestJudges(t *testing.T) {
	for _, c := range []struct {
		name    string
		polling Polling
		want    bool
	}{
		{"after news", Polling{Turns: []Turn{{Reply: Reply{News: true}}, {Says: HasOther}}}, true},
		{"after nothing new", Polling{Turns: []Turn{{}, {Says: HasNewest}}}, false},
		{"with no version, of endpoints", Polling{Turns: []Turn{{Reply: Reply{News: true}}, {}}}, false},
		{"with no version, of clusters", Polling{Whole: true, Turns: []Turn{{Reply: Reply{News: true}}, {}}}, true},
		{"of which a part is missing", Polling{Turns: []Turn{{Reply: Reply{News: true}}, {Says: HasNewest}}}, false},
	} {
		c.polling.Stream = &Stream{Partial: c.name == "of which a part is missing"}
		if got := c.polling.Judges(1); got != c.want || c.polling.Judges(0) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestPollingOf(t *testing.T) {
	polling := func(client, path string, names ...string) *Polling {
		return &Polling{Stream: &Stream{Client: client, Method: xds.Method{Path: path}}, Names: names}
	}
	all := []*Polling{polling("n1", "/eds", "a", "b"), polling("n1", "/eds", "b"), polling("n1", "/cds"), polling("n2", "/eds", "a")}
	for _, c := range []struct {
		client, path string
		names        []string
		want         int // -1: none
	}{
		{"n1", "/eds", []string{"b", "a"}, 0},
		{"n1", "/eds", []string{"b"}, 1},
		{"n1", "/eds", []string{"c", "b"}, 0},
		{"n1", "/eds", []string{"c"}, -1},
		{"n1", "/eds", nil, -1},
		{"n1", "/cds", nil, 2},
		{"n1", "/cds", []string{"a"}, -1},
		{"n2", "/eds", []string{"a"}, 3},
		{"n2", "/cds", nil, -1},
		{"n3", "/eds", []string{"a"}, -1},
	} {
		got, is := PollingOf(all, c.client, c.path, c.names)
		if at := slices.Index(all, got); at != c.want || is != (c.want >= 0) {
			t.Errorf("%+v: %d, %v", c, at, is)
		}
	}
}
