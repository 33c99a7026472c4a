package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/client"
	"github.com/xdsproxy/xdsproxy/replay/replaytest"
)

// Streams and polls ask with the authority that was given, or else with xds.
func TestAuthority(t *testing.T) {
	const both = "P> path=/v3/discovery:clusters type=CDS V= node=n1\np< 404\n-- stream 9 node=n1\nC> type=LDS V= N= R=[] node=n1\nS< type=LDS V=1 N=a res=[l1]\n"
	for given, want := range map[string]string{"": "xds", "istiod.example:15012": "istiod.example:15012"} {
		synctest.Test(t, func(t *testing.T) {
			l := replaytest.Listen()
			var mu sync.Mutex
			hosts := map[string]string{} // by the version of HTTP
			server := http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				hosts[r.Proto] = r.Host
				w.WriteHeader(http.StatusNotFound)
			})}
			server.Protocols.SetHTTP1(true)
			server.Protocols.SetUnencryptedHTTP2(true)
			served := make(chan struct{})
			go func() {
				defer close(served)
				if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			}()
			_, _ = client.Play(t.Context(), func(ctx context.Context) (net.Conn, error) { return l.DialContext(ctx) },
				replaytest.PlanOfScript(t, both), replay.Options{Authority: given, Idle: time.Second})
			_ = server.Close()
			<-served
			if len(hosts) != 2 || hosts["HTTP/1.1"] != want || hosts["HTTP/2.0"] != want {
				t.Errorf("asked is %v, not %s", hosts, want)
			}
		})
	}
}
