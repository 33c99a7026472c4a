package bisect

import (
	"context"
	"errors"
	"io"
	"testing"

	"go.uber.org/goleak"

	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/recorder"
)

const sessionsDir = "../../check/testdata/sessions"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// entries gives a list of entries, one after the other.
type entries []session.Entry

func (s *entries) Next(context.Context) (session.Entry, error) {
	if len(*s) == 0 {
		return session.Entry{}, io.EOF
	}
	e := (*s)[0]
	*s = (*s)[1:]
	return e, nil
}

// entriesOf are those of a recording.
func entriesOf(t *testing.T, file string) []session.Entry {
	t.Helper()
	r, err := recorder.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []session.Entry
	for {
		e, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
}
