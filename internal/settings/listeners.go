package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// listener is a listener of the configuration file, with a table of its own
// settings.
type listener struct {
	Place    string // listeners[1]
	Name     string // that it has in the file; "" for none
	listen   string
	upstream string
	conf     pairValues
	Settings pairTable
}

// newListener has the defaults.
func newListener(i int) *listener {
	l := &listener{Place: placeOf(i)}
	l.Settings = append(pairTable{
		row(groupForward, "listen", address{&l.listen, checkListen}, helpListen),
		row(groupForward, "upstream", address{&l.upstream, checkUpstream}, helpUpstream),
	}, l.conf.bind()...)
	return l
}

// String names the listener in messages.
func (l *listener) String() string {
	if l.Name == "" {
		return l.Place
	}
	return fmt.Sprintf("%s (%s)", l.Place, l.Name)
}

// takeListener reads one item of the list of listeners.
func (ss *Settings) takeListener(i int, item fileListener, path string) error {
	l := newListener(i)
	for _, k := range item.keys {
		place := l.Place + "." + k.name
		if k.name == "name" {
			if l.Name = strings.Join(k.texts, " "); k.list || l.Name == "" {
				return k.wrong(path, "%s: not a name", place)
			}
			for _, other := range ss.Listeners {
				if other.Name == l.Name {
					return k.wrong(path, "%s: %s is called %q, too", place, other.Place, l.Name)
				}
			}
			continue
		}
		s := findSetting(l.Settings, k.name)
		switch {
		case s != nil:
		case slices.Contains(fileKeys(ss.Table), k.name):
			return k.wrong(path, "%s: %q is not a matter of one listener", place, k.name).
				Hint("write it at the top level of the file, for all")
		default:
			return k.unknown(path, place, append(fileKeys(l.Settings), "name"))
		}
		if err := k.give(s, path, place); err != nil {
			return err
		}
		s.own = true
	}
	if l.listen == "" {
		return console.Misconfigured("configuration file %q: line %d: %s has no \"listen\": where do its clients connect?", path, item.line, l)
	}
	ss.Listeners = append(ss.Listeners, l)
	return nil
}

// overlay gives the listeners of the file what stands at its top level, and what
// flags and the environment say. Where those say where to listen or what is
// upstream, the listeners of the file are not used at all.
func (ss *Settings) overlay(path string) error {
	if len(ss.Listeners) == 0 {
		return nil
	}
	listen, upstream := findSetting(ss.Table, "listen"), findSetting(ss.Table, "upstream")
	for _, s := range []*Setting{listen, upstream} {
		if s.Origin == fromFlag || s.Origin == fromEnvironment {
			ss.replaced = s
			ss.Listeners = nil
			return nil
		}
	}
	if listen.Origin == fromFile {
		return console.Misconfigured("configuration file %q: both \"listen\" and %q say where to listen", path, listenersKey).
			Hint("give each listener its own \"listen\"")
	}
	if n := len(upstream.texts()); upstream.Origin == fromFile && n != 1 {
		return console.Misconfigured("configuration file %q: \"upstream\" stands for all listeners, and names %d addresses", path, n).
			Hint("name one, or give each listener its own \"upstream\"")
	}
	if err := listen.take(nil); err != nil {
		return err
	}
	listen.Origin, listen.From = Implied, listenersKey
	for _, l := range ss.Listeners {
		for _, s := range l.Settings {
			shared := findSetting(ss.Table, s.Name)
			if s.Name == "listen" || shared.Origin == fromDefault || s.own && shared.Origin == fromFile {
				continue
			}
			if err := s.take(shared.texts()); err != nil {
				return console.Misconfigured("%s: %w", shared.said(), err)
			}
			s.Origin, s.From, s.own = shared.Origin, shared.From, false
		}
	}
	return nil
}

// Pairs are the listeners that are asked for, each before its upstream.
func (ss *Settings) Pairs(con *console.Console) ([]proxy.Pair, error) {
	if ss.replaced != nil {
		con.Say("the listeners of %q are not used, since %s is given", ss.Path, ss.replaced.said())
	}
	if len(ss.Listeners) > 0 {
		return ss.pairsOfFile()
	}
	listen, upstream := ss.listen, ss.upstream
	switch {
	case len(upstream) == 0 && len(ss.files.dirs) > 0 && findSetting(ss.Table, "listen").Origin == fromDefault:
		return nil, nil // only files are watched
	case len(upstream) == 0:
		return nil, console.Misused("no --upstream: where does the control plane listen?").
			Hint("xdsproxy run --upstream 127.0.0.1:15010").
			Hint("--files DIR watches files, with --upstream or alone")
	case len(listen) != len(upstream):
		return nil, console.Misused("%s but %s", render.Count(len(upstream), "upstream", "upstreams"), render.Count(len(listen), "address to listen on", "addresses to listen on")).
			Hint("give one --listen for each --upstream; they pair up by order")
	}
	if err := ss.settlePair(); err != nil {
		return nil, err
	}
	logs := keyLogs{}
	pairs := make([]proxy.Pair, len(upstream))
	for i := range pairs {
		var err error
		if pairs[i], err = ss.pair.to(listen[i], upstream[i], logs); err != nil {
			return nil, err
		}
	}
	if err := twice(pairs); err != nil {
		return nil, err
	}
	return pairs, ss.pairTable().unused(pairs)
}

// pairTable is the part of the settings that belongs to pairs.
func (ss *Settings) pairTable() pairTable {
	var t pairTable
	for _, s := range ss.Table {
		if s.pair {
			t = append(t, s)
		}
	}
	return t
}

// settlePair makes ss.pair what is in effect. Who uses it has to ask for
// that first.
func (ss *Settings) settlePair() error { return ss.pairTable().settle(&ss.pair) }

// pairsOfFile are the pairs of the listeners in the configuration file.
func (ss *Settings) pairsOfFile() ([]proxy.Pair, error) {
	logs := keyLogs{}
	var pairs []proxy.Pair
	for _, l := range ss.Listeners {
		pair, err := l.toPair(logs)
		if err != nil {
			f := console.Misconfigured("configuration file %q: %s: %w", ss.Path, l, err)
			if inner, is := err.(*console.Failure); is {
				f.Hints = inner.Hints
			}
			return nil, f
		}
		pairs = append(pairs, pair)
	}
	if err := twice(pairs); err != nil {
		return nil, err
	}
	return pairs, ss.pairTable().unused(pairs)
}

func (l *listener) toPair(logs keyLogs) (proxy.Pair, error) {
	if l.upstream == "" {
		return proxy.Pair{}, console.Misused("no \"upstream\": where does its control plane listen?")
	}
	if err := l.Settings.settle(&l.conf); err != nil {
		return proxy.Pair{}, err
	}
	pair, err := l.conf.to(l.listen, l.upstream, logs)
	if err != nil {
		return proxy.Pair{}, err
	}
	return pair, l.Settings.own().unused([]proxy.Pair{pair})
}

// to makes a pair of what is settled.
func (c *pairValues) to(listen, upstream string, logs keyLogs) (proxy.Pair, error) {
	pair := proxy.Pair{ListenTLS: c.listenTLS(), UpstreamTLS: c.dialTLS()}
	var err error
	if pair.Listen, err = proxy.ParseAddr(listen); err != nil {
		return pair, console.Misused("--listen: %w", err)
	}
	if pair.OriginalDst = upstream == proxy.OriginalDst; !pair.OriginalDst {
		if pair.Upstream, err = proxy.ParseAddr(upstream); err != nil {
			return pair, console.Misused("--upstream: %w", err)
		}
	}
	if pair.Rewrite, err = c.rewriting(); err != nil {
		return pair, console.Misused("%w", err).Adding(err)
	}
	if pair.Upstream == pair.Listen {
		return pair, console.Misused("--listen and --upstream are both %s: the proxy would talk to itself", listen)
	}
	if u := pair.UpstreamTLS; u != nil && pair.Upstream.Network != "tcp" && u.ServerName == "" && !u.Insecure && c.tlsCADir == "" {
		return pair, console.Misused("TLS with %s, which has no host: whom must its certificate name?", upstream).
			Hint("say it with --upstream-server-name")
	}
	c.logKeys(&pair, logs)
	return pair, nil
}

// logKeys gives the sides of a pair that speak TLS the key log, if there is one.
func (c *pairValues) logKeys(pair *proxy.Pair, logs keyLogs) {
	if c.tlsKeyLog == "" {
		return
	}
	log := logs.of(c.tlsKeyLog)
	if pair.ListenTLS != nil {
		pair.ListenTLS.KeyLog = log
	}
	if pair.UpstreamTLS != nil {
		pair.UpstreamTLS.KeyLog = log
	}
}

// twice finds two listeners of one address, of which one could not be bound.
func twice(pairs []proxy.Pair) error {
	for i, p := range pairs {
		for _, q := range pairs[:i] {
			if p.Listen == q.Listen && !(p.Listen.Network == "tcp" && strings.HasSuffix(p.Listen.Address, ":0")) {
				return console.Misconfigured("two listeners on %s", p.Listen).Hint("give each an address of its own; port 0 picks a free one")
			}
		}
	}
	return nil
}
