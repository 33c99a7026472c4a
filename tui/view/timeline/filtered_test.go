package timeline

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// short ends after some entries, as a file does that was cut since the index
// was made.
type short struct {
	index.Reader
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
	source := viewtest.File(filepath.Join("..", "..", "..", "check", "testdata", "sessions", "demo.xdsp"))
	scr := viewtest.New(t, source).Read(t)
	scr.Log().Open = func() (index.Reader, error) {
		r, err := source.Open()
		return &short{r, 3}, err
	}
	f, err := filter.Parse("nothing")
	if err != nil {
		t.Fatal(err)
	}
	v := New(false)
	v.asked = newFiltered(scr, f)
	if v.asked.matcher != nil {
		t.Fatal("the index answers this")
	}
	for n, cmd := 0, v.asked.advance(scr, v); cmd != nil; n++ {
		if n > 10 {
			t.Fatal("it goes on for ever")
		}
		cmd = v.Handle(scr, cmd().(view.Reply).Msg)
	}
	if v.asked.to != 3 {
		t.Errorf("it looked at %d rows", v.asked.to)
	}
}
