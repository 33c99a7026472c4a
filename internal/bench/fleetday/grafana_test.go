package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// dashboard is what these tests read of a dashboard of Grafana.
type dashboard struct {
	UID        string `json:"uid"`
	Title      string `json:"title"`
	Templating struct {
		List []struct {
			Name, Type string
			Query      any
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		ID          int    `json:"id"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Datasource  source `json:"datasource"`
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct {
			Datasource source `json:"datasource"`
			RefID      string `json:"refId"`
			Expr       string `json:"expr"`
			Format     string `json:"format"`
			SQL        string `json:"rawSql"`
		} `json:"targets"`
	} `json:"panels"`
}

type source struct{ Type, UID string }

func dashboardOf(t *testing.T, name string) *dashboard {
	t.Helper()
	text, err := os.ReadFile("../../../docs/grafana/" + name)
	if err != nil {
		t.Fatal(err)
	}
	d := &dashboard{}
	if err := json.Unmarshal(text, d); err != nil {
		t.Fatal(err)
	}
	return d
}

// Panels have a place of their own, and ask the data source that a variable names.
func TestDashboardsAreWellFormed(t *testing.T) {
	uids := make(map[string]bool)
	for name, kind := range map[string]string{"proxies.json": "prometheus", "fleet.json": "motherduck-duckdb-datasource"} {
		d := dashboardOf(t, name)
		if d.UID == "" || d.Title == "" || uids[d.UID] {
			t.Errorf("%s: uid %q, title %q", name, d.UID, d.Title)
		}
		uids[d.UID] = true
		variable := ""
		for _, v := range d.Templating.List {
			if v.Type == "datasource" && v.Query == kind {
				variable = "${" + v.Name + "}"
			}
		}
		taken := make(map[[2]int]string)
		ids := make(map[int]bool)
		for _, p := range d.Panels {
			if ids[p.ID] || p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
				t.Errorf("%s: panel %d, %q, has no title, description or target, or its id is another's", name, p.ID, p.Title)
			}
			ids[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s: %q lies over %q, or beside the grid", name, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			want := source{kind, variable}
			refs := make(map[string]bool)
			for _, target := range p.Targets {
				if target.Datasource != want || p.Datasource != want || refs[target.RefID] {
					t.Errorf("%s: %q asks %v as %s, not %v", name, p.Title, target.Datasource, target.RefID, want)
				}
				refs[target.RefID] = true
			}
		}
	}
}

var timeFilter = regexp.MustCompile(`\$__timeFilter\(([a-z_.]+)\)`)

// panelQueries are the questions as the dashboard of the tables asks them, by their
// name on the page.
func panelQueries(t *testing.T) map[string]string {
	t.Helper()
	plain := make(map[string]string) // name by SQL
	for name, sql := range questions(t, "duckdb", "fleet").Questions {
		plain[sql] = name
	}
	out := make(map[string]string)
	for _, p := range dashboardOf(t, "fleet.json").Panels {
		sql := p.Targets[0].SQL
		without := regexp.MustCompile(`\$__timeFilter\([a-z_.]+\) AND `).ReplaceAllString(sql, "")
		without = regexp.MustCompile(`WHERE \$__timeFilter\([a-z_.]+\)\n`).ReplaceAllString(without, "")
		name := plain[without]
		if name == "" || p.Targets[0].Format != "table" || !timeFilter.MatchString(sql) {
			t.Errorf("the panel %q does not ask what the page asks, in a time:\n%s", p.Title, sql)
			continue
		}
		out[name] = sql
	}
	if len(out) != 10 {
		t.Errorf("%d of the ten questions have a panel", len(out))
	}
	return out
}

// The dashboard of the tables asks the questions of the page, and nothing else.
func TestFleetDashboardAsksTheQuestions(t *testing.T) { panelQueries(t) }

// inTime is a question as the data source of Grafana asks it, of a whole day.
func inTime(sql, from, to string) string {
	return timeFilter.ReplaceAllString(sql, "$1 BETWEEN TIMESTAMP WITH TIME ZONE '"+from+"' AND TIMESTAMP WITH TIME ZONE '"+to+"'")
}

var metric = regexp.MustCompile(`\bxdsproxy_[a-z_]+`)

// Every metric that the dashboard of proxies asks for is documented. That it is one of a
// running proxy is tested in internal/e2e.
func TestProxiesDashboardAsksForMetrics(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range dashboardOf(t, "proxies.json").Panels {
		for _, target := range p.Targets {
			names := metric.FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%q asks for no metric: %s", p.Title, target.Expr)
			}
			for _, name := range names {
				n++
				if !strings.Contains(string(text), "| `"+strings.TrimSuffix(name, "_bucket")+"` |") {
					t.Errorf("%q asks for %s, which docs/operations.md does not have", p.Title, name)
				}
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d metrics are asked for", n)
	}
}
