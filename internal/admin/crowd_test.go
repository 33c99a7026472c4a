package admin_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// try is how long a probe waits before another one is made. It is less than a
// connection may take for its request, so that no answer is owed to the crowd's
// having been timed out.
const try = 4 * time.Second

// Whoever holds connections, and however many, keeps no probe from its answer. On a
// machine that has no time for either, a single one may be late; as for those who
// probe, the next one counts.
func TestProbesAreNotStarved(t *testing.T) {
	for name, greeting := range map[string]string{
		"silent":   "",
		"half way": "GET /healthz HTTP/1.1\r\nHost: lo",
		"answered": "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, _, addr := newServer(t, false)
			t.Cleanup(xdstest.Crowd(addr, greeting, 1000))
			client := &http.Client{Timeout: try, Transport: &http.Transport{DisableKeepAlives: true}}
			for range 15 {
				guard := time.Now().Add(time.Minute)
				err := probe(client, addr)
				for err != nil && time.Now().Before(guard) {
					t.Log(err)
					err = probe(client, addr)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func probe(client *http.Client, addr string) error {
	resp, err := client.Get("http://" + addr + "/healthz")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || string(body) != "ok\n") {
		err = fmt.Errorf("%s %q", resp.Status, body)
	}
	return err
}
