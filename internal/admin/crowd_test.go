package admin_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// Whoever holds connections, and however many, keeps no probe from its answer.
func TestProbesAreNotStarved(t *testing.T) {
	for name, greeting := range map[string]string{
		"silent":   "",
		"half way": "GET /healthz HTTP/1.1\r\nHost: lo",
		"answered": "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, _, addr := newServer(t, false)
			t.Cleanup(xdstest.Crowd(addr, greeting, 1000))
			client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
			for range 15 {
				resp, err := client.Get("http://" + addr + "/healthz")
				if err != nil {
					t.Error(err)
					continue
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK || string(body) != "ok\n" {
					t.Errorf("%s %q, %v", resp.Status, body, err)
				}
			}
		})
	}
}
