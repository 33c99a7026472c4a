package export

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// recorded is a recording of a script on the desk, whose secrets are in the clear.
func (d *desk) recorded(name, text string) string {
	d.t.Helper()
	s, err := script.Parse(name, []byte(text))
	if err != nil {
		d.t.Fatal(err)
	}
	log, err := recorder.Create(d.at(name), recorder.Options{NoTicks: true})
	if err != nil {
		d.t.Fatal(err)
	}
	for e := range s.Entries() {
		e.Seq = 0
		log.Append(e)
	}
	if err := log.Close(); err != nil {
		d.t.Fatal(err)
	}
	return d.at(name)
}

// file writes a file on the desk.
func (d *desk) file(name, text string) string {
	d.t.Helper()
	if err := os.WriteFile(d.at(name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	return d.at(name)
}

const spoken = `C> type=CDS V= N= R=[] node=gw-0
S< type=CDS V=1 N=a res=[c1,c2]
C> type=CDS V=1 N=a R=[]
C> type=EDS V= N= R=[c1]
S< type=EDS V=1 N=b res=[c1]
C> type=EDS V=1 N=b R=[c1]
t=+60s S< type=CDS V=2 N=c res=[c1]
C> type=CDS V=1 N=c R=[] err="no such thing" code=13
`

// TestClear: of a recording whose secrets are in the clear that is said, whatever is made
// of it; and what is made of one with notes has them.
func TestClear(t *testing.T) {
	d := newDesk(t)
	source := d.recorded("clear.xdsp", spoken)
	facts, err := recorder.Inspect(source)
	if err != nil {
		t.Fatal(err)
	}
	beside := notes.New(facts.Created)
	for _, seq := range []session.Seq{5, 8, 999} {
		beside.Entries[seq] = notes.Note{Marked: true, Text: "look here"}
	}
	if err := notes.Write(source, beside); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		x    Export
	}{
		{"all.xdsp", Export{Form: FormRecording}},
		{"masked.xdsp", Export{Form: FormRecording, Mask: true}},
		{"one.xdsp", Export{Form: FormRecording, Seqs: []string{"5"}}},
		{"marked.csv", Export{Form: "csv", Filter: "marked:yes"}},
		{"none.csv", Export{Form: "csv", Seqs: []string{"5"}, Filter: "kind:nack"}},
		{"bare.xdsp", Export{Form: FormRecording, Seqs: []string{"5"}, Filter: "kind:nack", Bare: true}},
		{"all.md", Export{Form: "md"}},
		{"all.pcapng", Export{Form: formPackets}},
		{"folder", Export{Form: formFolder}},
		{"envoy.json", Export{Form: formBootstrap}},
		{"-", Export{Form: formBootstrap}},
		{"hidden.xdsp", Export{Form: FormRecording, Pseudonymous: true}},
		{"tables", Export{Form: formTables, Tables: Tables{Cluster: "c"}}},
		{"clear-tables", Export{Form: formTables, Tables: Tables{Cluster: "c", Clear: true}}},
	} {
		if c.x.Path = c.name; c.name != "-" {
			c.x.Path = d.at(c.name)
		}
		d.export(c.name, c.x, source)
		if strings.HasSuffix(c.name, ".xdsp") {
			d.entries(c.x.Path)
		}
	}
	for _, name := range []string{"masked.xdsp", "one.xdsp", "all.xdsp"} {
		facts, err := recorder.Inspect(d.at(name))
		if err != nil {
			t.Fatal(err)
		}
		read, err := notes.Read(d.at(name), facts.Created)
		if err != nil {
			t.Error(err)
			continue
		}
		if want := map[string]int{"masked.xdsp": 2, "all.xdsp": 2, "one.xdsp": 1}[name]; len(read.Entries) != want {
			t.Errorf("%s has %d notes, not %d", name, len(read.Entries), want)
		}
	}
	d.golden("clear")
}

// TestNames: stand-ins for names, whose key is kept, and is the same again.
func TestNames(t *testing.T) {
	d := newDesk(t)
	source := sessionFile("envoy-sotw-nack")
	d.file("bad.key", "no key")
	d.file("there.csv", "x")
	for _, c := range []struct {
		name string
		x    Export
	}{
		{"no key", Export{Form: "csv", Pseudonymous: true}},
		{"to a pipe, without a key", Export{Form: "csv", Path: "-", Pseudonymous: true}},
		{"a key that is none", Export{Form: "csv", Path: d.at("a.csv"), KeyFile: d.at("bad.key"), Pseudonymous: true}},
		{"a file that is there", Export{Form: "csv", Path: d.at("there.csv"), KeyFile: d.at("k"), Pseudonymous: true}},
		{"a key in no directory", Export{Form: "csv", KeyFile: d.at("nowhere/k"), Pseudonymous: true}},
		{"a file in no directory", Export{Form: FormRecording, Path: d.at("nowhere/a.xdsp"), KeyFile: d.at("k2"), Pseudonymous: true}},
		{"a common name", Export{Form: FormRecording, Path: d.at("envoy.xdsp"), Pseudonymous: true}},
		{"a name that is hidden", Export{Form: FormRecording, Path: d.at("of-ingress.xdsp"), Pseudonymous: true}},
		{"none of it", Export{Form: FormRecording, Path: d.at("none.xdsp"), Filter: "kind:gap", Pseudonymous: true}},
		{"a part", Export{Form: FormRecording, Path: d.at("part.xdsp"), Filter: "kind:nack", Bare: true, Pseudonymous: true}},
	} {
		d.export(c.name, c.x, source)
	}
	// A key in the place of what is written is refused before anything is there, by whatever way both are named.
	if err := os.Symlink(d.dir, d.at("link")); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{FormRecording, "csv"} {
		for _, key := range []string{d.at("both"), d.dir + "/./both", d.at("link/both")} {
			_, _, err := export(t, Export{Form: form, Path: d.at("both"), KeyFile: key, Pseudonymous: true, Inside: true}, source)
			f, is := errors.AsType[*console.Failure](err)
			if !is || f.Code != console.ExitUsage || !strings.HasPrefix(err.Error(), "-w and --key-file are both ") || len(f.Hints) != 1 {
				t.Errorf("%s, %s: %v", form, key, err)
			}
		}
	}
	r := Report{Export: &Export{Pseudonymous: true, Path: d.at("both"), KeyFile: d.at("link/both")}, Yes: true}
	d.run("a report and its key in one file", func(o *input.Opener) error {
		r.Opener, r.Inside = o, true
		return r.Run(t.Context(), []string{source})
	})
	if err := os.Remove(d.at("link")); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, key := range []string{"first", "first", "second"} {
		out, said, err := export(t, Export{Form: "csv", KeyFile: d.at(key), Pseudonymous: true, Inside: true}, source)
		if err != nil || strings.Contains(out, "ingress") || !strings.Contains(said, "names come back with: xdsproxy reveal "+d.at(key)) {
			t.Errorf("%v; %s", err, said)
		}
		if before, again := texts[key]; again && before != out {
			t.Error("the same key gives other stand-ins")
		}
		texts[key] = out
	}
	if texts["first"] == texts["second"] {
		t.Error("another key gives the same stand-ins")
	}
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"bad.key", "envoy.xdsp", "envoy.xdsp.key", "first", "part.xdsp", "part.xdsp.key", "second", "there.csv"}; !slices.Equal(left, want) {
		t.Errorf("on the desk are %q", left)
	}
	d.golden("names")
}

// TestTables: what tables are refused for, and what becomes of many recordings of which
// some cannot be read.
func TestTables(t *testing.T) {
	d := newDesk(t)
	source := sessionFile("envoy-sotw-nack")
	whole, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(d.at("many/gw-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.file("many/a.xdsp", "PK")
	hole := bytes.Clone(whole)
	clear(hole[len(hole)/2 : len(hole)/2+100])
	d.file("many/b.xdsp", string(hole))
	d.file("many/gw-1/c.xdsp", string(whole))
	if err := os.MkdirAll(d.at("good/cluster=prod/date=2026-01-01/proxy=gw-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.file("good/cluster=prod/date=2026-01-01/proxy=gw-1/c.xdsp", string(whole))
	d.file("good/d.xdsp", string(whole))
	if err := os.MkdirAll(d.at("empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	script, listed := d.file("a.xds", spoken), d.file("cds.yaml", "resources: []\n")
	in := Tables{Cluster: DefaultCluster}
	for _, c := range []struct {
		name    string
		x       Export
		sources []string
	}{
		{"of nothing", Export{Path: d.at("x"), Tables: in}, nil},
		{"to nowhere", Export{Tables: in}, []string{source}},
		{"to a pipe", Export{Path: "-", Tables: in}, []string{source}},
		{"to a bucket", Export{Path: "s3://b/x", Tables: in}, []string{source}},
		{"entries", Export{Path: d.at("x"), Seqs: []string{"1"}, Tables: in}, []string{source}},
		{"filtered", Export{Path: d.at("x"), Filter: "kind:nack", Tables: in}, []string{source}},
		{"bare", Export{Path: d.at("x"), Bare: true, Tables: in}, []string{source}},
		{"hidden", Export{Path: d.at("x"), Pseudonymous: true, Tables: in}, []string{source}},
		{"masked", Export{Path: d.at("x"), Mask: true, Tables: in}, []string{source}},
		{"repaired", Export{Path: d.at("x"), Repairing: true, Tables: in}, []string{source}},
		{"without a cluster", Export{Path: d.at("x")}, []string{source}},
		{"a long cluster", Export{Path: d.at("x"), Tables: Tables{Cluster: strings.Repeat("c", 1000)}}, []string{source}},
		{"since when", Export{Path: d.at("x"), Tables: Tables{Cluster: "c", Since: "yesterday"}}, []string{source}},
		{"of a proxy", Export{Path: d.at("x"), Tables: in}, []string{"127.0.0.1:19000"}},
		{"of a pipe", Export{Path: d.at("x"), Tables: in}, []string{"-"}},
		{"of a script", Export{Path: d.at("x"), Tables: in}, []string{script}},
		{"of a file of Envoy", Export{Path: d.at("x"), Tables: in}, []string{listed}},
		{"of what is not there", Export{Path: d.at("x"), Tables: in}, []string{d.at("none.xdsp")}},
		{"of an empty directory", Export{Path: d.at("x"), Tables: in}, []string{d.at("empty")}},
		{"of an empty directory, since", Export{Path: d.at("x"), Tables: Tables{Cluster: "c", Since: "2026-01-01"}}, []string{d.at("empty")}},
		{"of one", Export{Path: d.at("one"), Tables: in}, []string{source}},
		{"of one again", Export{Path: d.at("one"), Tables: in}, []string{source}},
		{"since later", Export{Path: d.at("later"), Tables: Tables{Cluster: "c", Since: "2100-01-01"}}, []string{source}},
		{"since earlier", Export{Path: d.at("earlier"), Tables: Tables{Cluster: "c", Since: "2000-01-01"}}, []string{source}},
		{"of what is no recording", Export{Path: d.at("foreign"), Tables: in}, []string{d.at("many/a.xdsp")}},
		{"of a damaged one", Export{Path: d.at("damaged"), Tables: in}, []string{d.at("many/b.xdsp")}},
		{"of several", Export{Path: d.at("several"), Tables: in}, []string{d.at("good")}},
		{"of several again, and another", Export{Path: d.at("several"), Tables: in}, []string{d.at("good"), sessionFile("demo")}},
		{"to a file", Export{Path: d.at("a.xds"), Tables: in}, []string{source}},
	} {
		c.x.Form = formTables
		d.export(c.name, c.x, c.sources...)
	}
	for _, x := range []Export{{Tables: Tables{Since: "1h"}}, {Tables: Tables{Clear: true}}, {Tables: Tables{Cluster: "c"}}, {Tables: in}} {
		x.Form, x.Seqs = "csv", []string{"5"}
		d.export("no tables", x, source)
	}
	// Of many the first error is the result, unless a damage follows; others are said.
	out, said, err := export(t, Export{Form: formTables, Path: d.at("many-tables"), Tables: in, Inside: true}, d.at("many"))
	if !input.Damaged(err) || !strings.Contains(said, "a.xdsp is not a recording") || !strings.Contains(said, " of 3 recordings to ") || out != "" {
		t.Errorf("%v; %s", err, said)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	x := Export{Form: formTables, Path: d.at("stopped"), Tables: in, Inside: true, Opener: &input.Opener{Console: &console.Console{Ctx: ctx, Stderr: &bytes.Buffer{}}}}
	if err := x.Run(ctx, []string{d.at("good")}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	d.golden("tables")
}

// TestTablesOfParts: parts of a recording that have one name, and it itself, lose nothing to each
// other, and that they count as one is said.
func TestTablesOfParts(t *testing.T) {
	d := newDesk(t)
	source, tables := filepath.Join("..", "..", "check", "testdata", "systems", "istio-router-delta.xdsp"), Tables{Cluster: DefaultCluster}
	part := func(name string, seqs ...string) string {
		t.Helper()
		if err := os.MkdirAll(d.at(filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, _, err := export(t, Export{Form: FormRecording, Path: d.at(name), Seqs: seqs, Inside: true}, source); err != nil {
			t.Fatal(err)
		}
		return d.at(name)
	}
	columns := func(to, want string, sources ...string) (said string) {
		t.Helper()
		_, said, err := export(t, Export{Form: formTables, Path: d.at(to), Tables: tables, Inside: true}, sources...)
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("%v; %s", err, said)
		}
		return said
	}
	const one = "these are one recording, by its name and when it was begun"
	ends := part("r2/whole.xdsp", "1", "38")
	raw, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(d.at("r1"), 0o700); err != nil {
		t.Fatal(err)
	}
	whole := d.file("r1/whole.xdsp", string(raw))
	columns("a", "wrote 2 new entries of 1 recording", ends)
	columns("a", "nothing is new in 1 recording", ends)
	columns("a", "wrote 36 new entries of 1 recording", whole)
	if said := columns("a", "nothing is new in 2 recordings", ends, whole); !strings.Contains(said, one) || !strings.Contains(said, whole+", "+ends) {
		t.Error(said)
	}
	first, last := part("r1/part.xdsp", "1..10"), part("r2/part.xdsp", "20..38")
	if said := columns("b", "wrote 29 new entries of 3 recordings", first, last, first); !strings.Contains(said, one) {
		t.Error(said)
	}
	if said := columns("c", "wrote 10 new entries of 2 recordings", first, first); strings.Contains(said, one) {
		t.Error(said)
	}
}

// TestImports: what a file is, by its beginning; and that what was read is said.
func TestImports(t *testing.T) {
	d := newDesk(t)
	whole, err := os.ReadFile(sessionFile("demo"))
	if err != nil {
		t.Fatal(err)
	}
	dump, err := os.ReadFile(filepath.Join("..", "configdump", "testdata", "secrets.json"))
	if err != nil {
		t.Fatal(err)
	}
	newer := time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)
	var many []string
	for _, id := range strings.Fields("a b c d e f g h i j k l") {
		many = append(many, `{"node":{"id":"`+id+`"},"generic_xds_configs":[{"type_url":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"c","version_info":"1","client_status":"ACKED"}]}`)
	}
	for name, text := range map[string]string{
		"a.gz": "\x1f\x8b\x08\x00", "a.zst": "\x28\xb5\x2f\xfd", "a.xz": "\xfd7zXZ\x00", "a.bz2": "BZh9", "a.zip": "PK\x03\x04",
		"utf16le.json": "\xff\xfe{\x00", "utf16be.json": "\xfe\xff\x00{", "a.xdsp": string(whole), "text": "hello, this is nothing of all that", "empty": "",
		"dump.json": string(dump), "half.json": string(dump[:len(dump)/2]), "clients.json": `{"config":[` + strings.Join(many, ",") + `]}`,
		"no-clients.json": `{"config":[]}`,
		"call.jsonl":      `{"service":"envoy.service.discovery.v3.AggregatedDiscoveryService","method":"StreamAggregatedResources","messages":[{"message_origin":"client","raw_message":"EgMKAWE=","timestamp":"2026-01-01T00:00:00Z"}],"status":{"code":"OK"}}` + "\n" + `{"service":"a.B","method":"C","messages":[]}` + "\n",
		"timeless.jsonl":  `{"service":"envoy.service.discovery.v3.AggregatedDiscoveryService","method":"StreamAggregatedResources","messages":[]}` + "\n",
		"others.jsonl":    `{"service":"a.B","method":"C","messages":[]}` + "\n",
	} {
		if err := os.Chtimes(d.file(name, text), newer, newer); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"a.gz", "a.zst", "a.xz", "a.bz2", "a.zip", "utf16le.json", "utf16be.json", "a.xdsp", "text", "empty", "dump.json", "half.json", "clients.json",
		"no-clients.json", "call.jsonl", "timeless.jsonl", "others.jsonl", "-", "nowhere", "",
	} {
		from := d.at(name)
		if name == "-" {
			from = name
		}
		to := d.at("from-" + name + ".xdsp")
		d.run("import "+name, func(o *input.Opener) error { return ImportFile(o.Console, from, to) })
		if _, err := os.Stat(to); err == nil {
			d.entries(to)
			d.run("import "+name+" again", func(o *input.Opener) error { return ImportFile(o.Console, from, to) })
		}
	}
	d.run("import a URL", func(o *input.Opener) error { return ImportFile(o.Console, "s3://b/x", d.at("x.xdsp")) })
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := ImportFile(&console.Console{Ctx: ctx, Stderr: &bytes.Buffer{}}, d.at("dump.json"), d.at("stopped.xdsp")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := os.Stat(d.at("stopped.xdsp")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	d.golden("imports")
}

// stopping is a context that ends when it has been asked so many times.
type stopping struct {
	context.Context
	left *int
}

func (s stopping) Err() error {
	if *s.left--; *s.left >= 0 {
		return nil
	}
	return context.Canceled
}

// A signal ends an import of which nothing is xDS, in the middle of a file, whatever a
// form makes of an error of reading; and nothing is left of one that had begun.
func TestImportsStop(t *testing.T) {
	d := newDesk(t)
	packet := "\x00\x00\x00\x00\x00\x00\x00\x00\x3c\x00\x00\x00\x3c\x00\x00\x00" + strings.Repeat("\x00", 60)
	call := `{"service":"envoy.service.discovery.v3.AggregatedDiscoveryService","method":"StreamAggregatedResources","messages":[{"timestamp":"2026-01-01T00:00:00Z"}]}` + "\n"
	for name, text := range map[string]string{
		"a.pcap":      "\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x01\x00\x00\x00" + strings.Repeat(packet, 5000),
		"other.jsonl": strings.Repeat(`{"service":"a.B","method":"C","messages":[]}`+"\n", 10000),
		"begun.jsonl": strings.Repeat(call, 3000),
		"binary.log":  strings.Repeat("\x04\x10\x01\x20\x03", 100_000),
	} {
		from, to := d.file(name, text), d.at(name+".xdsp")
		for left := range 4 {
			err := ImportFile(&console.Console{Ctx: stopping{t.Context(), &left}, Stderr: &bytes.Buffer{}}, from, to)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestAsked: what is told before a report is written, what a config_dump is refused for,
// and a finding alone.
func TestAsked(t *testing.T) {
	d := newDesk(t)
	source := sessionFile("envoy-sotw-nack")
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/config_dump":
			_, _ = w.Write([]byte(`{"configs":[]}`))
		case "/text":
			_, _ = w.Write([]byte("no JSON"))
		default:
			http.NotFound(w, r)
		}
	}))
	defer answers.Close()
	d.file("dump.json", `{"configs":[{"token":"s3cr3t-s3cr3t-s3cr3t"}]}`)
	d.file("text.json", "no JSON")
	for name, dump := range map[string]string{"file": d.at("dump.json"), "URL": answers.URL + "/config_dump"} {
		var out, said bytes.Buffer
		r := &Report{Export: &Export{Path: d.at(name + ".zip"), Opener: &input.Opener{Console: &console.Console{Ctx: t.Context(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said}}}, Yes: true, Dump: dump}
		if err := r.Run(t.Context(), []string{source}); err != nil {
			t.Errorf("%s: %v; %s", name, err, said.String())
		}
	}
	for _, c := range []struct {
		name string
		r    Report
		args []string
	}{
		{"told", Report{Export: &Export{Path: d.at("told.zip")}, Yes: true}, []string{source}},
		{"told of entries", Report{Export: &Export{Path: d.at("entries.zip")}, Yes: true}, []string{source, "5", "8"}},
		{"nobody is there", Report{Export: &Export{Path: d.at("asked.zip")}}, []string{source}},
		{"no JSON", Report{Export: &Export{Path: d.at("text.zip")}, Yes: true, Dump: d.at("text.json")}, []string{source}},
		{"hidden, with a key that is none", Report{Export: &Export{Path: d.at("h.zip"), Pseudonymous: true, KeyFile: d.at("text.json")}, Yes: true}, []string{source}},
	} {
		d.run(c.name, func(o *input.Opener) error {
			c.r.Opener = o
			return c.r.Run(t.Context(), c.args)
		})
	}
	for key, want := range map[string]string{"": d.at("hidden.zip.key"), d.at("key"): d.at("key")} {
		var said bytes.Buffer
		hidden := &Export{Path: d.at("hidden.zip"), Pseudonymous: true, KeyFile: key, Opener: &input.Opener{Console: &console.Console{Ctx: t.Context(), Stdin: strings.NewReader(""), Stderr: &said}}}
		err := (&Report{Export: hidden, Yes: true}).Run(t.Context(), []string{source})
		if err != nil || strings.Contains(said.String(), "ingress") || !strings.HasSuffix(said.String(), "names come back with: xdsproxy reveal "+want+" TEXT; keep that file to yourself\n") {
			t.Errorf("%v; %s", err, said.String())
		}
		if _, err := os.Stat(want); err != nil {
			t.Error(err)
		}
		if err := os.Remove(d.at("hidden.zip")); err != nil {
			t.Error(err)
		}
	}
	for _, url := range []string{answers.URL + "/text", answers.URL + "/nothing", "http://127.0.0.1:1/"} {
		r := &Report{Export: &Export{Path: d.at("u.zip"), Opener: &input.Opener{Console: &console.Console{Ctx: t.Context(), Stderr: &bytes.Buffer{}}}}, Yes: true, Dump: url}
		if err := r.Run(t.Context(), []string{source}); err == nil || console.Said(err) && !strings.Contains(err.Error(), "config_dump") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for most, want := range map[int64]bool{14: true, 13: false} {
		if text, err := get(t.Context(), answers.URL+"/config_dump", most); (err == nil) != want || want && len(text) != 14 {
			t.Errorf("at most %d: %q, %v", most, text, err)
		}
	}
	if _, err := get(t.Context(), answers.URL+"/nothing", 9); err == nil || !strings.HasSuffix(err.Error(), "/nothing answers 404 Not Found") {
		t.Error(err)
	}
	for _, c := range []struct {
		name, rule, to string
		seqs           []session.Seq
		zip            bool
	}{
		{"a finding", "nack-received", "finding.xdsp", nil, false},
		{"a finding again", "nack-received", "finding.xdsp", nil, false},
		{"a finding as zip", "nack-received", "finding.zip", nil, true},
		{"none", "version-reused", "none.xdsp", nil, false},
	} {
		d.run(c.name, func(o *input.Opener) error {
			return (&Report{Export: &Export{Opener: o, Name: source, Path: d.at(c.to), Judge: check.Options{}, Inside: true}, Yes: true}).Finding(t.Context(), c.rule, c.seqs, c.zip)
		})
	}
	d.entries(d.at("finding.xdsp"))
	d.golden("asked")
}
