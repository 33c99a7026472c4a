package columns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// walkFile reads a recording as commands do. In pieces, because that is how contents
// that repeat are found.
func walkFile(path string, stop session.Seq) Walk {
	return func(step *check.Checker, visit func(*session.Entry, *check.Change) error) error {
		r, err := recorder.Open(path)
		if err != nil {
			return err
		}
		defer r.Close()
		r.Pieces()
		for {
			e, err := r.Next(context.Background())
			if errors.Is(err, io.EOF) || stop > 0 && err == nil && e.Seq > stop {
				return nil
			}
			if err != nil {
				return err
			}
			c := step.Step(&e)
			if err := visit(&e, &c); err != nil {
				return err
			}
		}
	}
}

func recordingOf(path string) Recording {
	return Recording{Cluster: "default", Proxy: filepath.Base(path), Name: filepath.Base(filepath.Dir(path)) + "-" + strings.TrimSuffix(filepath.Base(path), ".xdsp")}
}

func exportFile(t *testing.T, d *Dir, path string, stop session.Seq) Done {
	t.Helper()
	done, err := d.Export(recordingOf(path), check.NewChecker(check.Options{}), walkFile(path, stop))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return done
}

func openDir(t *testing.T, root string, o Options) *Dir {
	t.Helper()
	o.quick = true
	d, err := Open(root, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func closeDir(t *testing.T, d *Dir) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// duck answers questions, one after the other: to start it takes longer than most
// of them.
type duck struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	said bytes.Buffer
}

// idle are the engines that nobody asks. They end with the tests, when their input does.
var idle = make(chan *duck, 4)

func startDuck(t *testing.T) *duck {
	t.Helper()
	tools, err := filepath.Abs("../../../.tools/duckdb")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(tools, "duckdb")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("DuckDB is not there; make duckdb installs it")
		}
		t.Skip("DuckDB is not there; make duckdb installs it")
	}
	e := &duck{cmd: exec.Command("python3", "-c", `
import sys, json, os, glob, duckdb, datetime
def plain(v):
    if isinstance(v, datetime.datetime): return v.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(v, datetime.date): return v.isoformat()
    if isinstance(v, bytes): return v.hex()
    return v
def answer(root, sql):
    c = duckdb.connect(config={"threads": 2})
    c.execute("SET TimeZone='UTC'")
    c.execute("SET enable_progress_bar=false") # it would be in the answers
    for t in "entries acks connections findings clients resources bodies".split():
        if glob.glob(f"{root}/{t}/**/*.parquet", recursive=True): # of what was killed, some have a directory only
            c.execute(f"CREATE VIEW {t} AS SELECT * FROM read_parquet('{root}/{t}/**/*.parquet', hive_partitioning=true)")
    rows = []
    for one in sql.split("\n;\n"):
        r = c.execute(one)
        names = [d[0] for d in r.description]
        rows += [{n: plain(v) for n, v in zip(names, row)} for row in r.fetchall()]
    c.close()
    return rows
for line in sys.stdin:
    ask = json.loads(line)
    try:
        told = {"rows": answer(ask["root"], ask["sql"])}
    except Exception as err:
        told = {"error": str(err)}
    json.dump(told, sys.stdout)
    sys.stdout.flush()
`)}
	e.cmd.Env = append(os.Environ(), "PYTHONPATH="+tools)
	e.cmd.Stderr = &e.said
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	e.out = json.NewDecoder(out)
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return e
}

// ask asks DuckDB: each row is an object of JSON.
func ask(t *testing.T, root, sql string) (rows []map[string]any) {
	t.Helper()
	var e *duck
	select {
	case e = <-idle:
	default:
		e = startDuck(t)
	}
	question, err := json.Marshal(map[string]string{"root": root, "sql": sql})
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		Rows  []map[string]any
		Error string
	}
	if _, err = e.in.Write(append(question, '\n')); err == nil {
		err = e.out.Decode(&told)
	}
	if err == nil && told.Error != "" {
		err = errors.New(told.Error)
	}
	if err != nil {
		_ = e.cmd.Process.Kill() // it may be in the middle of an answer that nobody reads
		_ = e.cmd.Wait()
		t.Fatalf("%v\n%s\n%s", err, sql, e.said.Bytes())
	}
	select {
	case idle <- e:
	default:
		_ = e.in.Close()
		_ = e.cmd.Wait()
	}
	return told.Rows
}

func sessionFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, glob := range []string{"../../../check/testdata/sessions/*.xdsp", "../../../check/testdata/systems/*.xdsp"} {
		files, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, files...)
	}
	if len(out) < 80 {
		t.Fatalf("only %d sessions", len(out))
	}
	return out
}

// What DuckDB reads is, row for row, what watch and check say of every session of real
// clients and servers.
func TestAllSessions(t *testing.T) {
	root := t.TempDir()
	d := openDir(t, root, Options{})
	files := sessionFiles(t)
	next := make(chan string)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for path := range next {
				if _, err := d.Export(recordingOf(path), check.NewChecker(check.Options{}), walkFile(path, 0)); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
	for _, f := range files {
		next <- f
	}
	close(next)
	wg.Wait()
	closeDir(t, d)

	entries := make(map[string]map[string]any)
	for _, table := range Tables {
		for _, row := range ask(t, root, "SELECT * FROM "+table) {
			for name, v := range row {
				if v == "" {
					t.Fatalf("%s.%s is empty, and not null: %v", table, name, row)
				}
			}
		}
	}
	for _, row := range ask(t, root, "SELECT * FROM entries") {
		key := fmt.Sprintf("%v/%v", row["recording"], row["seq"])
		if entries[key] != nil {
			t.Fatalf("%s is there twice", key)
		}
		entries[key] = row
	}
	acks := make(map[string]map[string]any)
	for _, row := range ask(t, root, "SELECT * FROM acks") {
		acks[fmt.Sprintf("%v/%v", row["recording"], row["seq"])] = row
	}
	findings := make(map[string][]string)
	for _, row := range ask(t, root, "SELECT * FROM findings ORDER BY recording, first_at, last_seq") {
		name := row["recording"].(string)
		findings[name] = append(findings[name], findingWords(row))
	}
	contents := make(map[string]string)
	for _, row := range ask(t, root, "SELECT r.content, r.size, b.bytes FROM resources r FULL JOIN bodies b USING (content)") {
		id := row["content"].(string)
		if contents[id] != "" || row["bytes"] == nil || row["size"] == nil {
			t.Fatalf("content %s: %v", id, row)
		}
		contents[id] = "x" + row["bytes"].(string)
	}
	carried, met := 0, make(map[string]bool)
	for _, path := range files {
		name := recordingOf(path).Name
		checker := check.NewChecker(check.Options{})
		err := walkFile(path, 0)(checker, func(e *session.Entry, c *check.Change) error {
			key := fmt.Sprintf("%s/%d", name, e.Seq)
			if e.Carried {
				carried++
				return nil
			}
			row := entries[key]
			if row == nil {
				t.Fatalf("%s: no row", key)
			}
			delete(entries, key)
			compareEntry(t, key, row, e, c)
			compareChanged(t, key, row, c, contents, met)
			ack := acks[key]
			if is := c.What == "ACK" || c.What == "NACK"; is != (ack != nil) {
				t.Errorf("%s is %q, and its row of acks is %v", key, c.What, ack)
			} else if is {
				compareAck(t, key, ack, c)
			}
			delete(acks, key)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		all := checker.Findings()
		slices.SortStableFunc(all, func(a, b check.Finding) int { return a.At.Compare(b.At) })
		for i := range all {
			f := render.NewFinding(&all[i])
			at, _ := time.Parse(time.RFC3339Nano, f.At)
			want = append(want, fmt.Sprint(f.Rule, f.Severity, f.Fault, f.Confidence, f.Client, f.Type, f.Names, f.Seqs, at.UTC().Truncate(time.Microsecond).Format(stamp), f.Count, f.Message))
		}
		got := findings[name]
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: findings\n%s\nnot\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		delete(findings, name)
	}
	if len(entries)+len(acks)+len(findings) > 0 {
		t.Errorf("rows of nothing: %v %v %v", entries, acks, findings)
	}
	for id := range contents {
		if !met[id] {
			t.Errorf("content %s is in no response", id)
		}
	}
	if len(met) < 200 {
		t.Errorf("only %d contents", len(met))
	}
	compareClients(t, root, files)
}

const stamp = "2006-01-02T15:04:05.000000Z"

func findingWords(row map[string]any) string {
	var names []string
	for _, n := range row["names"].([]any) {
		names = append(names, n.(string))
	}
	var seqs []uint64
	for _, n := range row["seqs"].([]any) {
		seqs = append(seqs, uint64(n.(float64)))
	}
	return fmt.Sprint(row["rule"], row["severity"], row["fault"], row["confidence"], word(row["client"]), word(row["type"]), names, seqs, row["first_at"], int(row["count"].(float64)), row["message"])
}

func word(v any) string {
	if v == nil {
		return ""
	}
	return v.(string)
}

func number(v any) int64 {
	if v == nil {
		return 0
	}
	return int64(v.(float64))
}

func words(v any) []string {
	var out []string
	for _, w := range v.([]any) {
		out = append(out, w.(string))
	}
	return out
}

// compareEntry holds a row against what watch -o jsonl says.
func compareEntry(t *testing.T, key string, row map[string]any, e *session.Entry, c *check.Change) {
	t.Helper()
	o := render.NewObject(e, c)
	at, err := time.Parse(time.RFC3339Nano, o.Time)
	if err != nil {
		t.Fatal(err)
	}
	got := []any{
		row["time"], number(row["conn"]), number(row["stream"]), number(row["h2_stream"]), word(row["client"]), row["kind"], word(row["method"]),
		word(row["variant"]), word(row["type"]), word(row["type_url"]), word(row["what"]), words(row["also"]), word(row["version"]), word(row["nonce"]),
		number(row["size"]), number(row["wire_size"]), words(row["problems"]), word(row["encoding"]), row["cluster"], row["date"],
	}
	want := []any{
		at.UTC().Truncate(time.Microsecond).Format(stamp), int64(o.Conn), int64(o.Stream), int64(o.H2Stream), o.Client, o.Kind, o.Method,
		o.Variant, o.Type, o.TypeURL, o.What, o.Also, o.Version, o.Nonce, o.Size, o.WireSize, texts(o.Problems), o.Encoding, "default", at.UTC().Format(time.DateOnly),
	}
	if fmt.Sprint(got...) != fmt.Sprint(want...) {
		t.Errorf("%s\n%q\nnot\n%q", key, got, want)
	}
	if word(row["side"]) != o.Side {
		t.Errorf("%s: side %v, not %q", key, row["side"], o.Side)
	}
	if o.Error != nil && (number(row["error_code"]) != int64(o.Error.Code) || word(row["error_message"]) != text(o.Error.Message)) {
		t.Errorf("%s: error %v %v", key, row["error_code"], row["error_message"])
	}
	if m := c.Message; m != nil && m.Response() && number(row["resources"]) != int64(len(m.Resources)) {
		t.Errorf("%s: %v resources of %d", key, row["resources"], len(m.Resources))
	}
	if number(row["answers"]) != int64(c.Answers) {
		t.Errorf("%s: answers %v, not %d", key, row["answers"], c.Answers)
	}
}

// compareChanged holds contents against the bytes of the message.
func compareChanged(t *testing.T, key string, row map[string]any, c *check.Change, contents map[string]string, met map[string]bool) {
	t.Helper()
	changed, names := words(row["changed"]), words(row["changed_names"])
	want := 0
	if n := c.Response; n != nil {
		want = len(n.Added) + len(n.Changed) + len(n.Nameless)
	}
	if len(changed) != want || len(names) != want {
		t.Fatalf("%s: %d contents and %d names of %d", key, len(changed), len(names), want)
	}
	for i, id := range changed {
		met[id] = true
		found := false
		for j := range c.Message.Resources {
			r := &c.Message.Resources[j]
			found = found || text(decode.NormalName(r.Name)) == names[i] && fmt.Sprintf("x%x", r.Body) == contents[id]
		}
		if !found {
			t.Errorf("%s: content %d, %q, is none of the response", key, i, names[i])
		}
	}
}

func compareAck(t *testing.T, key string, row map[string]any, c *check.Change) {
	t.Helper()
	if row["verdict"] != c.What || number(row["response_seq"]) != int64(c.Answers) || word(row["nonce"]) != c.Message.Nonce ||
		word(row["request_version"]) != c.Message.Version || number(row["latency_us"]) != c.Waited.Microseconds() {
		t.Errorf("%s: %v", key, row)
	}
	if c.Answers != 0 && c.Message.Nonce != "" && row["response_time"] == nil {
		t.Errorf("%s: no time of the response: %v", key, row)
	}
}

// compareClients holds where clients stand against status.
func compareClients(t *testing.T, root string, files []string) {
	t.Helper()
	got := make(map[string]string)
	for _, row := range ask(t, root, "SELECT * FROM clients") {
		key := fmt.Sprint(row["recording"], "/", word(row["client"])+word(row["address"]), "/", row["type"])
		if got[key] != "" {
			t.Errorf("%s is there twice", key)
		}
		got[key] = fmt.Sprint(row["state"], word(row["version"]), word(row["sent"]), word(row["rejected"]), number(row["accepted"]), number(row["nacks"]), number(row["have"]))
	}
	for _, path := range files {
		checker := check.NewChecker(check.Options{})
		_ = walkFile(path, 0)(checker, func(*session.Entry, *check.Change) error { return nil })
		for _, c := range checker.Status() {
			for _, ts := range c.Types {
				if ts.State.String() == "-" {
					continue
				}
				key := fmt.Sprint(recordingOf(path).Name, "/", c.Client, "/", ts.Type)
				if want := fmt.Sprint(ts.State, ts.Version, ts.Sent, ts.Rejected, ts.Accepted, ts.Nacks, ts.Have); got[key] != want {
					t.Errorf("%s: %q, not %q", key, got[key], want)
				}
				delete(got, key)
			}
		}
	}
	if len(got) > 0 {
		t.Errorf("rows of nothing: %v", got)
	}
}

// What is empty is null, whatever comes before and after it.
func TestNulls(t *testing.T) {
	if slow {
		t.Skip("the race detector finds nothing in it")
	}
	for n := range 300 {
		path := filepath.Join(t.TempDir(), "x")
		w, err := newTable[entryRow](&Options{quick: true}, path, Entries, nil)
		if err != nil {
			t.Fatal(err)
		}
		is := func(i int) bool { return (i*7919+n*104729)%5 == 0 || i >= n%20 && i < 2*(n%20) && n < 100 }
		for i := range 150 {
			r := entryRow{Seq: int64(i)}
			if is(i) {
				r.Version, r.Answers = "v", 7
			}
			if err := w.add(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.seal(); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := f.Stat()
		p, err := parquet.OpenFile(f, info.Size())
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range []string{"version", "answers"} {
			leaf, _ := p.Schema().Lookup(column)
			pages := p.RowGroups()[0].ColumnChunks()[leaf.ColumnIndex].Pages()
			row := 0
			for {
				page, err := pages.ReadPage()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				values := make([]parquet.Value, page.NumValues())
				if n, err := page.Values().ReadValues(values); n != len(values) || err != nil && !errors.Is(err, io.EOF) {
					t.Fatal(n, err)
				}
				for _, v := range values {
					if v.IsNull() == is(row) {
						t.Fatalf("pattern %d: %s of row %d is %v", n, column, row, v)
					}
					row++
				}
			}
			if row != 150 {
				t.Fatalf("%d rows", row)
			}
		}
		f.Close()
	}
}
