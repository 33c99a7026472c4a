package settings

import (
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/held"
)

// heldValues are the settings of asking clients what they hold.
type heldValues struct {
	envoys, csds []string
	interval     OrOff
	access       held.Access
}

func (v *heldValues) bind() []*Setting {
	*v = heldValues{interval: OrOff(10 * time.Second)}
	of := func(source held.Source) func(string) error {
		return func(s string) error {
			_, err := held.Parse(source, s)
			return err
		}
	}
	return []*Setting{
		row(groupHeld, "envoy-admin", newMany(&v.envoys, "[NODE=]ADDR", of(held.EnvoyAdmin)),
			"ask the Envoy with this admin endpoint what it holds, and record what changes; repeat it for several; https://host:port for TLS"),
		row(groupHeld, "csds", newMany(&v.csds, "[NODE=]ADDR", of(held.CSDS)),
			"ask the gRPC program that has its client status service here; repeat it for several"),
		row(groupHeld, "held-interval", &v.interval,
			"how often they are asked while nothing happens; after an answer of theirs they are asked soon, at most once a second; off: they are not asked"),
		row(groupHeld, "held-ca", Text{&v.access.CA, "FILE"},
			"take only a certificate that one of these roots has signed (PEM), instead of those of the system"),
		row(groupHeld, "held-token-file", Text{&v.access.Token, "FILE"},
			"show them the bearer token in this file, which is read each time; only with TLS, or on this machine"),
	}
}

// shortestInterval is what a client can be asked to bear.
const shortestInterval = 100 * time.Millisecond

// AsksHeld says that clients are asked what they hold if it is known where.
func (ss *Settings) AsksHeld() bool { return ss.held.interval > 0 }

// Held is which clients are asked what they hold; nil: none. Places that were found
// come after those that were named, unless they are the same.
func (ss *Settings) Held(found ...held.Place) (*held.Options, error) {
	v := &ss.held
	o := &held.Options{Access: v.access, Interval: time.Duration(v.interval), Files: len(ss.files.dirs) > 0}
	switch {
	case !ss.AsksHeld():
		return nil, nil
	case o.Interval < shortestInterval:
		return nil, console.Misused("--held-interval %s: it is %s or more", v.interval.String(), shortestInterval)
	}
	for _, list := range []struct {
		source held.Source
		addrs  []string
	}{{held.EnvoyAdmin, v.envoys}, {held.CSDS, v.csds}} {
		for _, s := range list.addrs {
			p, err := held.Parse(list.source, s)
			if err != nil {
				return nil, console.Misused("--%s: %w", list.source, Naming(s, err))
			}
			for i := range o.Places {
				if o.Places[i].Same(&p) {
					return nil, console.Misused("--%s: %s is there twice", list.source, p.String())
				}
			}
			o.Places = append(o.Places, p)
		}
	}
next:
	for i := range found {
		for j := range o.Places {
			if o.Places[j].Same(&found[i]) {
				continue next
			}
		}
		o.Places = append(o.Places, found[i])
	}
	if len(o.Places) == 0 {
		return nil, nil
	}
	for i := range o.Places {
		if p := &o.Places[i]; v.access.Token != "" && !p.TLS && !p.Near() {
			return nil, console.Misused("--held-token-file with %s: the token would cross the network in the clear", p).Hint("https://%s", p.Address)
		}
	}
	return o, nil
}
