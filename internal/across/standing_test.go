package across

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/fleet"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// scripted are recordings of one proxy, of what scripts say.
func scripted(t *testing.T, root, proxy string, texts ...string) {
	t.Helper()
	dir := filepath.Join(root, "proxy="+proxy)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		s, err := script.Parse("test.xds", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		log, err := recorder.Create(filepath.Join(dir, fmt.Sprintf("%d.xdsp", i)), recorder.Options{NoTicks: true})
		if err != nil {
			t.Fatal(err)
		}
		for e := range s.Entries() {
			log.Append(e)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A client that says what it holds is one, in however many recordings of its proxy; and
// none of those if it asked for something in another.
func TestStandingOfThoseThatHold(t *testing.T) {
	root := t.TempDir()
	scripted(t, root, "p1", "-- held node=h1 CDS/active=[c1#1]\n-- held node=h2 CDS/active=[c1#1]",
		"C> type=CDS V= N= R=[] node=h1\nS< type=CDS V=1 N=1 res=[c1]\nC> type=CDS V=1 N=1 R=[]",
		"t=+1h -- held node=h1 CDS/active=[c1#1]\n-- held node=h2 CDS/active=[c1#1,c2#1]")
	scripted(t, root, "p2", "-- held node=h2 CDS/active=[c1#1]")
	s, err := readerOf(t, root, nil).Standing(t.Context(), options())
	if err != nil || len(s.Clients) != 1 || s.Clients[0].Client != "h1" {
		t.Fatalf("%+v, %v", s, err)
	}
	var got []string
	for _, h := range s.Holding {
		got = append(got, fmt.Sprint(h.Proxy, " ", h.Client, " ", h.InUse["CDS"], " ", filepath.Base(h.Recording)))
	}
	if all := strings.Join(got, ", "); all != "p1 h2 2 2.xdsp, p2 h2 1 0.xdsp" {
		t.Error(all)
	}
	if text := s.Text(render.Style{}, 0); !strings.Contains(text, "p1 h2 asked for nothing here. It holds 2 CDS (entry ") || !strings.Contains(text, "2.xdsp, ") {
		t.Error(text)
	}
}

// What a client has not answered when its recording ends is as old as it was then,
// however long others went on.
func TestStandingOfAnEarlierEnd(t *testing.T) {
	root := t.TempDir()
	scripted(t, root, "p1", "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=1 res=[c1]")
	scripted(t, root, "p2", "t=+1h C> type=CDS V= N= R=[] node=n2\nS< type=CDS V=1 N=1 res=[c1]\nC> type=CDS V=1 N=1 R=[]")
	s, err := readerOf(t, root, nil).Standing(t.Context(), options())
	if err != nil || len(s.Clients) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	if n1, n2 := s.Clients[0], s.Clients[1]; n1.AsOf == "" || n1.AsOf >= s.At || n2.AsOf != "" {
		t.Errorf("as of %q and %q, all of %q", n1.AsOf, n2.AsOf, s.At)
	}
	if text := s.Text(render.Style{}, 0); !regexp.MustCompile(`(?m)^p1 n1 .* PENDING 0\.0s .* 1h$`).MatchString(text) {
		t.Error(text)
	}
}

// Where no recording can be read, nothing looks as if there were no clients.
func TestNoneRead(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "proxy=z")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "foreign.xdsp"), []byte("PK\x03\x04 something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := readerOf(t, root, nil).Standing(t.Context(), options())
	if !Incomplete(err) || s.NotRead != 1 {
		t.Errorf("standing: %+v, %v", s, err)
	}
	if i, err := readerOf(t, root, nil).Info(t.Context(), false); !Incomplete(err) || i.Total.Unread != 1 {
		t.Errorf("info: %+v, %v", i, err)
	}
	if _, err = readerOf(t, root, nil).Merge(t.Context(), Plan{
		Query: func() (*input.Query, error) { return input.ParseQuery("") },
		Tell: func(*fleet.Recording, *input.Query) Teller {
			return func(*session.Entry, *check.Change, bool) ([]byte, error) { return nil, nil }
		},
		Write: func(Line) error { return nil },
	}); !Incomplete(err) {
		t.Errorf("merge: %v", err)
	}
}

// Of some, strict makes an error of one that cannot be read.
func TestStrictInfo(t *testing.T) {
	root := t.TempDir()
	scripted(t, root, "p1", "C> type=CDS V= N= R=[] node=n1")
	if err := os.WriteFile(filepath.Join(root, "proxy=p1", "foreign.xdsp"), []byte("PK\x03\x04 something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	for strict, want := range map[bool]bool{false: false, true: true} {
		if _, err := readerOf(t, root, nil).Info(t.Context(), strict); Incomplete(err) != want {
			t.Errorf("strict %v: %v", strict, err)
		}
	}
}
