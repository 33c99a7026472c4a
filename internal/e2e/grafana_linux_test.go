package e2e

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

var (
	askedMetric = regexp.MustCompile(`\bxdsproxy_[a-z_]+`)
	askedLabels = regexp.MustCompile(`\bby \(([a-z, ]+)\)`)
	hasLabel    = regexp.MustCompile(`([a-z_]+)="`)
)

// Every metric that the dashboard of proxies asks for is one that a running proxy
// has, with the labels by which it is summed up.
func TestDashboardOfProxies(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/grafana/proxies.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	story, err := xdstest.NewStory("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer story.Close()
	p := startProxyWith(t, story.Addr(), setup{args: []string{"--admin", "127.0.0.1:0", "--archive", "file://" + t.TempDir() + "/"}})
	admin := p.stderr.find(t, adminLine, p.exited)[1]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := story.Play(ctx, p.addr, func(string) {}); err != nil {
		t.Fatal(err)
	}
	nacks := regexp.MustCompile(`(?m)^xdsproxy_nacks_total\{type="CDS"\} [1-9]`)
	metrics := ""
	eventually(t, "a rejection that is counted", func() bool {
		metrics = scrape(t, admin+"/metrics")
		return nacks.MatchString(metrics) && strings.Contains(metrics, "xdsproxy_metrics_lag_entries 0\n")
	})
	labels := make(map[string][]string) // of each metric
	for _, series := range strings.Split(metrics, "\n") {
		name, rest, _ := strings.Cut(series, "{")
		name, _, _ = strings.Cut(name, " ")
		labels[name] = append(labels[name], "job", "instance") // which Prometheus adds
		for _, l := range hasLabel.FindAllStringSubmatch(rest, -1) {
			labels[name] = append(labels[name], l[1])
		}
	}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			for _, name := range askedMetric.FindAllString(target.Expr, -1) {
				if labels[name] == nil {
					t.Errorf("%q asks for %s, which the proxy does not have", panel.Title, name)
					continue
				}
				for _, by := range askedLabels.FindAllStringSubmatch(target.Expr, -1) {
					for _, label := range strings.Split(by[1], ", ") {
						if !slices.Contains(labels[name], label) {
							t.Errorf("%q sums up %s by %s, which it does not have", panel.Title, name, label)
						}
					}
				}
			}
		}
	}
}
