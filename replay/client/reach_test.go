package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
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

// Of a server that nobody can reach there is an error, and no difference; unless the play was ended before.
func TestUnreachable(t *testing.T) {
	for script, want := range map[string]string{
		"C> type=LDS V= N= R=[] node=n1\nS< type=LDS V=1 N=a res=[l1]\n":                     "the stream could not be opened: ",
		"P> path=/v3/discovery:clusters type=CDS V= node=n1\np< 200 type=CDS V=1 res=[c1]\n": "the server could not be asked: ",
	} {
		for _, ends := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r, err := client.Play(ctx, func(context.Context) (net.Conn, error) {
					if ends {
						cancel()
					}
					return nil, errors.New("nobody is there")
				}, replaytest.PlanOfScript(t, script), replay.Options{Idle: time.Second})
				switch {
				case ends && !errors.Is(err, context.Canceled):
					t.Errorf("%sthe play was ended, and it says %v", script, err)
				case !ends && (err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "nobody is there") || len(r.Differences) > 0 || len(r.Played) != 1):
					t.Errorf("%s%v, %+v", script, err, r)
				}
			})
		}
	}
}
