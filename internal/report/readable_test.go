package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// The names in a bootstrap are readable, and those in notes of other kinds are texts.
func TestSurveyOfStaticNames(t *testing.T) {
	for _, v := range []struct {
		code  session.NoteCode
		text  string
		count string
	}{
		{session.NoteStatic, `["xds-cluster","stats"]`, "2"},
		{session.NoteStatic, `no list`, "none"},
		{session.NoteDialFailed, `["xds-cluster","stats"]`, "none"},
	} {
		s := NewSurvey()
		s.See(&session.Entry{Kind: session.KindNote, Note: &session.Note{Code: v.code, Text: v.text}}, &check.Change{})
		if count, _ := told(s, "other names", 10); count != v.count {
			t.Errorf("%s %s: %s names", v.code, v.text, count)
		}
	}
}

// The client of a message is readable, and of one that cannot be read nothing is.
func TestSurveyOfClients(t *testing.T) {
	change := &check.Change{Change: engine.Change{Client: "gw-0"}}
	for _, v := range []struct {
		entry *session.Entry
		count string
	}{
		{&session.Entry{Kind: session.KindMessage}, "none"},
		{&session.Entry{Kind: session.KindMessage, Message: &session.Message{}}, "none"},
		{&session.Entry{Kind: session.KindHeld, Held: &session.Held{}}, "none"},
		{&session.Entry{Kind: session.KindHeld, Held: &session.Held{}, Message: &session.Message{}}, "1"},
	} {
		s := NewSurvey()
		s.See(v.entry, change)
		if count, _ := told(s, "clients", 10); count != v.count {
			t.Errorf("%s: %s clients", v.entry.Kind, count)
		}
	}
}

// All names that stand beside a resource are readable: those of its aliases, and those
// of resources that a server says it does not have.
func TestSurveyOfNamesBeside(t *testing.T) {
	text, err := script.Parse("test.xds", []byte("D> type=CDS sub=[one,gone] node=n1\nd< type=CDS N=a res=[one@1] alias=[other] errs=[gone:NOT_FOUND]\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, checker := NewSurvey(), check.NewChecker(check.Options{})
	for e := range text.Entries() { // without the request, which names it, too
		if c := checker.Step(&e); e.Side == session.Server {
			s.See(&e, &c)
		}
	}
	if got := slices.Sorted(maps.Keys(s.names["resources"])); !slices.Equal(got, []string{"gone", "one", "other"}) {
		t.Errorf("%q", got)
	}
}

// What a value says is told by what it looks like, and by the field that it is in.
func TestSurveyOfTexts(t *testing.T) {
	for _, v := range []struct{ kind, field, text, want string }{
		{"CDS", "x", "plain words", ""},
		{"CDS", "x", "to a.example.com or b.example.com", "hosts a.example.com b.example.com"},
		{"CDS", "x", "envoy.filters.http.router", ""},
		{"CDS", "x", "type.googleapis.com/envoy.config.cluster.v3.Cluster", ""},
		{"CDS", "@type", "a.example.com", ""},
		{"CDS", "type_url", "a.example.com", ""},
		{"CDS", "domains", "shop", "hosts shop"},
		{"CDS", "server_names", "shop", "hosts shop"},
		{"CDS", "hostname", "shop", "hosts shop"},
		{"CDS", "address", "shop", "hosts shop"},
		{"peer", "address", "shop", ""},
		{"CDS", "domains", "*", ""},
		{"CDS", "address", "10.0.0.1", "addresses 10.0.0.1"},
		{"CDS", "name", "shop", "other names shop"},
		{"CDS", "zone", "shop", "other names shop"},
		{"CDS", "cluster_name", "shop", "other names shop"},
		{"CDS", "name", "envoy.tls", ""},
		{"requests", "user_agent_name", "shop", ""},
		{"CDS", "x", "10.0.0.1:443 and [2001:db8::1]:443", "addresses 10.0.0.1 2001:db8::1"},
		{"CDS", "x", "10.0.0.1_443", "addresses 10.0.0.1"},
		{"CDS", "x", "v1.2.3", ""},
		{"CDS", "x", "127.0.0.1 0.0.0.0:80 ::1", ""},
		{"CDS", "x", "[masked:a.example.com]", "masked CDS x (1)"},
		{"CDS", "x", "b.example.com [masked:] [masked:]", "hosts b.example.com; masked CDS x (2)"},
		{"CDS", "", "W21hc2tlZDo", "masked CDS (1)"},
	} {
		s := NewSurvey()
		s.text(v.kind, v.field, v.text)
		var got []string
		for _, k := range kinds {
			if names := slices.Sorted(maps.Keys(s.names[k])); len(names) > 0 {
				got = append(got, k+" "+strings.Join(names, " "))
			}
		}
		for field, n := range s.masked {
			got = append(got, fmt.Sprintf("masked %s (%d)", field, n))
		}
		if slices.Sort(got); strings.Join(got, "; ") != v.want {
			t.Errorf("%s %s %q: %q, want %q", v.kind, v.field, v.text, got, v.want)
		}
	}
}

// Fields with masks are told by how many they have, and then by name.
func TestSurveyOfMasks(t *testing.T) {
	s := NewSurvey()
	if text := s.Text(0); !strings.HasPrefix(text, "masked: nothing\n") {
		t.Error(text)
	}
	s.messages = 1
	if text := s.Text(0); !strings.HasPrefix(text, "masked: values of fewer than 16 bytes, in 1 message\n") {
		t.Error(text)
	}
	for field, n := range map[string]int{"b": 1, "c": 3, "a": 1, "d": 2} {
		for range n {
			s.text("SDS", field, "[masked:x]")
		}
	}
	for most, want := range map[int]string{
		0: "  SDS c (3)\n  SDS d (2)\n  SDS a (1)\n  SDS b (1)\nreadable",
		4: "  SDS c (3)\n  SDS d (2)\n  SDS a (1)\n  SDS b (1)\nreadable",
		3: "  SDS c (3)\n  SDS d (2)\n  SDS a (1)\n  and 1 more\nreadable",
	} {
		if text := s.Text(most); !strings.HasPrefix(text, "masked: 7 values of 16 bytes and more; shorter ones are not counted\n"+want) {
			t.Errorf("%d at most:\n%s", most, text)
		}
	}
}

// Contents are looked at once, as far as there is room to remember them.
func TestContentsAreLookedAtOnce(t *testing.T) {
	s := NewSurvey()
	for i := range maxContents - 1 {
		s.seen[uint64(i)] = true
	}
	for i, v := range []struct {
		content string
		before  bool
	}{{"last", false}, {"last", true}, {"one more", false}, {"one more", false}} {
		if got := s.before([]byte(v.content)); got != v.before || len(s.seen) != maxContents {
			t.Errorf("%d: %v, of %d", i, got, len(s.seen))
		}
	}
}
