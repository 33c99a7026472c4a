package proxy

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/session"
)

const (
	moreFiles   = "allow more open files: ulimit -n, or LimitNOFILE= of a systemd unit; a client takes two, and --max-connections keeps clients within that"
	isItRunning = "check that the management server runs and that --upstream names it"
)

// noDescriptors says that the process, or the system, may open no more files.
func noDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// acceptFailed tells why clients have to wait to be accepted.
func (p *Proxy) acceptFailed(listen net.Addr, err error) {
	on, why, hint := addrString(listen), cause(err), ""
	if noDescriptors(err) {
		hint = moreFiles
	}
	p.bursts.tell(trouble{session.NoteAcceptFailed, on, why.Error()}, func(more int, since time.Duration) {
		text := fmt.Sprintf("clients on %s have to wait: %v", on, why)
		if more > 0 {
			text = fmt.Sprintf("clients on %s have to wait, none could be accepted in %d more attempts within %s: %v", on, more, since, why)
		}
		p.warn("cannot accept a connection", zap.String("listen", on), zap.Error(why), others(more), zap.String("hint", hint))
		p.note(session.NoteAcceptFailed, text, hint)
	})
}

// dialFailed records why there is no upstream connection for a client. While
// one client after the other meets the same fate, only the first has entries of
// its own; the others are counted.
func (p *Proxy) dialFailed(c *conn, connect session.Entry, err error) {
	why, hint := cause(err), isItRunning
	var ne net.Error
	switch {
	case noDescriptors(err):
		hint = moreFiles
	case errors.Is(err, errComesBack):
		hint = exemptProxy
	case errors.As(err, &ne) && ne.Timeout():
		why = errors.New("no answer in time")
	}
	upstream := connect.Peer.Upstream
	p.bursts.tell(trouble{session.NoteDialFailed, upstream, why.Error()}, func(more int, since time.Duration) {
		p.warn("cannot reach upstream; the client was reset", zap.String("upstream", upstream), zap.Error(why), others(more), zap.String("hint", hint))
		if more > 0 {
			p.note(session.NoteDialFailed, fmt.Sprintf("cannot reach upstream %s for %d more clients within %s: %v", upstream, more, since, why), hint)
			return
		}
		text := fmt.Sprintf("cannot reach upstream %s: %v", upstream, why)
		if noDescriptors(err) {
			text = fmt.Sprintf("accepted a client, but have no file descriptor left to dial upstream %s: %v", upstream, why)
		}
		c.Append(connect)
		c.Append(session.Entry{Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{
			Code: session.NoteDialFailed, Text: text, Hint: hint,
		}})
		c.disconnect(session.Proxy, text)
	})
}
