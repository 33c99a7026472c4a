package tui

import (
	"context"
	"io"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/timeline"
)

// short ends after some entries, as a file does that was cut since the index
// was made.
type short struct {
	Reader
	left int
}

func (s *short) Next(ctx context.Context) (session.Entry, error) {
	if s.left--; s.left < 0 {
		return session.Entry{}, io.EOF
	}
	return s.Reader.Next(ctx)
}

// A search that does not get as far as the index waits for the next tick, and
// does not go on at once for ever.
func TestSearchOfWhatIsGone(t *testing.T) {
	source := fileSource(sessionPath("demo"))
	d := drive(t, source, 80, 24, Options{Theme: "mono"})
	d.m.log.Open = func() (Reader, error) {
		r, err := source.Open()
		return &short{r, 3}, err
	}
	f, err := filter.Parse("nothing")
	if err != nil {
		t.Fatal(err)
	}
	v := d.m.timeline
	v.Asked = timeline.NewFiltered(d.m, f)
	if v.Asked.Matcher != nil {
		t.Fatal("the index answers this")
	}
	for n, cmd := 0, v.Asked.Advance(d.m, v); cmd != nil; n++ {
		if n > 10 {
			t.Fatal("it goes on for ever")
		}
		cmd = v.Handle(d.m, cmd().(view.Reply).Msg)
	}
	if v.Asked.To != 3 {
		t.Errorf("it looked at %d rows", v.Asked.To)
	}
}
