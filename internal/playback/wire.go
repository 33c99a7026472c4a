package playback

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/client"
	"github.com/xdsproxy/xdsproxy/replay/launch"
	"github.com/xdsproxy/xdsproxy/replay/server"
	"github.com/xdsproxy/xdsproxy/session"
)

// player plays one side: as it was asked for, or with a proxy in between, which
// then listens at or dials the address that was given.
type player func(ctx context.Context, plan *replay.Plan, between *relay) (*replay.Report, error)

// relay is a proxy between what is played and the live side. It records, or
// speaks TLS, or both.
type relay struct {
	// inner is the socket at which the played side and the proxy meet. What is
	// said there is said in plaintext: no other user can open it.
	inner  proxy.Addr
	listen func(at, upstream proxy.Addr) (net.Addr, error)
	heard  *troubles
	proxy  *proxy.Proxy // nil: it does not listen yet
	stop   func()
}

// why ends the proxy, and says what went wrong last between it and the live side. The
// played side may hear that its connection has ended before the proxy has said why.
func (b *relay) why() *session.Note {
	if b == nil {
		return nil
	}
	b.stop()
	return b.heard.why()
}

// shut lets nobody in any more: who came now would find the played server gone,
// and that would be told as if something were wrong with the live side.
func (b *relay) shut() {
	if b != nil && b.proxy != nil {
		b.proxy.CloseListeners()
	}
}

// relayed plays with a proxy in between, if something is to be recorded, the
// live side wants TLS, or a server is judged by what it says.
func (r *Replay) relayed(ctx context.Context, plan *replay.Plan, play player) (*replay.Report, error) {
	secured := r.Security.ListenTLS != nil || r.Security.UpstreamTLS != nil || r.Security.Rewrite != nil
	if r.Write == "" && !secured && r.trial == nil && r.CompareDump == "" {
		return play(ctx, plan, nil)
	}
	defer func() { _ = r.Logger.Sync() }()
	dir, err := launch.PrivateDir()
	if err != nil {
		return nil, console.Failed("cannot make a directory for a socket: %w", err)
	}
	defer os.RemoveAll(dir)
	done, err := r.KeyLogs()
	if err != nil {
		return nil, err
	}
	defer done()
	between := &relay{inner: proxy.Addr{Network: "unix", Address: filepath.Join(dir, "played.sock")}, heard: &troubles{}, stop: func() {}}
	var rec Recording
	file := r.Write
	switch {
	case file != "":
		rec, err = r.Record(file)
	case r.trial != nil || r.CompareDump != "": // to be judged and compared, and for nothing else
		file = filepath.Join(dir, "replay.xdsp")
		rec, err = r.unkept(file)
	}
	if err != nil {
		return nil, err
	}
	if rec != nil {
		between.heard.log = rec
		r.Options.Wrong = func(text string) {
			rec.Append(session.Entry{Kind: session.KindNote, Time: time.Now(), Side: session.Proxy, Note: &session.Note{Code: session.NoteFault, Text: text}})
		}
	}
	between.listen = func(at, upstream proxy.Addr) (shown net.Addr, err error) {
		if between.proxy, between.stop, err = r.relay(at, upstream, between.heard, r.Logger); err != nil {
			return nil, err
		}
		return between.proxy.Addrs()[0], nil
	}
	report, err := play(ctx, plan, between)
	between.stop()
	switch {
	case rec == nil:
		return report, err
	case between.proxy == nil:
		rec.Discard()
		return report, err
	}
	if closing := rec.Close(); err == nil && closing != nil {
		err = console.Failed("%w", closing)
	}
	if r.trial != nil && report != nil {
		r.trial.judge(ctx, file, report)
	}
	if r.Write != "" {
		rec.Announce()
	}
	if compared := r.compare(ctx, file); err == nil && r.dumped.err == nil {
		err = compared
	}
	return report, err
}

// bind listens for what the played server is to hear, at the address that was
// given or behind the proxy that listens there. shown is that address.
func (r *Replay) bind(between *relay) (l net.Listener, shown net.Addr, err error) {
	at, _ := proxy.ParseAddr(r.Listen) // it was checked
	own := at
	if between != nil {
		own = between.inner
	}
	if l, err = own.Listen(); err != nil {
		return nil, nil, &proxy.ListenError{Addr: own, Err: err}
	}
	shown = l.Addr()
	if between != nil {
		if shown, err = between.listen(at, own); err != nil {
			_ = l.Close()
			return nil, nil, err
		}
	}
	return l, shown, nil
}

// asServer plays the management server.
func (r *Replay) asServer(ctx context.Context, plan *replay.Plan, between *relay) (*replay.Report, error) {
	l, shown, err := r.bind(between)
	if err != nil {
		return nil, err
	}
	if r.argv == nil {
		r.Tell("listening on %s, playing the server of %s", proxy.AddrOf(shown), r.source)
	}
	r.Announce()
	r.announceLinger()
	r.Options.Leaving = between.shut
	report, err := r.beside(ctx, launched{server: shown}, func(ctx context.Context) (*replay.Report, error) {
		return server.Serve(ctx, l, plan, r.Options)
	})
	_ = l.Close() // if it never came to be served
	r.trouble = between.why()
	return report, err
}

// asClient plays the clients.
func (r *Replay) asClient(ctx context.Context, plan *replay.Plan, between *relay) (*replay.Report, error) {
	live, _ := proxy.ParseAddr(r.Target) // it was checked
	to := live
	if between != nil {
		if _, err := between.listen(between.inner, live); err != nil {
			return nil, err
		}
		to = between.inner
	}
	if r.argv == nil {
		r.Tell("asking %s, playing the clients of %s", r.Target, r.source)
	}
	r.Announce()
	r.announceLinger()
	report, err := r.beside(ctx, launched{target: r.dialer(live)}, func(ctx context.Context) (*replay.Report, error) {
		return client.Play(ctx, r.dialer(to), plan, r.Options)
	})
	r.trouble = between.why()
	if err != nil && report != nil && report.Streams == 0 && ctx.Err() == nil {
		if r.trouble != nil {
			return nil, r.unplayed()
		}
		return nil, console.Failed("nothing was played: %w", err).Hint(checkTarget)
	}
	return report, err
}

// unplayed words what the proxy in between says of the live side.
func (r *Replay) unplayed() *console.Failure {
	hint := r.trouble.Hint
	if r.trouble.Code == session.NoteDialFailed {
		hint = checkTarget
	}
	return console.Failed("nothing was played: %s", render.Safe(r.trouble.Text)).Hint("%s", render.Safe(hint))
}

const checkTarget = "check that the control plane runs and that --target names it"
