package configdump

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
)

// TestTold: all that is read of dumps and answers of CSDS, whole or cut off.
func TestTold(t *testing.T) {
	list, err := filepath.Glob(filepath.Join("testdata", "dumps", "*.json"))
	if err != nil || len(list) == 0 {
		t.Fatal(err, list)
	}
	for _, path := range append(list, filepath.Join("testdata", "secrets.json")) {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all, err := ReadAll(data)
			golden.Is(t, filepath.Join("testdata", "dumps", name+".txt"), fmt.Sprintf("a dump %v, a status %v; %v\n%s", Is(data), IsStatus(data), err, told(all)))
		})
	}
}

// TestToldOfStatus: the same of answers that a recording has.
func TestToldOfStatus(t *testing.T) {
	s, err := script.Parse("status", []byte(`
-- held node=n1 CDS/active=[web#1,api@7] CDS/static=[xds] CDS/warming=[slow{eds}] CDS/error=[bad#2] CDS/gone=[old] CDS/draining=[out#3] EDS/awaited=[slow] LDS/active=[in]
-- held node=n2 CDS/active=[web#1]
-- held node=n1 SDS/active=[cert]
`))
	if err != nil {
		t.Fatal(err)
	}
	var answers []decode.ClientStatus
	for e := range s.Entries() {
		if e.Kind == session.KindHeld {
			answers = append(answers, decode.PeekClientStatus(e.Message.Data.Bytes()))
		}
	}
	golden.Is(t, filepath.Join("testdata", "dumps", "answers.txt"), told(OfStatus(answers)))
}

func told(all []*Dump) string {
	var out strings.Builder
	for _, d := range all {
		fmt.Fprintf(&out, "node %q by %d, types %v, warming %v, sources %s\n", d.Node, d.By, d.types, d.Warming(), golden.Compact(d.sources, time.Time{}))
		for _, n := range d.Notes {
			fmt.Fprintf(&out, "  note: %s\n", n)
		}
		for _, r := range d.Resources {
			r.Hash = [16]byte{}
			fmt.Fprintf(&out, "  %s\n", golden.Compact(r, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)))
		}
	}
	return out.String()
}

// TestAdmin: what is asked of an admin endpoint, and what its answers are taken for.
func TestAdmin(t *testing.T) {
	dump := func(state, name string) string {
		return `{"configs":[{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump","dynamic_` + state + `_clusters":[{"version_info":"1","cluster":{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"` + name + `"}}]}]}`
	}
	var answers, asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked = append(asked, q.URL.String())
		text := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		if text == "" {
			w.WriteHeader(http.StatusForbidden)
			text = "  not " + strings.Repeat("x", 300)
		}
		fmt.Fprint(w, text)
	}))
	defer s.Close()
	a, err := ParseAdmin(" " + s.URL + " ")
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		answers []string
		asked   int
		want    string
	}{
		"the same twice":       {[]string{dump("active", "a"), dump("active", "a"), dump("active", "b")}, 2, "a active"},
		"it changes":           {[]string{dump("active", "a"), dump("active", "b"), dump("active", "b")}, 3, "b active"},
		"it warms":             {[]string{dump("warming", "a"), dump("warming", "a"), dump("active", "a"), dump("active", "a")}, 4, "a active"},
		"it refuses":           {[]string{""}, 1, `it answers 403: "not ` + strings.Repeat("x", 194) + `"`},
		"it says nothing":      {[]string{"{}"}, 1, `it is no config_dump: that is an object with "configs"`},
		"it refuses only then": {[]string{dump("warming", "a"), ""}, 2, `it answers 403: "not ` + strings.Repeat("x", 194) + `"`},
	} {
		answers, asked = c.answers, nil
		d, err := a.Settled(context.Background(), time.Minute)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(d.Resources[0].Name, " ", d.Resources[0].State)
		}
		if got != c.want || len(asked) != c.asked || slices.ContainsFunc(asked, func(path string) bool { return path != DumpPath }) {
			t.Errorf("%s: %s after %q", what, got, asked)
		}
	}
	answers = []string{dump("warming", "a")}
	if d, err := a.Settled(context.Background(), 0); err != nil || !d.Warming() {
		t.Errorf("without patience: %v", err)
	}
	answers = []string{"0123456789"}
	for most, want := range map[int64]string{9: "0123456789", 8: "012345678", 10: "0123456789"} {
		if got, err := a.Get(context.Background(), "/x", most); err != nil || string(got) != want {
			t.Errorf("at most %d: %q, %v", most, got, err)
		}
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := a.Settled(over, time.Minute); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.Close()
	if _, err := a.Fetch(context.Background()); err == nil || strings.Contains(err.Error(), "Get") || !strings.Contains(err.Error(), "connect") {
		t.Errorf("nobody is there: %v", err)
	}
}
