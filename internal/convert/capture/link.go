package capture

import (
	"bytes"
	"net/netip"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/net/http2/hpack"

	"github.com/xdsproxy/xdsproxy/session"
)

// The two ends of a link.
const (
	clientEnd = iota
	serverEnd
)

// flags are those of TCP.
type flags uint8

const (
	flagFIN flags = 1 << iota
	flagSYN
	flagPSH
	flagACK
)

const (
	// maxSegment is how many bytes a packet has behind the header of TCP.
	maxSegment = 60 << 10
	// window is what both ends say that they take; each segment is acknowledged.
	window = 65535
	// firstStep is how far the first sequence numbers of two connections are apart,
	// since they may have the same ports.
	firstStep = 1_000_003
)

// link is a connection of TCP that is written.
type link struct {
	w    *Writer
	addr [2]netip.AddrPort
	next [2]uint32 // sequence number of each end
	over bool

	begun2  bool // the preface of HTTP/2 is written
	block   bytes.Buffer
	fields  [2]*hpack.Encoder
	credit  [2]int64 // bytes of DATA since the other end gave room for more
	opened  uint32   // the highest stream of HTTP/2
	streams map[session.StreamID]*sent
	many    int // of them, at which those that are over are forgotten
}

const manyStreams = 4096

// link is that of an entry. It begins with its first.
func (w *Writer) link(e *session.Entry) *link {
	if l := w.links[e.Conn]; l != nil {
		return l
	}
	l := &link{w: w, streams: make(map[session.StreamID]*sent), many: manyStreams}
	for end := range l.fields {
		l.fields[end] = hpack.NewEncoder(&l.block)
	}
	l.next = [2]uint32{uint32(e.Conn) * firstStep, uint32(e.Conn)*firstStep + firstStep/2}
	w.links[e.Conn] = l
	w.done.Connections++
	if !l.addresses(e.Peer) {
		w.done.Addresses++
		l.invent(e.Conn)
	}
	if e.Kind != session.KindConnect {
		w.done.Unbegun++
		w.comments = append(w.comments, "the beginning of this connection is not in the recording")
	}
	l.packet(e.Time, clientEnd, flagSYN, nil)
	l.packet(e.Time, serverEnd, flagSYN|flagACK, nil)
	l.packet(e.Time, clientEnd, flagACK, nil)
	return l
}

// addresses takes those of the client and of the server, if they are of one kind.
func (l *link) addresses(p *session.Peer) bool {
	if p == nil {
		return false
	}
	client, err := netip.ParseAddrPort(p.Client)
	server, wrong := netip.ParseAddrPort(p.Upstream)
	if err != nil || wrong != nil || client == server {
		return false
	}
	l.addr = [2]netip.AddrPort{client, server}
	for i, a := range l.addr {
		l.addr[i] = netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
	}
	return l.addr[0].Addr().Is4() == l.addr[1].Addr().Is4()
}

// invent takes addresses of those that are for documentation (RFC 5737).
func (l *link) invent(id session.ConnID) {
	const ports = 50_000
	l.addr = [2]netip.AddrPort{
		netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(id / ports)}), uint16(10_000+id%ports)),
		netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, 1}), 18000),
	}
}

// send writes bytes of one end, and acknowledges them.
func (l *link) send(at time.Time, end int, data []byte) {
	for len(data) > 0 {
		n := min(len(data), maxSegment)
		l.packet(at, end, flagPSH|flagACK, data[:n])
		l.packet(at, 1-end, flagACK, nil)
		data = data[n:]
	}
}

// close ends the connection: one end closes it, and then the other.
func (l *link) close(at time.Time, end int) {
	l.packet(at, end, flagFIN|flagACK, nil)
	l.packet(at, 1-end, flagFIN|flagACK, nil)
	l.packet(at, end, flagACK, nil)
	l.over, l.streams = true, nil
}

// packet writes a segment, and counts what it takes of the sequence.
func (l *link) packet(at time.Time, end int, has flags, data []byte) {
	from, to := l.addr[end], l.addr[1-end]
	t := &layers.TCP{
		SrcPort: layers.TCPPort(from.Port()), DstPort: layers.TCPPort(to.Port()), Seq: l.next[end], Window: window,
		SYN: has&flagSYN != 0, FIN: has&flagFIN != 0, PSH: has&flagPSH != 0, ACK: has&flagACK != 0,
	}
	if t.ACK {
		t.Ack = l.next[1-end]
	}
	var ip gopacket.SerializableLayer
	if from.Addr().Is4() {
		v4 := &layers.IPv4{Version: 4, TTL: 64, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolTCP, SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice()}
		l.w.fail(t.SetNetworkLayerForChecksum(v4))
		ip = v4
	} else {
		v6 := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolTCP, SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice()}
		l.w.fail(t.SetNetworkLayerForChecksum(v6))
		ip = v6
	}
	buf := gopacket.NewSerializeBuffer()
	l.w.fail(gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ip, t, gopacket.Payload(data)))
	l.w.packet(at, buf.Bytes())
	l.next[end] += uint32(len(data))
	if t.SYN || t.FIN {
		l.next[end]++
	}
}

func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}
