package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

const (
	// maxPacket is how many bytes of the file may pass from one packet to the next.
	maxPacket = 16 << 20
	// maxNamed is how many interfaces, and names, a section may have.
	maxNamed = 1 << 12
)

// The magic numbers of pcap, in both orders of bytes and with both units of time,
// and the type of the first block of pcapng.
const (
	magicMicro = 0xa1b2c3d4
	magicNano  = 0xa1b23c4d
	magicNG    = 0x0a0d0d0a
)

// Begins says whether a file that begins with these bytes is a capture.
func Begins(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	little, big := binary.LittleEndian.Uint32(head), binary.BigEndian.Uint32(head)
	return big == magicNG || big == magicMicro || big == magicNano || little == magicMicro || little == magicNano
}

// FormatError says that a file is no capture, or one that is damaged.
type FormatError struct {
	Packet uint64 // the number of the first that cannot be read
	Reason string
}

func (e *FormatError) Error() string { return fmt.Sprintf("at packet %d: %s", e.Packet, e.Reason) }

var errLong = errors.New("a packet is longer than any that is captured")

// ration lets a reader have so many bytes, and an error after them.
type ration struct {
	in   io.Reader
	left int
}

func (r *ration) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errLong
	}
	n, err := r.in.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// file is a capture that is being read.
type file struct {
	in      *ration
	pcap    *pcapgo.Reader
	ng      *pcapgo.NgReader
	packets uint64
}

func openFile(in *bufio.Reader) (*file, error) {
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	f := &file{in: &ration{in: in, left: maxPacket}}
	if len(head) == 4 && binary.BigEndian.Uint32(head) == magicNG {
		f.ng, err = pcapgo.NewNgReader(f.in, pcapgo.NgReaderOptions{WantMixedLinkType: true, SkipUnknownVersion: true})
	} else {
		f.pcap, err = pcapgo.NewReader(f.in)
	}
	if err != nil {
		return nil, f.wrong(err)
	}
	return f, nil
}

// next is the next packet, which is valid until the one after; io.EOF at the end of
// the file, and io.ErrUnexpectedEOF within a packet.
func (f *file) next() (data []byte, ci gopacket.CaptureInfo, link layers.LinkType, err error) {
	f.in.left = maxPacket
	if f.pcap != nil {
		link = f.pcap.LinkType()
		data, ci, err = f.pcap.ZeroCopyReadPacketData()
	} else {
		data, ci, err = f.ng.ZeroCopyReadPacketData()
		if err == nil {
			link, _ = ci.AncillaryData[0].(layers.LinkType)
		}
		if f.ng.NInterfaces() > maxNamed || f.ng.NNames() > maxNamed {
			err = errors.New("it names more interfaces and hosts than are read")
		}
	}
	switch {
	case err == nil:
		f.packets++
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		err = f.wrong(err)
	}
	return data, ci, link, err
}

func (f *file) wrong(err error) error {
	reason := err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		reason = "the file ends within its header"
	}
	return &FormatError{Packet: f.packets + 1, Reason: reason}
}
