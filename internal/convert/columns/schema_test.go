package columns

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// The columns that DuckDB finds are those of docs/columns.md, of the types that it says.
func TestSchema(t *testing.T) {
	root := t.TempDir()
	d := openDir(t, root, Options{Program: "x"})
	for _, path := range sessionFiles(t)[:20] {
		exportFile(t, d, path, 0)
	}
	closeDir(t, d)
	doc, err := os.ReadFile("../../../docs/columns.md")
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{
		"INT64": "BIGINT", "INT32": "INTEGER", "STRING": "VARCHAR", "TIMESTAMP": "TIMESTAMP WITH TIME ZONE", "BOOLEAN": "BOOLEAN",
		"LIST of STRING": "VARCHAR[]", "LIST of INT64": "BIGINT[]", "BLOB": "BLOB",
	}
	sections := regexp.MustCompile(`(?m)^## `).Split(string(doc), -1)
	row := regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| ([A-Z0-9 ofLIST,]*) \\|")
	said := make(map[string]map[string]string)
	common := make(map[string]string)
	for _, s := range sections {
		title, _, _ := strings.Cut(s, "\n")
		cols := make(map[string]string)
		for _, m := range row.FindAllStringSubmatch(s, -1) {
			kinds := strings.Split(m[2], ", ")
			for i, name := range strings.Split(strings.ReplaceAll(m[1], "`", ""), ", ") {
				cols[name] = types[kinds[min(i, len(kinds)-1)]]
			}
		}
		if title == "Rules for all tables" {
			common = cols
		}
		said[title] = cols
	}
	for _, table := range Tables {
		want := maps.Clone(said[table])
		if len(want) == 0 {
			t.Fatalf("docs/columns.md does not describe %s", table)
		}
		for name, typ := range common {
			if table != Bodies && (table != Resources || name == "proxy" || name == "recording") {
				want[name] = typ
			}
		}
		want["cluster"], want["date"] = "VARCHAR", "DATE"
		got := make(map[string]string)
		for _, r := range ask(t, root, "DESCRIBE "+table) {
			got[r["column_name"].(string)] = r["column_type"].(string)
		}
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if got[name] != want[name] {
				t.Errorf("%s.%s is %s, and %q in docs/columns.md", table, name, got[name], want[name])
			}
		}
		for name := range want {
			if got[name] == "" {
				t.Errorf("%s.%s is not there", table, name)
			}
		}
	}
	for _, r := range ask(t, root, "SELECT DISTINCT decode(value) AS version FROM parquet_kv_metadata('"+root+"/*/*/*/*.parquet') WHERE decode(key) = 'xdsproxy.schema'") {
		if r["version"] != "1" {
			t.Errorf("schema %v", r)
		}
	}
	compressed := ask(t, root, "SELECT count(*) FILTER (compression = 'ZSTD') AS zstd, count(*) AS n, count(*) FILTER (encodings LIKE '%DICT%') AS dict FROM parquet_metadata('"+root+"/*/*/*/*.parquet')")[0]
	if compressed["zstd"] != compressed["n"] || compressed["dict"].(float64) < 100 {
		t.Errorf("%v", compressed)
	}
}

// Names of columns and their types never change: what version 1 has is written down
// here once more.
func TestSchemaStays(t *testing.T) {
	var b strings.Builder
	for _, s := range []*parquet.Schema{
		parquet.SchemaOf(entryRow{}), parquet.SchemaOf(ackRow{}), parquet.SchemaOf(connectionRow{}), parquet.SchemaOf(findingRow{}),
		parquet.SchemaOf(clientRow{}), parquet.SchemaOf(resourceRow{}), parquet.SchemaOf(bodyRow{}),
	} {
		b.WriteString(s.String() + "\n")
	}
	golden := filepath.Join("testdata", "schema.txt")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(want)) {
		if !strings.Contains(b.String(), line) {
			t.Errorf("it was once: %s", line)
		}
	}
	if b.String() != string(want) {
		t.Error("the schema is another; columns that were added go to testdata/schema.txt, too (UPDATE=1)")
	}
}
