package e2e

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// Beside the screen, which judges by itself, metrics have a reader of their own.
func TestMetricsBesideTheScreen(t *testing.T) {
	t.Parallel()
	story, err := xdstest.NewStory("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer story.Close()
	free := [2]string{freeAddr(t), freeAddr(t)}
	p := newPane(t, 100, 30, "run", "--listen", free[0], "--upstream", story.Addr(), "--admin", free[1])
	p.shows("[1 Clients]")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := story.Play(ctx, free[0], func(string) {}); err != nil {
		t.Fatal(err)
	}
	want := []*regexp.Regexp{
		regexp.MustCompile(`(?m)^xdsproxy_nacks_total\{type="CDS"\} [1-9]`),
		regexp.MustCompile(`(?m)^xdsproxy_findings_total\{rule="nack-received",severity="\w+"\} [1-9]`),
		regexp.MustCompile(`(?m)^xdsproxy_connections_ended_total\{by="client"\} [1-9]`),
		regexp.MustCompile(`(?m)^xdsproxy_metrics_lag_entries 0$`),
	}
	var text string
	for end := time.Now().Add(patience); len(want) > 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		text = scrape(t, "http://"+free[1]+"/metrics")
		for len(want) > 0 && want[0].MatchString(text) {
			want = want[1:]
		}
	}
	if len(want) > 0 {
		t.Errorf("no %s in\n%s", want[0], text)
	}
	if answer := scrape(t, "http://"+free[1]+"/readyz"); strings.TrimSpace(answer) != "ready" {
		t.Errorf("%s", answer)
	}
}

func scrape(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
