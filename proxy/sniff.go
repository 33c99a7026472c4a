package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// preface is how HTTP/2 begins (RFC 9113 section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// errGone says that a client left before it had said anything, as the probes
// of load balancers do.
var errGone = errors.New("the client closed the connection")

// sniff reads as much of a plaintext client as tells what to offer an upstream
// that speaks TLS. HTTP is spoken by the client first; a client that says
// nothing, or TLS, is not let through.
func (o *opening) sniff() (head []byte, protocols []string, err error) {
	stop := context.AfterFunc(o.ctx, func() { o.nc.SetReadDeadline(past) })
	defer stop()
	o.nc.SetReadDeadline(time.Now().Add(o.p.cfg.DialTimeout))
	head, h2, err := readPreface(o.nc)
	switch {
	case len(head) > 0 && head[0] == 0x16:
		return nil, nil, &TLSFailure{
			Kind: FailedEncrypted, Side: session.Client, By: session.Proxy,
			Text: "client " + o.peer.Client + ": it speaks TLS to a plaintext listener whose upstream leg is TLS of its own",
			Hint: "give the listener a certificate with --tls-cert FILE --tls-key FILE, or --tls-ca-dir DIR to make one",
		}
	case lateError(err) && len(head) == 0:
		return nil, nil, &TLSFailure{
			Kind: FailedSilent, Side: session.Client, By: session.Proxy, Err: err,
			Text: "client " + o.peer.Client + ": it said nothing in time, and the upstream has to be offered the protocol that it speaks",
			Hint: "xDS clients speak first; raise --dial-timeout if this one is only slow",
		}
	case len(head) == 0 && errors.Is(err, io.EOF):
		return nil, nil, errGone
	case len(head) == 0:
		return nil, nil, &brokenClient{err}
	}
	if !stop() {
		return nil, nil, errStopped
	}
	o.nc.SetReadDeadline(time.Time{})
	if h2 {
		return head, []string{"h2"}, nil
	}
	return head, []string{"http/1.1"}, nil
}

// brokenClient is an error of the client's connection.
type brokenClient struct{ error }

func (e *brokenClient) Unwrap() error { return e.error }

// readPreface reads until it is sure whether HTTP/2 begins. It takes no more
// than that.
func readPreface(r net.Conn) (head []byte, h2 bool, err error) {
	buf := make([]byte, len(preface))
	for n := 0; n < len(buf); {
		k, err := r.Read(buf[n:])
		n += k
		if string(buf[:n]) != preface[:n] {
			return buf[:n], false, nil
		}
		if err != nil {
			return buf[:n], false, err
		}
	}
	return buf, true, nil
}

// headed is a leg of which something was read before.
type headed struct {
	leg
	head []byte
	pool *buffers
}

func (h *headed) read() (*[bufferSize]byte, int, error) {
	if h.head == nil {
		return h.leg.read()
	}
	buf := h.pool.get()
	n := copy(buf[:], h.head)
	h.head = nil
	return buf, n, nil
}
