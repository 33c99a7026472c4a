package convert_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/golden"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/session"
)

// walker walks over entries as a command does.
type walker struct {
	all     []session.Entry
	choose  func(e *session.Entry, c *check.Change) bool
	checker *check.Checker
}

func (w *walker) walk(visit convert.Visit) error {
	w.checker = check.NewChecker(check.Options{})
	for i := range w.all {
		c := w.checker.Step(&w.all[i])
		if err := visit(&w.all[i], &c, w.choose(&w.all[i], &c)); err != nil {
			return err
		}
	}
	return nil
}

// written is a recording in a form.
func written(t testing.TB, all []session.Entry, form convert.Form, chosen string, choose func(e *session.Entry, c *check.Change) bool) (string, convert.Result) {
	t.Helper()
	w := &walker{all: all, choose: choose}
	o := convert.Options{Report: convert.Report{
		Program: "xdsproxy test", Source: "demo.xdsp", Chosen: chosen, Findings: func() []check.Finding { return w.checker.Findings() },
	}}
	o.Report.Facts.Masked = true
	var b bytes.Buffer
	done, err := convert.Write(&b, form, w.walk, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), done
}

func everything(*session.Entry, *check.Change) bool { return true }

func rejected(e *session.Entry, c *check.Change) bool {
	return c.What == engine.NACK || len(c.Findings) > 0
}

func TestForms(t *testing.T) {
	all, _ := read(t, "../../check/testdata/sessions/demo.xdsp")
	for _, c := range []struct {
		name, chosen string
		form         convert.Form
		choose       func(e *session.Entry, c *check.Change) bool
	}{
		{"demo.csv", "", convert.CSV, everything},
		{"demo-nack.jsonl", "some", convert.JSONL, rejected},
		{"demo-nack.yaml", "some", convert.YAML, rejected},
		{"demo.mmd", "", convert.Mermaid, everything},
		{"demo.md", "", convert.Markdown, everything},
		{"demo-nack.md", "--filter kind:nack", convert.Markdown, rejected},
	} {
		text, done := written(t, all, c.form, c.chosen, c.choose)
		golden.Is(t, filepath.Join("testdata", c.name), text)
		if c.name == "demo.csv" {
			rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
			if err != nil || len(rows) != len(all)+1 {
				t.Errorf("%d rows of %d entries, %v", len(rows), len(all), err)
			}
		}
		if done.Entries+done.LeftOut == 0 || c.chosen == "" && done.Entries != uint64(len(all)) {
			t.Errorf("%s: %+v", c.name, done)
		}
	}
}

// evil is put wherever a peer chooses a text. None of it may be anything but
// text.
const evil = "EVIL` ``x `````x\n\r| <script>EVIL</script>\n```\n# EVIL\n</summary></details> @EVIL ![EVIL](http://EVIL) =EVIL;#59;\u202e\x1b[2J$$EVIL$$ %%{EVIL}%%"

// hostile is a recording of which the peers are.
func hostile(t testing.TB, text string) []session.Entry {
	t.Helper()
	all, _ := read(t, "../../check/testdata/sessions/grpc-go-nack.xdsp")
	for i := range all {
		e := &all[i]
		if e.Peer != nil {
			e.Peer = &session.Peer{Client: text, Listen: text, Upstream: text, Local: text, ClientTLS: &session.TLS{ServerName: text, Identities: []string{text}, Issuer: text, ALPN: text}}
		}
		if e.Method != "" && i > len(all)/2 {
			e.Method = text
		}
		if e.Status != nil {
			e.Status.Message = text
		}
		if e.GoAway != nil {
			e.GoAway.Debug = text
		}
		e.Problems = []string{text}
		for j := range e.Headers {
			e.Headers[j].Value += text
		}
	}
	return all
}

// tainted puts a text into what a walk says of the entries.
func tainted(walk convert.Walk, text string) convert.Walk {
	return func(visit convert.Visit) error {
		return walk(func(e *session.Entry, c *check.Change, chosen bool) error {
			taint(c, text)
			return visit(e, c, chosen)
		})
	}
}

func taint(c *check.Change, text string) {
	if c.Client != "" {
		c.Client = text
	}
	if c.Node != nil {
		n := *c.Node
		n.ID, n.UserAgent, n.UserAgentVersion, n.Cluster = text, text, text, text
		c.Node = &n
	}
	if c.Type != "" {
		c.Type = text
	}
	c.Added, c.Removed = append(c.Added, text), append(c.Removed, text)
	if m := c.Message; m != nil {
		own := *m
		own.Version, own.Nonce, own.TypeURL = text, text, text
		own.Names = append(own.Names[:len(own.Names):len(own.Names)], text)
		own.Problems = []string{text}
		own.Resources = append(own.Resources[:0:0], own.Resources...)
		for i := range own.Resources {
			own.Resources[i].Name = text
		}
		if own.Error != nil {
			e := *own.Error
			e.Message = text
			own.Error = &e
		}
		c.Message = &own
	}
	for i := range c.Findings {
		taintFinding(&c.Findings[i], text)
	}
}

func taintFinding(f *check.Finding, text string) {
	f.Client, f.Type, f.Message, f.Names = text, text, text, []string{text}
}

func hostileText(t testing.TB, form convert.Form, text string) string {
	t.Helper()
	w := &walker{all: hostile(t, text), choose: everything}
	o := convert.Options{Report: convert.Report{
		Program: text, Source: "'x'", Chosen: text,
		Findings: func() []check.Finding {
			all := w.checker.Findings()
			for i := range all {
				taintFinding(&all[i], text)
			}
			return all
		},
	}}
	o.Report.Facts.Program = text
	var b bytes.Buffer
	if _, err := convert.Write(&b, form, tainted(w.walk, text), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What peers chose stands where it means nothing.
func TestHostileText(t *testing.T) {
	wrapped := hostileText(t, convert.Markdown, strings.Repeat("``` "+strings.Repeat("EVIL", 30)+" ` ", 5))
	if rest := convert.Outside(t, wrapped); strings.Contains(rest, "EVIL") {
		t.Errorf("outside of code there is\n%s", rest)
	}
	report := hostileText(t, convert.Markdown, evil)
	if n := strings.Count(report, "EVIL"); n < 20 {
		t.Fatalf("%d texts in\n%s", n, report)
	}
	if rest := convert.Outside(t, report); strings.Contains(rest, "EVIL") || strings.ContainsAny(rest, "<|@") {
		t.Errorf("outside of code there is\n%s\nof\n%s", rest, report)
	}
	for _, form := range []convert.Form{convert.CSV, convert.JSONL, convert.YAML, convert.Mermaid, convert.Markdown} {
		text := hostileText(t, form, evil)
		if strings.ContainsAny(strings.ReplaceAll(text, "\r\n", "\n"), "\x1b\u202e\r") {
			t.Errorf("%s passes control characters on", form)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(hostileText(t, convert.CSV, "=EVIL(),\"x\"\n"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") {
				t.Errorf("a spreadsheet takes %q for a formula", cell)
			}
		}
	}
	for line := range strings.Lines(hostileText(t, convert.JSONL, evil)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}
