package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const page = "../../../docs/fleet.md"

// block is a fenced block of SQL of the page, and what is called so.
var block = regexp.MustCompile("(?s)```sql ([a-z]+)\n(.*?)```\n")

// asked is what the page asks, and how the tables are told to both engines.
type asked struct {
	Prelude   []string          `json:"prelude"`
	Questions map[string]string `json:"questions"`
	Small     bool              `json:"small"`
}

// questions are those of the page, for an engine, of tables in a directory.
func questions(t *testing.T, engine, tables string) *asked {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	out := &asked{Questions: make(map[string]string), Small: !*full}
	for _, b := range block.FindAllStringSubmatch(string(text), -1) {
		switch sql := strings.TrimSpace(b[2]); b[1] {
		case engine:
			for _, s := range strings.Split(sql, ";\n") {
				out.Prelude = append(out.Prelude, strings.TrimSuffix(strings.ReplaceAll(s, "'fleet/", "'"+tables+"/"), ";"))
			}
		case "duckdb", "spark":
		default:
			out.Questions[b[1]] = sql
		}
	}
	if len(out.Prelude) != 8 && engine == "duckdb" || len(out.Questions) != 10 {
		t.Fatalf("%d questions are on the page, after %d statements", len(out.Questions), len(out.Prelude))
	}
	return out
}

// table is the answer of an engine to one question.
type table struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	Seconds float64  `json:"seconds"`
	Bytes   int64    `json:"bytes"`
}

// ask asks an engine for all answers.
func ask(t *testing.T, engine string, q *asked) map[string]*table {
	t.Helper()
	module := map[string]string{"duckdb": "duckdb", "spark": "pyspark"}[engine]
	dir, err := filepath.Abs("../../../.tools/" + module)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, module)); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not installed: run make %s", module, module)
		}
		t.Skipf("%s is not installed: run make %s", module, module)
	}
	scratch := t.TempDir()
	file := filepath.Join(scratch, "asked.json")
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "testdata/ask_"+engine+".py", file, scratch)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1", "TZ=UTC")
	var all map[string]json.RawMessage
	if err := json.Unmarshal(run(t, cmd, 0), &all); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]*table)
	for name := range q.Questions {
		answer := &table{}
		if err := json.Unmarshal(all[name], answer); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = answer
	}
	if workers := string(all["_workers"]); engine == "spark" && workers != "2" {
		t.Errorf("%s workers took part, not 2", workers)
	}
	return out
}

// lines are the rows of an answer in some order that does not hang on the engine.
func lines(rows [][]any) []string {
	var out []string
	for _, row := range rows {
		var cells []string
		for _, v := range row {
			if n, is := v.(float64); is {
				v = int64(n)
			}
			cells = append(cells, fmt.Sprint(v))
		}
		out = append(out, strings.Join(cells, " | "))
	}
	slices.Sort(out)
	return out
}

func compareRows(t *testing.T, name string, got, want []string) {
	t.Helper()
	missing, extra := without(want, got), without(got, want)
	if len(missing)+len(extra) == 0 && len(got) == len(want) {
		return
	}
	t.Errorf("%s: %d rows, and %d are right; missing:\n%s\nand not expected:\n%s", name, len(got), len(want), head(missing), head(extra))
}

func without(all, others []string) (out []string) {
	for _, s := range all {
		if !slices.Contains(others, s) {
			out = append(out, s)
		}
	}
	return out
}

func head(lines []string) string { return strings.Join(lines[:min(len(lines), 6)], "\n") }

// The ten questions of docs/fleet.md have the answers that were planted: of the tables
// that the program exported of a simulated day, on DuckDB, and on Spark with two
// workers. Both are asked the same text.
func TestQuestions(t *testing.T) {
	xdsproxy, r := program(t), simulated(t, small())
	tables := filepath.Join(t.TempDir(), "fleet")
	begin := time.Now()
	run(t, exec.Command(xdsproxy, "export", r.Dir, "-o", "parquet", "-w", tables), 0)
	if *full {
		costs(t, r, tables, time.Since(begin))
	}
	duck := ask(t, "duckdb", questions(t, "duckdb", tables))
	for _, name := range sortedKeys(duck) {
		compareRows(t, name, lines(duck[name].Rows), lines(r.Answers[name]))
		if len(duck[name].Rows) == 0 {
			t.Errorf("%s has no answer", name)
		}
	}
	t.Run("dashboard", func(t *testing.T) {
		q := questions(t, "duckdb", tables)
		from, to := stamp(r.Begin.Add(-time.Minute)), stamp(r.End.Add(time.Minute))
		for name, sql := range panelQueries(t) {
			q.Questions[name] = inTime(sql, from, to)
		}
		for name, answer := range ask(t, "duckdb", q) {
			compareRows(t, name, lines(answer.Rows), lines(r.Answers[name]))
		}
		for name, sql := range q.Questions { // a time in which nothing was
			q.Questions[name] = strings.ReplaceAll(strings.ReplaceAll(sql, from, "2020-01-01"), to, "2020-01-02")
		}
		for name, answer := range ask(t, "duckdb", q) {
			if len(answer.Rows) > 0 {
				t.Errorf("%s has an answer for a time in which nothing was", name)
			}
		}
	})
	if *update && !*full {
		writeExamples(t, duck)
		return
	}
	t.Run("examples", func(t *testing.T) {
		if *full {
			t.Skip("the examples of the page are of the small day")
		}
		checkExamples(t, duck)
	})
	spark := ask(t, "spark", questions(t, "spark", tables))
	for _, name := range sortedKeys(spark) {
		compareRows(t, name+" on Spark", lines(spark[name].Rows), lines(duck[name].Rows))
		if *full {
			t.Logf("%-14s %4d rows  DuckDB %6.3f s, %9d bytes read  Spark %6.3f s", name, len(duck[name].Rows), duck[name].Seconds, duck[name].Bytes, spark[name].Seconds)
		}
	}
}

// costs prints what the day takes.
func costs(t *testing.T, r *report, tables string, took time.Duration) {
	t.Logf("%d proxies, %d services, %d pushes: %d entries, %d messages of %d bytes; archive %d bytes; export took %s",
		r.Proxies, r.Services, r.Pushes, r.Entries, r.Messages, r.MessageBytes, r.ArchiveBytes, took.Round(time.Second))
	dirs, err := os.ReadDir(tables)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		var size int64
		files := 0
		_ = filepath.WalkDir(filepath.Join(tables, d.Name()), func(path string, e os.DirEntry, err error) error {
			if info, ierr := e.Info(); err == nil && ierr == nil && !e.IsDir() {
				size += info.Size()
				files++
			}
			return err
		})
		t.Logf("%-12s %10d bytes in %d files", d.Name(), size, files)
	}
}

// example is a question of the page with the answer below it.
var example = regexp.MustCompile("(?s)(```sql ([a-z]+)\n.*?```\n)(\n```text\n.*?```\n)?")

// withExamples is the page with these answers.
func withExamples(text string, answers map[string]*table) string {
	return example.ReplaceAllStringFunc(text, func(s string) string {
		m := example.FindStringSubmatch(s)
		a := answers[m[2]]
		if a == nil {
			return s
		}
		return m[1] + "\n```text\n" + sample(a) + "```\n"
	})
}

// sample is the beginning of an answer.
func sample(a *table) string {
	rows := [][]string{a.Columns}
	for _, row := range a.Rows[:min(3, len(a.Rows))] {
		var cells []string
		for _, v := range row {
			text := "NULL"
			switch v := v.(type) {
			case float64:
				text = fmt.Sprintf("%.0f", v)
			case string:
				text = shorter(v)
			}
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	width := make([]int, len(a.Columns))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += cell + strings.Repeat(" ", width[i]-len([]rune(cell))+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if more := len(a.Rows) - 3; more > 0 {
		fmt.Fprintf(&b, "… %d more\n", more)
	}
	return b.String()
}

// shorter leaves out the middle of what is long, and the fraction of times.
func shorter(s string) string {
	if at, err := time.Parse("2006-01-02 15:04:05.000000", s); err == nil {
		return at.Format(time.DateTime)
	}
	if r := []rune(s); len(r) > 44 {
		return string(r[:32]) + "…" + string(r[len(r)-11:])
	}
	return s
}

func writeExamples(t *testing.T, answers map[string]*table) {
	text, err := os.ReadFile(page)
	if err == nil {
		err = os.WriteFile(page, []byte(withExamples(string(text), answers)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkExamples compares what the page shows.
func checkExamples(t *testing.T, answers map[string]*table) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if withExamples(string(text), answers) != string(text) {
		t.Error("the example answers of docs/fleet.md are stale: go test ./internal/bench/fleetday -run Questions -update")
	}
}
