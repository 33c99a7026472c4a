package export

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// desk is a directory in which commands are run, and what they printed.
type desk struct {
	t    *testing.T
	dir  string
	text strings.Builder
}

func newDesk(t *testing.T) *desk { return &desk{t: t, dir: t.TempDir()} }

// at is a file on the desk.
func (d *desk) at(name string) string { return filepath.Join(d.dir, name) }

// run runs a command, and keeps what it printed.
func (d *desk) run(what string, f func(o *input.Opener) error) {
	d.t.Helper()
	var to, beside bytes.Buffer
	err := f(&input.Opener{Console: &console.Console{Ctx: d.t.Context(), Stdin: strings.NewReader("piped"), Stdout: &to, Stderr: &beside, Color: "never"}})
	fmt.Fprintf(&d.text, "==== %s\n%s", what, beside.String())
	if to.Len() > 0 {
		printed := version.ReplaceAllString(to.String(), "xdsproxy VERSION")
		fmt.Fprintf(&d.text, "-- printed %d bytes\n%.1500s\n", len(printed), printed)
	}
	if err != nil {
		d.text.WriteString("error: " + err.Error() + "\n")
		if f, is := errors.AsType[*console.Failure](err); is {
			fmt.Fprintf(&d.text, "code: %d %q\n", f.Code, f.Hints)
		}
	}
}

// entries says which entries a recording has, and which are from before.
func (d *desk) entries(path string) {
	d.t.Helper()
	r, err := recorder.Open(path)
	if err != nil {
		fmt.Fprintf(&d.text, "-- %v\n", err)
		return
	}
	defer r.Close()
	r.Follow(false)
	fmt.Fprintf(&d.text, "-- masked: %t, entries:", r.Facts().Masked)
	for {
		e, err := r.Next(d.t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			d.t.Fatal(err)
		}
		sign := ""
		if e.Kind == session.KindGap {
			sign = fmt.Sprintf("(gap %d-%d)", e.Gap.First, e.Gap.Last)
		}
		fmt.Fprintf(&d.text, " %d%s", e.Seq, sign)
	}
	d.text.WriteString("\n")
}

// files lists a directory.
func (d *desk) files(dir string) {
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			about, _ := e.Info()
			fmt.Fprintf(&d.text, "-- %s %v\n", path, about.Mode())
		}
		return err
	})
}

// version is that of the program, which differs with how it was built.
var version = regexp.MustCompile("xdsproxy \\([^`\n]*")

// golden holds what was printed against a file.
func (d *desk) golden(name string) {
	d.t.Helper()
	got := strings.NewReplacer(d.dir, "DESK", filepath.Dir(sessionFile("x")), "SESSIONS").Replace(d.text.String())
	got = regexp.MustCompile(`[0-9.]+ [KM]?i?B\b`).ReplaceAllString(got, "N B") // of a compressed file
	got = regexp.MustCompile(`\.xdsproxy-[0-9]+`).ReplaceAllString(got, ".xdsproxy-N")
	got = version.ReplaceAllString(got, "xdsproxy VERSION")
	golden.Is(d.t, "testdata/"+name+".txt", got)
}

func (d *desk) export(what string, x Export, source ...string) {
	d.t.Helper()
	d.run(what, func(o *input.Opener) error {
		x.Opener, x.Judge, x.Inside = o, check.Options{}, true
		return x.Run(d.t.Context(), source)
	})
}

// TestForms: each form of a recording, of a part of it and of a script, as it is printed.
func TestForms(t *testing.T) {
	d := newDesk(t)
	script := filepath.Join("..", "..", "check", "testdata", "stories", "nack-received-fleet-of-one-cause.xds")
	for _, form := range Forms {
		d.export(form, Export{Form: form}, sessionFile("grpc-go-nack"))
		d.export(form+" of a part", Export{Form: form, Filter: "kind:nack"}, sessionFile("envoy-sotw-nack"))
		d.export(form+" of entries", Export{Form: form, Seqs: []string{"3..5", "9"}}, sessionFile("envoy-sotw-nack"))
		d.export(form+" of a script", Export{Form: form, Seqs: []string{"1..3"}}, script)
		d.export(form+" of nothing", Export{Form: form, Filter: "type:rtds"}, sessionFile("envoy-sotw-nack"))
		d.export(form+" of a pipe", Export{Form: form}, "-")
		d.export(form+" masked", Export{Form: form, Mask: true}, sessionFile("envoy-sotw-nack"))
		d.export(form+" bare", Export{Form: form, Bare: true}, sessionFile("envoy-sotw-nack"))
		d.export(form+" for a client", Export{Form: form, Client: "envoy"}, sessionFile("envoy-sotw-nack"))
		d.export(form+" with types", Export{Form: form, Embed: true, EmbedAsked: true}, sessionFile("envoy-sotw-nack"))
		d.export(form+" since", Export{Form: form, Tables: Tables{Since: "1h"}}, sessionFile("envoy-sotw-nack"))
		d.export(form+" of two", Export{Form: form}, sessionFile("envoy-sotw-nack"), sessionFile("demo"))
		d.export(form+" of no file", Export{Form: form, Path: d.at("none")}, d.at("nowhere.xdsp"))
	}
	d.files(d.dir)
	d.golden("forms")
}

// TestWritten: what is written to files, that nothing is overwritten, and that what is written
// is what was chosen.
func TestWritten(t *testing.T) {
	d := newDesk(t)
	source := sessionFile("envoy-sotw-nack")
	for _, tc := range []struct {
		name string
		x    Export
	}{
		{"all.xdsp", Export{}},
		{"nack.xdsp", Export{Filter: "kind:nack"}},
		{"bare.xdsp", Export{Filter: "kind:nack", Bare: true}},
		{"entries.xdsp", Export{Seqs: []string{"5", "16..18"}}},
		{"none.xdsp", Export{Filter: "type:rtds"}},
		{"masked.xdsp", Export{Mask: true}},
		{"repaired.xdsp", Export{Repairing: true}},
		{"hidden.xdsp", Export{Pseudonymous: true, Seqs: []string{"5"}}},
		{"hidden.csv", Export{Form: "csv", Pseudonymous: true}},
		{"all.xds", Export{Form: formScript}},
		{"all.pcapng", Export{Form: formPackets}},
		{"all.log", Export{Form: "binarylog"}},
		{"folder", Export{Form: formFolder}},
		{"tables", Export{Form: formTables, Tables: Tables{Cluster: "prod"}}},
		{"all.html", Export{Form: formPage}},
		{"envoy.yaml", Export{Form: formBootstrap}},
		{"of-envoy.yaml", Export{Form: formBootstrap, Client: "envoy"}},
		{"of-nobody.yaml", Export{Form: formBootstrap, Client: "envoi"}},
	} {
		if tc.x.Form == "" {
			tc.x.Form = FormRecording
		}
		tc.x.Path = d.at(tc.name)
		d.export(tc.name, tc.x, source)
		d.export(tc.name+" again", tc.x, source)
		if strings.HasSuffix(tc.name, ".xdsp") {
			d.entries(tc.x.Path)
		}
	}
	for _, name := range []string{"a.xdsp", "b.csv", "c", "d.yml", "e.xds", "f.doc", "g.mmd", "h.pcapng", "i.tar.html"} {
		form, err := FormOf(name)
		fmt.Fprintf(&d.text, "-- %s is %q, %v\n", name, form, err)
	}
	// What others wrote, and what was written just now, becomes a recording again.
	for _, name := range []string{"all.log", "all.pcapng", "envoy.yaml", "all.html", "all.xdsp", "all.xds", "nowhere"} {
		to := d.at("from-" + name + ".xdsp")
		for range 2 {
			d.run("import "+name, func(o *input.Opener) error { return ImportFile(o.Console, d.at(name), to) })
		}
		d.entries(to)
	}
	edited := d.at("edited.xdsp")
	for range 2 {
		d.run("import a folder", func(o *input.Opener) error { return ImportFolder(t.Context(), o.Console, d.at("folder"), edited) })
	}
	d.entries(edited)
	if err := os.WriteFile(d.at("folder/session.yaml"), []byte("entries: [1"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.run("import a broken folder", func(o *input.Opener) error {
		return ImportFolder(t.Context(), o.Console, d.at("folder"), d.at("other.xdsp"))
	})
	d.damaged(source)
	d.golden("written")
}

// damaged rescues what is readable of a recording that was cut, and of one with a hole.
func (d *desk) damaged(source string) {
	raw, err := os.ReadFile(source)
	if err != nil {
		d.t.Fatal(err)
	}
	hole := bytes.Clone(raw)
	clear(hole[len(hole)/2 : len(hole)/2+100])
	headless := bytes.Clone(raw)
	clear(headless[:40])
	for name, b := range map[string][]byte{"cut": raw[:len(raw)*2/3], "hole": hole, "headless": headless, "garbage": bytes.Repeat([]byte("x"), 1000), "empty": nil} {
		if err := os.WriteFile(d.at(name+".xdsp"), b, 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
	for _, name := range []string{"cut", "hole", "headless", "garbage", "empty"} {
		d.export("repair "+name, Export{Form: FormRecording, Repairing: true, Path: d.at("whole-" + name + ".xdsp")}, d.at(name+".xdsp"))
		d.entries(d.at("whole-" + name + ".xdsp"))
		d.export("csv of "+name, Export{Form: "csv"}, d.at(name+".xdsp"))
	}
	for _, name := range []string{"cut", "hole"} { // the newest segment, with nothing in it and with something
		if err := os.WriteFile(d.at(name+".000001.xdsp"), raw, 0o600); err != nil {
			d.t.Fatal(err)
		}
		d.export("repair "+name+" with an older segment", Export{Form: FormRecording, Repairing: true, Path: d.at("newest-" + name + ".xdsp")}, d.at(name+".xdsp"))
	}
}

// TestReports: what a report proves, and what is in its zip.
func TestReports(t *testing.T) {
	d := newDesk(t)
	source := sessionFile("envoy-sotw-nack")
	for i, args := range [][]string{
		nil,
		{source},
		{source, "nack-received"},
		{source, "17"},
		{source, "nack-recieved"},
		{source, "99999"},
		{source, "nack-received", "5"},
		{sessionFile("envoy-delta")},
		{"-"},
		{d.at("nowhere.xdsp")},
		{sessionFile("demo"), "1"},
	} {
		path := d.at(fmt.Sprintf("%d.zip", i))
		for range 2 {
			d.run(fmt.Sprintf("report %q", args), func(o *input.Opener) error {
				return (&Report{Export: &Export{Opener: o, Path: path, Inside: true}, Yes: true}).Run(t.Context(), args)
			})
		}
		z, err := zip.OpenReader(path)
		if err != nil {
			continue
		}
		for _, f := range z.File {
			fmt.Fprintf(&d.text, "-- %s\n", f.Name)
		}
		z.Close()
	}
	for _, r := range []Report{
		{Export: &Export{Pseudonymous: true}, Dump: "dump.json"},
		{Export: &Export{KeyFile: "key"}},
		{Export: &Export{Pseudonymous: true, Path: d.at("hidden.zip")}, Yes: true},
		{Export: &Export{Path: d.at("dumped.zip")}, Dump: d.at("nowhere.json"), Yes: true},
		{Export: &Export{Path: d.at("asked.zip")}},
	} {
		d.run("report", func(o *input.Opener) error {
			r.Opener, r.Inside = o, true
			return r.Run(t.Context(), []string{source})
		})
	}
	d.files(d.dir)
	d.golden("reports")
}
