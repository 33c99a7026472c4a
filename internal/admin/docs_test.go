package admin

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/recorder"
)

var (
	described = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: "([^"]+)", unit: "", constLabels: \{\}, variableLabels: \{([^}]*)\}\}$`)
	tableRow  = regexp.MustCompile("(?m)^\\| `xdsproxy_.*\\|$")
)

// The table of the documentation has exactly the metrics that there are.
func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	rules, _ := check.Select(nil, nil)
	c := &Config{
		Metrics: NewMetrics(rules), Stats: func() (st recorder.Stats) { return st },
		Clients: func() int { return 0 }, Refused: func() uint64 { return 0 }, Memory: func() (m engine.Memory) { return m },
		Dumps: func() (d Dumps) { return d }, Held: func() (h Held) { return h },
		Archive: func() (a Archive) { return a },
	}
	descs := make(chan *prometheus.Desc, 100)
	c.Metrics.Describe(descs)
	stateCollector{c}.Describe(descs)
	newBuildInfo(Build{}).Describe(descs)
	close(descs)
	want := make(map[string]bool)
	for d := range descs {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("not a description as it is known here: %s", d)
		}
		labels := ""
		for _, l := range strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' }) {
			labels += ", `" + l + "`"
		}
		want[fmt.Sprintf("| `%s` | %s | %s |", m[1], strings.TrimPrefix(labels, ", "), m[2])] = true
	}
	for _, row := range tableRow.FindAllString(string(text), -1) {
		if !want[row] {
			t.Errorf("documented, and not so: %s", row)
		}
		delete(want, row)
	}
	for row := range want {
		t.Errorf("not documented:\n%s", row)
	}
}
