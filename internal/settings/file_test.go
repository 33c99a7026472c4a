package settings

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/console"
)

func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{
		"", "a: b", "a: [b, 1, true]", "a: {b: c}", "- a", "a: b\na: c", "\x00", "&a [*a]", "1: 2", "a: &a [*a]", "a: &a b\nc: *a", "a: b\n---\nc: d", "? [a]\n: b",
		"listeners:\n- listen: :1\n  upstream: a:1\n- {listen: unix:/a, upstream: b:1, tls-ca-dir: d}", "listeners: [a]", "listeners: []", "listeners: &a [{b: *a}]", "<<: {a: b}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := parseConfig(text)
		if err != nil {
			if doc.keys != nil || doc.listeners != nil {
				t.Fatalf("%v and an error: %v", doc, err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than a line: %v", err)
			}
			return
		}
		ss := New()
		if ss.takeFile(doc, "fuzz.yaml") == nil {
			_, _ = ss.Pairs(&console.Console{Stderr: io.Discard})
		}
	})
}

// What help teaches is right, and means what it says there.
func TestConfigExample(t *testing.T) {
	ss := New()
	doc, err := parseConfig([]byte(fileExample))
	if err != nil {
		t.Fatal(err)
	}
	ss.Path = "example.yaml"
	if err := ss.takeFile(doc, ss.Path); err != nil {
		t.Fatal(err)
	}
	pairs, err := ss.Pairs(&console.Console{Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range pairs {
		s := p.Listen.String() + " " + p.Upstream.String()
		if l := p.ListenTLS; l != nil {
			s += fmt.Sprintf(" listen(%s %s %d)", l.CADir, l.ClientCA, l.ClientAuth)
		}
		if u := p.UpstreamTLS; u != nil {
			s += fmt.Sprintf(" upstream(%s)", u.CA)
		}
		if r := p.Rewrite; r != nil {
			s += fmt.Sprintf(" rewrite(%s %s)", r.Headers[0].Name, r.Headers[0].File)
		}
		got = append(got, s)
	}
	want := []string{
		"127.0.0.1:18000 istiod.istio-system.svc:15012 upstream(/etc/xdsproxy/root-cert.pem)",
		":18443 istiod.istio-system.svc:15012 listen(/etc/xdsproxy/ca /etc/xdsproxy/clients.pem 2) upstream(/etc/xdsproxy/root-cert.pem) rewrite(authorization /var/run/secrets/token)",
		"unix:/run/xdsproxy/staging.sock 127.0.0.1:15010",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Every key of the file is in its page of help.
func TestConfigTopicNamesEveryKey(t *testing.T) {
	ss := New()
	text := ss.FileHelp()
	for _, s := range ss.Table {
		if listed := regexp.MustCompile(`[ ]` + s.Name + `[,\n]`).MatchString(text[strings.Index(text, "Keys of a listener"):]); listed == s.noFile {
			t.Errorf("%s: listed %v, and cannot stand in the file: %v", s.Name, listed, s.noFile)
		}
	}
}
