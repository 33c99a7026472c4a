package proxy

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// CanTellVanished says whether a peer that vanishes with data on its way to it is
// given up in time here.
const CanTellVanished = true

// pulse is what is known of whether a TCP peer is there. Only the goroutine
// that looks after connections touches it once the connection is open.
type pulse struct {
	raw syscall.RawConn // nil: not TCP
	// Since when what was sent is without an answer; zero: it is not.
	since time.Time
}

func newPulse(nc net.Conn) pulse {
	t, ok := nc.(*net.TCPConn)
	if !ok {
		return pulse{}
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return pulse{} // closed
	}
	return pulse{raw: raw}
}

// vanished reports whether the peer has left all that was sent to it without an
// acknowledgement for as long as patience says, or has reset the connection as long ago:
// nobody may read that while the other peer takes nothing.
//
// Data that had to be sent again counts, and so do two questions in a row after
// a window of zero. One does not: it may be on its way. A peer that reads
// nothing answers them, and does not count as gone however long that takes.
func (p *pulse) vanished(now time.Time, patience time.Duration) bool {
	if p.raw == nil {
		return false
	}
	var info *unix.TCPInfo
	err := p.raw.Control(func(fd uintptr) {
		info, _ = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	})
	if err != nil || info == nil {
		p.since = time.Time{}
		return false
	}
	reset := info.State == unix.BPF_TCP_CLOSE // TCP_CLOSE of the kernel
	if !reset && (info.Unacked == 0 && info.Probes == 0 || info.Retransmits == 0 && info.Probes < 2) {
		p.since = time.Time{}
		return false
	}
	if p.since.IsZero() {
		p.since = now
	}
	heard := now.Add(-time.Duration(info.Last_ack_recv) * time.Millisecond)
	if !reset && p.since.Before(heard) {
		p.since = heard
	}
	return now.Sub(p.since) >= patience
}
