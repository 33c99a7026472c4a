package report

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

// A finding that the entries prove is the one that is meant; without it all are.
func TestAbout(t *testing.T) {
	found := []check.Finding{{Seqs: []session.Seq{1}}, {Seqs: []session.Seq{2, 3}}, {Seqs: []session.Seq{4}}}
	for i, want := range found {
		if got := About(found, want.Seqs); len(got) != 1 || got[0].Seqs[0] != found[i].Seqs[0] {
			t.Errorf("about %d: %v", want.Seqs, got)
		}
	}
	for _, seqs := range [][]session.Seq{nil, {2}, {9}} {
		if got := About(found, seqs); len(got) != len(found) {
			t.Errorf("about %d: %v", seqs, got)
		}
	}
}

// Only a yes is one.
func TestAgreed(t *testing.T) {
	for line, want := range map[string]bool{
		"y\n": true, "yes\n": true, " YES \n": true, "y": true, "n\n": false, "no\n": false, "\n": false, "": false, "yesterday\n": false, "n\ny\n": false,
	} {
		if got, err := Agreed(t.Context(), strings.NewReader(line)); got != want || err != nil {
			t.Errorf("%q: %v, %v", line, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in := make(silent)
	defer close(in)
	if got, err := Agreed(ctx, in); got || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v, %v", got, err)
	}
}

// silent is read from until it is closed.
type silent chan struct{}

func (s silent) Read([]byte) (int, error) {
	<-s
	return 0, errors.New("nobody is there")
}

// A report about entries has them, and there is none about one that is not there.
func TestReportOfEntries(t *testing.T) {
	p := recording(t, "sessions/demo")
	b, err := Gather(t.Context(), p.unchosen, p.options(nil, 50))
	if err != nil {
		t.Fatal(err)
	}
	if b.Done.Entries == 0 || b.Close() != nil {
		t.Errorf("%+v", b.Done)
	}
	if _, err := Gather(t.Context(), p.unchosen, p.options(nil, 50, 99999)); err == nil || err.Error() != "there is no entry 99999" {
		t.Errorf("of an entry that is not there: %v", err)
	}
}
