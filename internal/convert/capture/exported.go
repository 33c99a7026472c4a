package capture

import (
	"encoding/binary"
	"net/netip"

	"github.com/gopacket/gopacket/layers"
)

// linkExported is the link type of what Wireshark has taken out of packets, such as
// what was in TLS: tags that say where it comes from, and then its bytes.
const linkExported layers.LinkType = 252

// The tags of Wireshark's exported_pdu_tlvs.h that count here.
const (
	tagEnd      = 0
	tagIPv4From = 20
	tagIPv4To   = 21
	tagIPv6From = 22
	tagIPv6To   = 23
	tagPortFrom = 25
	tagPortTo   = 26
)

// exported reads what Wireshark has exported; false if it does not say between whom
// it was sent.
func exported(data []byte) (s segment, ok bool) {
	var from, to netip.Addr
	var ports [2]uint16
	for len(data) >= 4 {
		tag, n := binary.BigEndian.Uint16(data), int(binary.BigEndian.Uint16(data[2:]))
		data = data[4:]
		if tag == tagEnd || n > len(data) {
			s.data = data
			ok = tag == tagEnd
			break
		}
		v := data[:n]
		switch {
		case tag == tagIPv4From || tag == tagIPv6From:
			from, _ = netip.AddrFromSlice(v)
		case tag == tagIPv4To || tag == tagIPv6To:
			to, _ = netip.AddrFromSlice(v)
		case (tag == tagPortFrom || tag == tagPortTo) && n == 4:
			ports[tag-tagPortFrom] = uint16(binary.BigEndian.Uint32(v))
		}
		data = data[n:]
	}
	s.from, s.to, s.inOrder = netip.AddrPortFrom(from, ports[0]), netip.AddrPortFrom(to, ports[1]), true
	return s, ok && from.IsValid() && to.IsValid() && len(s.data) > 0
}
