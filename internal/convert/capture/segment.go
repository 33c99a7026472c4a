package capture

import (
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// segment is what a packet has of a TCP connection.
type segment struct {
	from, to            netip.AddrPort
	seq, ack            uint32
	syn, fin, rst, acks bool
	data                []byte // valid until the next packet
	inOrder             bool   // it is what comes next, and has no number
}

// unread counts packets of which no segment was made.
type unread struct {
	Fragments uint64 // of IP packets, which are not put together
	Links     uint64 // of a link type that is not known
	Cut       uint64 // by the snap length; their beginning counts
}

// segmentOf finds the segment in a packet; false if there is none.
func (u *unread) segmentOf(data []byte, link layers.LinkType, of gopacket.CaptureInfo) (s segment, ok bool) {
	var first gopacket.Decoder = link
	switch {
	case link == linkExported:
		return exported(data)
	case link == layers.LinkTypeIPv4:
		first = layers.LayerTypeIPv4
	case link == layers.LinkTypeIPv6:
		first = layers.LayerTypeIPv6
	case int(link) >= len(layers.LinkTypeMetadata) || layers.LinkTypeMetadata[link].DecodeWith == nil:
		u.Links++
		return s, false
	}
	p := gopacket.NewPacket(data, first, gopacket.DecodeOptions{Lazy: true, NoCopy: true})
	t, is := p.Layer(layers.LayerTypeTCP).(*layers.TCP)
	if !is {
		u.fragment(p)
		return s, false
	}
	var from, to netip.Addr
	// Of several, as in a tunnel, the innermost is that of the segment.
	for _, l := range p.Layers() {
		switch ip := l.(type) {
		case *layers.IPv4:
			from, _ = netip.AddrFromSlice(ip.SrcIP)
			to, _ = netip.AddrFromSlice(ip.DstIP)
		case *layers.IPv6:
			from, _ = netip.AddrFromSlice(ip.SrcIP)
			to, _ = netip.AddrFromSlice(ip.DstIP)
		}
	}
	if of.CaptureLength < of.Length {
		u.Cut++
	}
	return segment{
		from: netip.AddrPortFrom(from.Unmap(), uint16(t.SrcPort)), to: netip.AddrPortFrom(to.Unmap(), uint16(t.DstPort)),
		seq: t.Seq, ack: t.Ack, syn: t.SYN, fin: t.FIN, rst: t.RST, acks: t.ACK, data: t.Payload,
	}, from.IsValid() && to.IsValid()
}

func (u *unread) fragment(p gopacket.Packet) {
	if p.Layer(gopacket.LayerTypeFragment) != nil {
		u.Fragments++
	}
}
