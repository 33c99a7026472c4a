package input

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// How long a command tries to get a lost connection back. On a unix socket there
// is no network that could come back.
const (
	giveUpUnix = 3 * time.Second
	giveUpTCP  = time.Minute
)

// ViewerAddr is the viewer endpoint that a SOURCE names: unix:/path, or host:port
// unless there is a file of this name.
func ViewerAddr(name string) (addr proxy.Addr, is bool) {
	if !strings.HasPrefix(name, "unix:") {
		_, port, err := net.SplitHostPort(name)
		if err != nil {
			return addr, false
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return addr, false
		}
		if _, err := os.Stat(name); err == nil {
			return addr, false
		}
	}
	addr, err := proxy.ParseAddr(name)
	return addr, err == nil
}

// local is the viewer endpoint of the proxy that this user started last and that
// runs; false if none does.
func (o *Opener) local() (addr proxy.Addr, is bool) {
	paths := serve.Local()
	if len(paths) == 0 {
		return addr, false
	}
	addr = proxy.Addr{Network: "unix", Address: paths[0]}
	o.Say("reading %s (the running proxy)", addr)
	if len(paths) > 1 {
		others := make([]string, 0, len(paths)-1)
		for _, p := range paths[1:] {
			others = append(others, "unix:"+p)
		}
		o.Say("other proxies run, started earlier: %s", strings.Join(others, ", "))
	}
	return addr, true
}

// openViewer opens what a running proxy records. It is read up to what is there
// now, unless it is followed.
func (o *Opener) openViewer(addr proxy.Addr) (*Source, error) {
	giveUp := giveUpTCP
	if addr.Network == "unix" {
		giveUp = giveUpUnix
	}
	client, err := o.DialViewer(addr, giveUp, o.tellState(addr))
	if err != nil {
		return nil, err
	}
	reader := client.Open(0, 0)
	src := &Source{Reader: reader.Reader, Name: addr.String(), Viewer: client, remote: reader}
	src.Follow(false)
	return src, nil
}

// DialViewer connects to a running proxy, and tells state what becomes of that.
func (o *Opener) DialViewer(addr proxy.Addr, giveUp time.Duration, state func(serve.State)) (*serve.Client, error) {
	token, err := o.Token()
	if err != nil {
		return nil, err
	}
	client, err := serve.Dial(o.Ctx, addr.Network, addr.Address, serve.Options{Token: token, GiveUp: giveUp, State: state})
	if err != nil {
		return nil, unseen(err)
	}
	return client, nil
}

// tellState says when the connection to a proxy is lost, and when it is back.
func (o *Opener) tellState(addr proxy.Addr) func(serve.State) {
	var since time.Time
	return func(s serve.State) {
		switch {
		case s.Detached.IsZero():
			o.Say("%s is back after %s", addr, render.Duration(time.Since(since)))
		case s.Retry == 1:
			since = s.Detached
			o.Say("%s; trying again", s.Cause)
		}
	}
}

// unseen gives an error of a viewer its hints.
func unseen(err error) error {
	e, is := errors.AsType[*serve.Error](err)
	if !is || errors.Is(err, context.Canceled) {
		return err
	}
	f := console.Failed("%w", err)
	switch e.Kind {
	case serve.Unreachable:
		switch {
		case errors.Is(err, fs.ErrPermission):
			f.Hint("only the user who runs the proxy can use its socket")
		case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
			f.Hint("nobody listens there: is the proxy running, with this --viewer?")
		}
		f.Hint("without a SOURCE, xdsproxy watch finds the running proxy of this user")
	case serve.NoViewer:
		f.Hint("the address of --viewer is wanted, not one of --listen or --upstream")
	case serve.TokenMissing, serve.TokenWrong:
		f.Hint("the proxy printed it when it started; set %s, or name a file with --viewer-token-file", serve.TokenVariable)
	case serve.TooMany:
		f.Hint("end another xdsproxy that reads from it")
	case serve.OtherRecording:
		f.Hint("run the command again to read the new one")
	case serve.Lost:
		f.Hint("what it recorded can still be read: xdsproxy watch %s", Last)
	case serve.Refused:
	}
	return f
}
