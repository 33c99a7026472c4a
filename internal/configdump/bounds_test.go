package configdump

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsproxy/xdsproxy/decode/document"
)

// Of many clients so many are read, however often each of them comes.
func TestClientsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		had  int
		node string
		want string
	}{
		"the last":           {maxClients - 1, "new", "<nil>"},
		"one more":           {maxClients, "new", "it has more than 10000 clients"},
		"one that was there": {maxClients, "known", "<nil>"},
	} {
		s := &statuses{all: make([]*Dump, c.had), of: map[string]*Dump{"known": {}}}
		s.d = json.NewDecoder(strings.NewReader(`{"node":{"id":"` + c.node + `"}}`))
		if err := s.client(); fmt.Sprint(err) != c.want || len(s.all) > maxClients {
			t.Errorf("%s: %v, %d clients", name, err, len(s.all))
		}
	}
}

// There are not too many notes of a dump, nor of a resource.
func TestNotesAreBounded(t *testing.T) {
	r := &reader{dump: &Dump{}}
	for i := range maxNotes + 1 {
		r.note("note %d", i+1)
	}
	if n := len(r.dump.Notes); n != maxNotes || r.dump.Notes[n-1] != fmt.Sprint("note ", maxNotes) {
		t.Errorf("%q", r.dump.Notes)
	}
	unknown := ""
	for i := range maxNotes + 1 {
		unknown += fmt.Sprintf(`,"new_field_%d":1`, i+1)
	}
	d, err := Read([]byte(`{"configs":[{"dynamic_active_clusters":[{"cluster":{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster"` + unknown + `}}]}]}`))
	if err != nil || len(d.Resources) != 1 {
		t.Fatal(err)
	}
	if unread := d.Resources[0].Unread; len(unread) != maxNotes {
		t.Errorf("%q", unread)
	}
}

// What is as deep as it may be is redacted, and what is deeper stays.
func TestDepthIsBounded(t *testing.T) {
	for depth, want := range map[int]string{maxDepth: redacted, maxDepth + 1: "ab"} {
		m := &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: "ab"}}
		if redactMessage(m.ProtoReflect(), true, depth); m.GetInlineString() != want {
			t.Errorf("at depth %d a field is %q", depth, m.GetInlineString())
		}
		a, b := document.Tree{Kind: document.String, Text: "[masked:1]"}, document.Tree{Kind: document.String, Text: "ab"}
		if unmask(&a, &b, false, depth); b.Text != want {
			t.Errorf("at depth %d it is %q", depth, b.Text)
		}
	}
}
