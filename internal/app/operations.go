package app

import (
	"context"
	"net"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/admin"
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// adminGrace is how long an answer on its way may take when the program ends.
const adminGrace = time.Second

// operations is what those who run the proxy are told; nil: they did not ask.
type operations struct {
	server  *admin.Server
	metrics *admin.Metrics
	addr    net.Addr
}

// offerOperations listens where the settings say, and answers that the proxy is
// starting.
func (h *Host) offerOperations(rec *Recording, p *proxy.Proxy, d *dumps, k *asking) (*operations, error) {
	if h.Settings.Admin == "" {
		if h.Settings.AdminPprof {
			return nil, console.Misused("--admin-pprof without --admin: where should profiles be served?").Hint("--admin :9901 --admin-pprof")
		}
		return nil, nil
	}
	addr, err := proxy.ParseAddr(string(h.Settings.Admin))
	if err != nil {
		return nil, console.Misused("--admin: %w", err)
	}
	if bool(h.Settings.AdminPprof) && addr.Network == "tcp" && !Loopback(addr.Address) {
		return nil, console.Misconfigured("--admin-pprof with --admin %s: others could take profiles from elsewhere", addr).
			Hint("listen on 127.0.0.1, and come through kubectl port-forward or ssh -L")
	}
	l, err := listenAt("admin", addr)
	if err != nil {
		return nil, err
	}
	build := build.Read()
	o := &operations{metrics: admin.NewMetrics(h.rules()), addr: l.Addr()}
	o.server = admin.New(admin.Config{
		Metrics: o.metrics, Stats: rec.Stats, Clients: p.Clients, Refused: p.Refused, QueueBytes: int64(h.Settings.Queue), Memory: rec.Past.memory, Dumps: d.counter(), Held: k.counter(), Archive: rec.archiveCounter(),
		Build:    admin.Build{Version: build.Version, Revision: build.Commit, Go: build.Go, XDS: build.XDS},
		Address:  addr.Address,
		Profiles: bool(h.Settings.AdminPprof), Logger: h.Logger,
	})
	o.server.Serve(l)
	return o, nil
}

// rules are those that what passes is held against.
func (h *Host) rules() []*check.Rule {
	if h.Settings.NoCheck {
		return nil
	}
	rules, _ := check.Select(nil, nil) // which names none that could be unknown
	return rules
}

// announce says where it is: the port may be one that was free.
func (o *operations) announce(con *console.Console) {
	switch {
	case o == nil:
	case o.addr.Network() == "unix":
		con.Tell("health and metrics on %s", proxy.AddrOf(o.addr))
	default:
		con.Tell("health and metrics on http://%s", o.addr)
	}
}

// serving says that the proxy accepts connections, until ctx is done.
func (o *operations) serving(ctx context.Context) (forget func() bool) {
	if o == nil {
		return func() bool { return false }
	}
	o.server.Serving()
	return context.AfterFunc(ctx, o.server.Draining)
}

func (o *operations) close() {
	if o != nil {
		o.server.Close(adminGrace)
	}
}
