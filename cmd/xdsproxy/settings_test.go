package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// tree is the command tree, as main1 makes it.
func tree(t *testing.T) (*app, *cobra.Command) {
	t.Helper()
	a := &app{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	a.config = newSettings()
	root := newRoot(a)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return a, root
}

// The table is the only place where a setting is described: whatever shows
// settings must show each of its rows.
func TestEverySettingIsEverywhere(t *testing.T) {
	a, root := tree(t)
	environment := environmentTopic(a)
	run, _, err := root.Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range a.config.table {
		if !strings.Contains(environment, s.variable()) {
			t.Errorf("help environment does not name %s", s.variable())
		}
		if run.Flags().Lookup(s.name) == nil && run.InheritedFlags().Lookup(s.name) == nil {
			t.Errorf("run has no flag --%s", s.name)
		}
		if s.help == "" || s.group == "" || strings.HasSuffix(s.help, ".") || s.help[0] >= 'A' && s.help[0] <= 'Z' {
			t.Errorf("%s: help %q, group %q", s.name, s.help, s.group)
		}
	}
}

// Every page of help teaches by example and fits a terminal of 80 columns.
func TestHelpPages(t *testing.T) {
	a, root := tree(t)
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.Name() == "completion" || c.HasParent() && c.Parent().Name() == "completion" {
			return // cobra's own words
		}
		if c.Short == "" || c.Long == "" || c.Example == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short %q, long %q, example %q", c.CommandPath(), c.Short, c.Long, c.Example)
		}
		out := new(bytes.Buffer)
		c.SetOut(out)
		a.help(c, nil)
		for line := range strings.Lines(out.String()) {
			if render.Width(strings.TrimSuffix(line, "\n")) > helpWidth {
				t.Errorf("%s: wider than %d: %s", c.CommandPath(), helpWidth, line)
			}
		}
	}
	visit(root)
	for _, topic := range topics() {
		for line := range strings.Lines(topic.text(a)) {
			if render.Width(strings.TrimSuffix(line, "\n")) > helpWidth {
				t.Errorf("%s: wider than %d: %s", topic.name, helpWidth, line)
			}
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "512": 512, "512B": 512, "1k": 1000, "1kB": 1000, "1KiB": 1024, "64MiB": 64 << 20, "2 GiB": 2 << 30, "3G": 3e9,
	} {
		var v sizeValue
		if err := v.Set(text); err != nil || int64(v) != want {
			t.Errorf("%q: %d, %v", text, v, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "1.5MiB", "MiB", "1TiB", "99999999999GiB", "1 0"} {
		if err := new(sizeValue).Set(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func FuzzSize(f *testing.F) {
	for _, s := range []string{"64MiB", "0B", "1k", "9223372036854775807", "-5", "4611686018427387904B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v, again sizeValue
		if v.Set(text) != nil {
			return
		}
		if v < 0 {
			t.Fatalf("%q is %d", text, v)
		}
		if err := again.Set(v.String()); err != nil || again != v {
			t.Fatalf("%q is %d, but %q is %d, %v", text, v, v.String(), again, err)
		}
	})
}

func TestDurationOrOff(t *testing.T) {
	for text, want := range map[string]string{"200ms": "200ms", "2m": "2m", "off": "off", "OFF": "off", "no": "off"} {
		var v, again orOff
		if err := v.Set(text); err != nil || v.String() != want || again.Set(v.String()) != nil || again != v {
			t.Errorf("%q: %s, %v", text, v.String(), err)
		}
	}
	for _, text := range []string{"", "0", "0s", "-1s", "on", "soon"} {
		if err := new(orOff).Set(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]string{"5s": "5s", "90s": "1m30s", "60s": "1m", "2h": "2h", "0": "0s", "1500ms": "1.5s"} {
		var v durationValue
		if err := v.Set(text); err != nil || v.String() != want {
			t.Errorf("%q: %s, %v", text, v.String(), err)
		}
		var again durationValue
		if err := again.Set(v.String()); err != nil || again != v {
			t.Errorf("%q does not come back: %v, %v", v.String(), time.Duration(again), err)
		}
	}
	for _, text := range []string{"", "5", "-5s", "soon"} {
		if err := new(durationValue).Set(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

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
		a := &app{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
		a.config = newSettings()
		if a.config.takeFile(doc, "fuzz.yaml") == nil {
			_, _ = a.config.pairs(a.console())
		}
	})
}

// What help teaches is right, and means what it says there.
func TestConfigExample(t *testing.T) {
	a, _ := tree(t)
	doc, err := parseConfig([]byte(configExample))
	if err != nil {
		t.Fatal(err)
	}
	a.config.path = "example.yaml"
	if err := a.config.takeFile(doc, a.config.path); err != nil {
		t.Fatal(err)
	}
	pairs, err := a.config.pairs(a.console())
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
	a, _ := tree(t)
	text := configTopic(a)
	for _, s := range a.config.table {
		if listed := regexp.MustCompile(`[ ]` + s.name + `[,\n]`).MatchString(text[strings.Index(text, "Keys of a listener"):]); listed == s.noFile {
			t.Errorf("%s: listed %v, and cannot stand in the file: %v", s.name, listed, s.noFile)
		}
	}
}

// A hint of the log stands on a line of its own, and what a peer has a part in
// does not act on a terminal.
func TestHintsInTheLog(t *testing.T) {
	var out bytes.Buffer
	a := &app{stderr: &out}
	a.config = newSettings()
	a.logger(false).Warn("bad \x1b[31m name", zap.String("hint", "set \x1b[0m it"), zap.Int("conn", 3))
	if got := out.String(); !regexp.MustCompile(`^\S+ warn bad \S*\[31m name \{"conn": 3\}\nxdsproxy: hint: set \S*\[0m it\n$`).MatchString(got) || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
	out.Reset()
	a.config.logFormat = "json"
	a.logger(false).Warn("bad", zap.String("hint", "set it"))
	if got := out.String(); !strings.Contains(got, `"hint":"set it"}`) {
		t.Errorf("%q", got)
	}
}

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"/tmp/a-b_c.xdsp": "/tmp/a-b_c.xdsp", "@last": "@last", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "a;b": "'a;b'",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", word, got, want)
		}
	}
}
