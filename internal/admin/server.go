package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/bounded"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/recorder"
)

const (
	// maxConns bounds the connections that are idle, and those that are being
	// answered. Were it lower, who opens connections without end would make others
	// wait longer for theirs to be accepted. maxScrapes bounds those that are being
	// given metrics at a time, and maxHeaders the headers of a request, in bytes.
	maxConns   = 512
	maxScrapes = 4
	maxHeaders = 8 << 10

	headerTime = 5 * time.Second  // for a request to come
	answerTime = 20 * time.Second // for an answer to go; profiles take what they were asked for
	idleTime   = 2 * time.Minute  // for a connection to be there for nothing
)

// Config says what a Server tells of.
type Config struct {
	Metrics    *Metrics
	Stats      func() recorder.Stats
	Clients    func() int    // how many are connected
	Refused    func() uint64 // how many were refused
	QueueBytes int64         // what the queue of the log has room for
	// Memory is what is remembered of what is over by who looks at what
	// passes; nil if nobody does.
	Memory   func() engine.Memory
	Dumps    func() Dumps   // nil if nothing is dumped
	Held     func() Held    // nil if no client is asked what it holds
	Archive  func() Archive // nil if nothing is uploaded
	Build    Build
	Address  string // that was asked for; its host may be a name, and is answered to
	Profiles bool   // serve /debug/pprof
	Logger   *zap.Logger
}

// Build says which program this is.
type Build struct{ Version, Revision, Go, XDS string }

// The states of a proxy. It goes through them once.
const (
	starting int32 = iota
	serving
	draining
)

// Server answers HTTP requests about how a proxy does.
type Server struct {
	c     Config
	state atomic.Int32
	http  *http.Server
	run   sync.WaitGroup
}

// New is a Server that listens nowhere yet, of a proxy that is starting.
func New(c Config) *Server {
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	s := &Server{c: c}
	quiet, _ := zap.NewStdLogAt(c.Logger, zap.DebugLevel) // there is such a level
	s.http = &http.Server{
		Handler:           s.handler(quiet),
		ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeaders, ConnState: note, BaseContext: withListener,
		ErrorLog: quiet,
	}
	return s
}

// note says which connections are idle. Those that have sent no request yet, or
// a part of one, are.
func note(conn net.Conn, s http.ConnState) {
	c, _ := conn.(*bounded.Conn) // there is no other listener
	switch s {
	case http.StateActive:
		c.Busy()
	case http.StateIdle:
		c.Idle()
	case http.StateNew, http.StateClosed, http.StateHijacked:
	}
}

// Serving says that the proxy accepts connections.
func (s *Server) Serving() { s.state.CompareAndSwap(starting, serving) }

// Draining says that it does not any more.
func (s *Server) Draining() { s.state.Store(draining) }

// Serve begins to accept requests from l, which Close closes.
func (s *Server) Serve(l net.Listener) {
	s.run.Go(func() {
		if err := s.http.Serve(bounded.NewListener(l, maxConns)); !errors.Is(err, http.ErrServerClosed) {
			s.c.Logger.Error("the admin endpoint has ended", zap.Stringer("address", l.Addr()), zap.Error(err))
		}
	})
}

// Close lets answers on their way finish for as long as grace, and ends.
func (s *Server) Close(grace time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // of what could not wait
	}
	s.run.Wait()
}

func (s *Server) registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		s.c.Metrics, stateCollector{&s.c}, newBuildInfo(s.c.Build),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return r
}

func (s *Server) handler(log promhttp.Logger) http.Handler {
	mux := http.NewServeMux() // GET is HEAD, too; other methods are refused
	// Probes may name any Host: some send the name of a cluster, and there is
	// nothing to learn from the answer.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := s.unready(); why != "" {
			answer(w, http.StatusServiceUnavailable, "not ready: "+why)
			return
		}
		text := "ready"
		if n := s.c.Stats().Losses; n > 0 {
			text += fmt.Sprintf("\nfiles of the recording that somebody else took away: %d; it goes on in another, see the log", n)
		}
		answer(w, http.StatusOK, text)
	})
	metrics := promhttp.HandlerFor(s.registry(), promhttp.HandlerOpts{ErrorLog: log, MaxRequestsInFlight: maxScrapes})
	mux.HandleFunc("GET /metrics", s.local(metrics.ServeHTTP))
	index := "/healthz\n/readyz\n/metrics"
	if s.c.Profiles {
		index += "\n/debug/pprof/"
		s.serveProfiles(mux)
	}
	mux.HandleFunc("GET /{$}", s.local(func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, index) }))
	return mux
}

// unready is why the proxy is not ready, "" if it is.
func (s *Server) unready() string {
	switch s.state.Load() {
	case starting:
		return "the proxy is starting"
	case draining:
		return "the proxy is stopping, and accepts no more connections"
	}
	if s.c.Stats().Failing {
		return "the recording cannot be written; connections are forwarded nevertheless"
	}
	return ""
}

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text+"\n")
}
