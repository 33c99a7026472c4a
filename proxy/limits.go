package proxy

import (
	"fmt"
	"net"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/session"
)

// Limits bound what clients can make the proxy hold. They are looked at where
// a connection is accepted and nowhere else, because nothing can be refused
// inside of one without a frame of our own.
type Limits struct {
	// MaxConnections is how many clients may be connected at once, over all
	// listeners; those for whom the upstream is still being dialled count. 0:
	// as many as come.
	MaxConnections int
	// MaxStreams is how many HTTP/2 streams may be open, over all connections,
	// for another connection to be accepted. Streams on connections that are
	// there already are never refused. 0: as many as come.
	MaxStreams int
	// KeepAlive is how long a peer may be silent before its system is asked
	// whether it is still there; one that answers nothing is given up after
	// four times as long. See keepAlive. 0: 30 s, less than 0: never.
	KeepAlive time.Duration
}

// Refused is how many clients were refused because of Limits.
func (p *Proxy) Refused() uint64 { return p.refused.Load() }

// admit counts a connection that was just accepted, or refuses it: the client
// sees a reset before any handshake. Only the goroutines that accept call it;
// leave takes the count back.
func (p *Proxy) admit(nc net.Conn, listen net.Addr) bool {
	l := &p.cfg.Limits
	held := p.held.Add(1)
	var why, hint string
	switch {
	case l.MaxConnections > 0 && held > int64(l.MaxConnections):
		why = fmt.Sprintf("%d connections are open, as many as may be", l.MaxConnections)
		hint = "raise --max-connections, or find out who opens so many"
	case l.MaxStreams > 0 && p.followed.Load() >= int64(l.MaxStreams):
		why = fmt.Sprintf("%d streams are open, as many as may be", l.MaxStreams)
		hint = "raise --max-streams, or find out who opens so many"
	default:
		return true
	}
	p.leave()
	p.refused.Add(1)
	client := addrString(nc.RemoteAddr())
	reset(nc)
	on := addrString(listen)
	p.bursts.tell(trouble{session.NoteRefused, on, why}, func(more int, since time.Duration) {
		text := fmt.Sprintf("refused the client %s on %s: %s", client, on, why)
		if more > 0 {
			text = fmt.Sprintf("refused %d more clients on %s within %s: %s", more, on, since, why)
		}
		p.warn(text, zap.String("hint", hint))
		p.note(session.NoteRefused, text, hint)
	})
	return false
}

// reserve is how many open files clients leave to the rest of the program, and a
// quarter of all where those are few: to probes, viewers and the recording.
const reserve = 64

// room is nil if another client can be accepted. It waits else: who is reset
// comes back at once.
func (p *Proxy) room() error {
	limit := openFiles()
	if limit > 0 && 2*(p.held.Load()+1) > limit-min(reserve, limit/4) {
		return syscall.EMFILE
	}
	return nil
}

func (p *Proxy) leave() { p.held.Add(-1) }

// note records what belongs to no connection that was made.
func (p *Proxy) note(code session.NoteCode, text, hint string) {
	p.cfg.Log.Append(session.Entry{Time: time.Now(), Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{
		Code: code, Text: text, Hint: hint,
	}})
}
