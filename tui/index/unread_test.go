package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/session"
)

// Of messages that cannot be read, and of those of which only a part is there, nobody
// says that they are the same.
func TestUnreadAreNotTheSame(t *testing.T) {
	s, err := script.Parse("test.xds", []byte("C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]\nS< type=CDS V=1 N=a res=[c1]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		spoil func(*session.Message)
		says  string
	}{
		{func(m *session.Message) { m.Data, m.Size = nil, session.MostRead+1 }, "too large to decode"},
		{func(m *session.Message) { m.Compressed = true }, "still compressed"},
		{func(m *session.Message) { m.Truncated = true }, "not recorded whole"},
		{func(*session.Message) {}, ""},
	} {
		entries := slices.Collect(s.Entries())
		var responses []session.Seq
		for i := range entries {
			if e := &entries[i]; e.Kind == session.KindMessage && e.Side == session.Server {
				m := *e.Message
				tc.spoil(&m)
				e.Message = &m
				responses = append(responses, e.Seq)
			}
		}
		x := New()
		NewFeed(x, check.Options{}).Run(t.Context(), &inMemory{entries: entries}, false, nil)
		f := NewFetcher(x, func() (Reader, error) { return &inMemory{entries: entries}, nil })
		if len(responses) != 2 {
			t.Fatal(responses)
		}
		_, err := f.Messages(t.Context(), responses[0], responses[1])
		if got := fmt.Sprint(err); tc.says == "" && err != nil || !strings.Contains(got, tc.says) {
			t.Errorf("%q, not %q", got, tc.says)
		}
		if _, err := f.Against(t.Context(), responses[1], true); strings.Contains(tc.says, "too large") && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%v, not %q", err, tc.says)
		}
	}
}
