package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Whoever looks for a type or a client by labels must find every entry of which
// watch says that type or client.
func TestLabelsAreWhatWatchSays(t *testing.T) {
	seen, l := labelsAgree(t, demoRecording(t))
	for _, w := range []string{"type:CDS", "type:SDS", "client:demo-envoy", "client:demo-delta", "client:demo-grpc"} {
		if !seen[w] {
			t.Errorf("nothing is labelled %q", w)
		}
	}
	if streams, conns := l.Streams.Len(); conns > 0 || streams > 0 {
		t.Errorf("%d connections and %d streams are remembered after their end", conns, streams)
	}
}

// labelsAgree compares the labels of a recording with what watch says.
func labelsAgree(t *testing.T, path string) (seen map[string]bool, l *store.Labels) {
	r, err := recorder.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l, seen = store.NewLabels(), map[string]bool{}
	err = input.Each(t.Context(), &input.Source{Reader: r}, check.NewTracker(nil), func(e *session.Entry, c *check.Change) error {
		var want []string
		if c.Type != "" {
			want = append(want, filter.TypeLabel+c.Type)
		}
		if c.Client != "" {
			want = append(want, filter.ClientLabel+c.Client)
		}
		got := l.Of(e)
		for _, w := range want {
			seen[w] = true
			if !slices.Contains(got, w) {
				t.Errorf("entry %d is labelled %q, without %q", e.Seq, got, w)
			}
		}
		for _, g := range got {
			if strings.HasSuffix(g, ":") {
				t.Errorf("entry %d has the label %q", e.Seq, g)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen, l
}
