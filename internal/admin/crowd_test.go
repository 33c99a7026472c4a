package admin_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// crowd holds n connections that send what greeting says, and opens each anew
// soon after it is closed, until the test ends.
func crowd(t *testing.T, addr, greeting string, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var held, first sync.WaitGroup
	first.Add(n)
	for range n {
		held.Go(func() {
			once := sync.OnceFunc(first.Done)
			for ctx.Err() == nil {
				c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
				if err != nil {
					once()
					continue
				}
				stop := context.AfterFunc(ctx, func() { _ = c.Close() })
				_, _ = io.WriteString(c, greeting)
				once()
				_, _ = io.Copy(io.Discard, c)
				stop()
				_ = c.Close()
				time.Sleep(250 * time.Millisecond)
			}
		})
	}
	first.Wait()
	t.Cleanup(func() { cancel(); held.Wait() })
}

// Whoever holds connections, and however many, keeps no probe from its answer.
func TestProbesAreNotStarved(t *testing.T) {
	for name, greeting := range map[string]string{
		"silent":   "",
		"half way": "GET /healthz HTTP/1.1\r\nHost: lo",
		"answered": "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, _, addr := newServer(t, false)
			crowd(t, addr, greeting, 1000)
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
