package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// opening brings about the two legs of one connection: it dials, and does the
// handshakes in the order that lets each side learn from the other what it
// could not know. Each step ends within the dial timeout.
type opening struct {
	p    *Proxy
	pair Pair
	sec  security
	ctx  context.Context // of Serve

	nc   net.Conn // the client, as accepted
	up   net.Conn // the upstream, once dialled
	peer *session.Peer
	odd  *session.Note // something about the handshakes, although they went well

	client, server leg
	explain        map[session.Side]Facts // of the legs that speak TLS; nil if none does

	upErr error // why there is no upstream leg
	// forget undoes what dial has noted; never nil.
	forget func()
}

// open returns an error that the upstream is to blame for, or a *TLSFailure, or
// errGone if the client left before it had said anything.
func (o *opening) open() error {
	// Before a handshake, which fails for another reason if the legs differ.
	if o.pair.OriginalDst && o.p.isOwn(o.nc, o.pair.Upstream.Address) {
		return errComesBack
	}
	err := o.openLegs()
	if f := (*TLSFailure)(nil); errors.As(err, &f) && f.Side == session.Client && o.p.dialledBy(o.nc) {
		return errLeadsBack // the client is the proxy, and speaks as its upstream leg is set
	}
	return err
}

// errLeadsBack says that the upstream is one of our own listeners.
var errLeadsBack = errors.New("it leads back to this proxy")

func (o *opening) openLegs() error {
	if o.sec.listen != nil {
		return o.openSecure()
	}
	var head []byte
	if o.sec.upstream != nil {
		var protocols []string
		var err error
		if head, protocols, err = o.sniff(); err != nil {
			return err
		}
		if err := o.dial(); err != nil {
			return err
		}
		if _, err := o.secureUpstream("", protocols); err != nil {
			return err
		}
	} else if err := o.dial(); err != nil {
		return err
	}
	var err error
	o.client, err = newSocket(o.nc.(halfCloser), &o.p.pool)
	if err == nil && len(head) > 0 {
		o.client = &headed{leg: o.client, head: head, pool: &o.p.pool}
	}
	if err == nil && o.server == nil {
		o.server, err = newSocket(o.up.(halfCloser), &o.p.pool)
	}
	return err
}

func (o *opening) dial() error {
	dialer := o.p.dialer()
	if o.pair.OriginalDst {
		o.forget = o.p.goOn(dialer, o.pair.Upstream.Address)
	}
	up, err := dialer.DialContext(o.ctx, o.pair.Upstream.Network, o.pair.Upstream.Address)
	if err != nil {
		return err
	}
	before, dialled := o.forget, o.p.dialled(up)
	o.up, o.peer.Local, o.forget = up, addrString(up.LocalAddr()), func() { before(); dialled() }
	if o.p.dialledBy(o.nc) {
		return errLeadsBack
	}
	return nil
}

// secureUpstream does the handshake with the upstream, which is offered these
// protocols, and returns the one that it chose, "" if none.
func (o *opening) secureUpstream(asked string, protocols []string) (chosen string, err error) {
	u := o.sec.upstream
	facts := Facts{
		Addr: o.peer.Upstream, ServerName: u.serverName(asked, o.pair.Upstream), Protocols: protocols, Upstream: &u.UpstreamTLS,
	}
	if u.pair != nil {
		facts.Shown = u.pair.Get()
	}
	under := &transport{halfCloser: o.up.(halfCloser)}
	o.up.SetDeadline(time.Now().Add(o.p.cfg.DialTimeout))
	c := tls.Client(under, u.config(facts.ServerName, protocols, func() { facts.Asked = true }))
	err = c.HandshakeContext(o.ctx)
	state := c.ConnectionState()
	o.peer.ServerTLS = describe(state, facts.ServerName)
	o.peer.ServerTLS.Verified = u.verified(state)
	if err != nil {
		if verify := (*tls.CertificateVerificationError)(nil); errors.As(err, &verify) && len(verify.UnverifiedCertificates) > 0 {
			identify(o.peer.ServerTLS, verify.UnverifiedCertificates[0])
		}
		return "", ExplainUpstream(err, facts)
	}
	o.up.SetDeadline(time.Time{})
	o.secured(session.Server, facts)
	if o.server, err = newTLSLeg(c, under, &o.p.pool); err != nil {
		return "", err
	}
	if state.NegotiatedProtocol == "" && len(protocols) > 0 {
		o.odd = &session.Note{
			Code: session.NoteTLSOdd,
			Text: "upstream " + facts.Addr + ": TLS handshake: it chose none of the protocols that were offered (" + protocolsText(protocols) + ")",
			Hint: "it may not know ALPN: gRPC clients refuse such a server, unless told otherwise",
		}
	}
	return state.NegotiatedProtocol, nil
}

// openSecure lets the client say hello, dials and finishes the upstream's
// handshake, and only then goes on with the client's, so that the client is
// told what the upstream has chosen.
func (o *opening) openSecure() error {
	l := o.sec.listen
	under := &transport{halfCloser: o.nc.(halfCloser)}
	facts := Facts{Addr: o.peer.Client, Listen: &l.ListenTLS}
	c := tls.Server(under, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		facts.ServerName, facts.Protocols = bounded(hello.ServerName), offered(hello)
		var protocols []string
		if protocols, o.upErr = o.answer(hello); o.upErr != nil && protocols == nil {
			return nil, o.upErr
		}
		dialled := ""
		if o.pair.OriginalDst {
			dialled, _, _ = net.SplitHostPort(o.pair.Upstream.Address)
		}
		cfg, err := l.config(hello, dialled, protocols)
		if err != nil {
			return nil, err
		}
		facts.Shown = &cfg.Certificates[0]
		o.nc.SetDeadline(time.Now().Add(o.p.cfg.DialTimeout))
		return cfg, nil
	}})
	o.nc.SetDeadline(time.Now().Add(o.p.cfg.DialTimeout))
	err := c.HandshakeContext(o.ctx)
	o.peer.ClientTLS = describe(c.ConnectionState(), facts.ServerName)
	if o.upErr != nil {
		return o.upErr
	}
	if err != nil {
		if verify := (*tls.CertificateVerificationError)(nil); errors.As(err, &verify) && len(verify.UnverifiedCertificates) > 0 {
			identify(o.peer.ClientTLS, verify.UnverifiedCertificates[0])
		}
		return ExplainClient(err, facts)
	}
	o.nc.SetDeadline(time.Time{})
	o.secured(session.Client, facts)
	o.client, err = newTLSLeg(c, under, &o.p.pool)
	return err
}

// secured notes that a leg speaks TLS.
func (o *opening) secured(side session.Side, facts Facts) {
	if o.explain == nil {
		o.explain = make(map[session.Side]Facts, 2)
	}
	facts.Complete = true
	o.explain[side] = facts
}

// maxProtocols bounds how many protocols of a client are passed on.
const maxProtocols = 16

func offered(hello *tls.ClientHelloInfo) []string {
	return slices.Clone(hello.SupportedProtos[:min(len(hello.SupportedProtos), maxProtocols)])
}

// refused is a protocol that no client offers. A listener that has no other
// answers with the alert that says so.
const refused = "\x00"

// answer opens the upstream leg inside of a client's hello. It returns what the
// client is told about protocols, even with an error if it is to hear of it in
// this way.
func (o *opening) answer(hello *tls.ClientHelloInfo) (protocols []string, err error) {
	if err := o.dial(); err != nil {
		// An upstream that refuses is no matter of TLS.
		reset(o.nc)
		return nil, err
	}
	if o.sec.upstream == nil {
		if o.server, err = newSocket(o.up.(halfCloser), &o.p.pool); err != nil {
			return nil, err
		}
		return plainProtocols(hello.SupportedProtos), nil
	}
	chosen, err := o.secureUpstream(hello.ServerName, offered(hello))
	switch f := (*TLSFailure)(nil); {
	case errors.As(err, &f) && f.Kind == FailedALPN:
		return []string{refused}, err // the client is told the same, by an alert
	case err != nil:
		return nil, err
	case chosen == "":
		return nil, nil
	}
	return []string{chosen}, nil
}

// plainProtocols is what a client that offers these is told if the upstream
// leg is plaintext and may be either.
func plainProtocols(offered []string) []string {
	switch {
	case len(offered) == 0:
		return nil
	case slices.Contains(offered, "h2"):
		return []string{"h2"}
	case slices.Contains(offered, "http/1.1"):
		return []string{"http/1.1"}
	}
	return []string{refused}
}
