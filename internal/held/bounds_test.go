package held

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/session"
)

// An answer with more items than are remembered is refused.
func TestItemsAreBounded(t *testing.T) {
	a := &answer{items: make([]item, maxItems-1, maxItems)}
	for _, v := range []struct{ name, fault string }{{"last", "<nil>"}, {"one more", fmt.Sprintf("it holds more than %d resources", maxItems)}} {
		_, err := a.addConfig(appendBytes(nil, genericField, appendText(nil, nameField, v.name)))
		if got := fmt.Sprint(err); got != v.fault || len(a.items) != maxItems {
			t.Errorf("%s: %s, and there are %d", v.name, got, len(a.items))
		}
	}
}

// A node that is too long is remembered by its id alone.
func TestNodeIsBounded(t *testing.T) {
	id := appendText(nil, 1, "n1")
	for _, more := range []int{0, 1} {
		rest := maxNode + more - len(id)
		node := appendText(slices.Clone(id), 2, strings.Repeat("x", rest-1-protowire.SizeVarint(uint64(rest))))
		if len(node) != maxNode+more {
			t.Fatalf("%d bytes", len(node))
		}
		a := &answer{}
		if _, err := a.addConfig(appendBytes(nil, nodeField, node)); err != nil || a.id != "n1" || (len(a.node) == len(node)) != (more == 0) || more > 0 && string(a.node) != string(id) {
			t.Errorf("of %d bytes %d are left, %q, %v", len(node), len(a.node), a.id, err)
		}
	}
}

func TestMetricsAreBounded(t *testing.T) {
	a := &answer{}
	a.addStats([]byte("no number: x\n" + strings.Repeat("a: 1\n", maxMetrics+1)))
	if len(a.items) != maxMetrics {
		t.Errorf("there are %d", len(a.items))
	}
}

// What is besides the dump is read up to a bound, and else left out.
func TestWhatIsBesidesTheDumpIsBounded(t *testing.T) {
	waits, stats := `{"unready_targets_dumps":[{"name":"x","target_names":["y"]}]}`, "a: 1\n"
	dump, more := real(t), 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := waits
		switch r.URL.Path {
		case "/config_dump":
			_, _ = w.Write(dump)
			return
		case "/stats":
			text = stats
		}
		fmt.Fprint(w, text, strings.Repeat("\n", mostStats+more-len(text)))
	}))
	defer s.Close()
	place, err := Parse(EnvoyAdmin, s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for more = range 2 {
		a, err := (&envoy{place: &place, access: &Access{}}).ask(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, url := range []string{unreadyURL, metricURL} {
			if slices.ContainsFunc(a.items, func(i item) bool { return i.typeURL == url }) {
				got = append(got, url)
			}
		}
		if len(got) != 2-2*more {
			t.Errorf("with %d more bytes than are read: %q", more, got)
		}
	}
}

// What of answers could not be read is said until it was said often enough.
func TestNotesAreBounded(t *testing.T) {
	var said []string
	p := newPoller(&Keeper{}, &Options{
		Append: func(session.Entry) session.Seq { return 0 }, Said: func(n *News) { said = append(said, n.Notes...) },
	}, &Place{Source: CSDS})
	p.notes = make([]string, maxCauses-1)
	for _, note := range []string{"last", "last", "one more"} {
		p.hand(&answer{notes: []string{note}}, time.Now(), false)
	}
	if got := strings.Join(said, ","); got != "last" {
		t.Errorf("said %q", got)
	}
}
