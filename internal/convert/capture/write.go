package capture

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/xdsproxy/xdsproxy/session"
)

// Written is what was written, and of what the capture has less than the session.
type Written struct {
	Packets, Entries, Messages uint64
	Connections                uint64
	Addresses                  uint64 // connections whose addresses are no two of one kind of IP: they got others
	Unbegun                    uint64 // connections whose beginning is not in the session
	Headless                   uint64 // streams, or responses, whose headers are not in the session: they got others
	Decompressed               uint64 // messages that were sent compressed
	Truncated                  uint64 // messages of which the session has the beginning only
	Bodies                     uint64 // heads of HTTP/1.1 that got chunks in the place of a length, and no compression
	Rewritten                  uint64 // requests that the proxy sent on with other headers
	Comments                   uint64 // notes and gaps, which are comments of packets
	Held, Files                uint64 // entries that are of no connection
	Late                       uint64 // entries of connections and streams that were over
}

// Writer writes the entries of a session as pcapng: packets of raw IP, with times
// in nanoseconds.
type Writer struct {
	out   *pcapgo.NgWriter
	links map[session.ConnID]*link
	// comments wait for the next packet.
	comments []string
	files    map[session.StreamID]bool
	done     Written
	err      error
}

// NewWriter begins a capture. The program that writes it is named in it.
func NewWriter(to io.Writer, program string) (*Writer, error) {
	out, err := pcapgo.NewNgWriterInterface(to, pcapgo.NgInterface{
		Name: "xdsproxy", LinkType: layers.LinkTypeRaw, TimestampResolution: 9,
		Comment: "made from a recording of messages: packets, acknowledgements and flow control are not those that were sent",
	}, pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{Application: program}})
	return &Writer{out: out, links: make(map[session.ConnID]*link), files: make(map[session.StreamID]bool)}, err
}

// Add writes an entry.
func (w *Writer) Add(e *session.Entry) error {
	switch e.Kind {
	case session.KindTime:
		return w.err
	case session.KindHeld:
		w.done.Held++
		return w.err
	case session.KindNote:
		if e.Note != nil {
			w.comment(e, strings.TrimSpace(fmt.Sprintf("note %s: %s", e.Note.Code, e.Note.Text)))
		}
		return w.err
	case session.KindGap:
		if e.Gap != nil {
			w.comment(e, fmt.Sprintf("gap: %d entries are missing before this packet", e.Gap.Entries))
		}
		return w.err
	}
	if strings.HasPrefix(e.Method, "file:") || w.files[e.Stream] {
		w.files[e.Stream] = true
		w.done.Files++
		return w.err
	}
	if w.err == nil {
		w.done.Entries++
		w.link(e).add(e)
	}
	return w.err
}

// comment writes a text beside the next packet; where the connection is known, that
// is one of it with nothing in it.
func (w *Writer) comment(e *session.Entry, text string) {
	w.done.Comments++
	const longest, most = 4 << 10, 256
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "..."
	}
	if len(w.comments) < most {
		w.comments = append(w.comments, text)
	}
	if l := w.links[e.Conn]; l != nil && !l.over {
		l.packet(e.Time, clientEnd, flagACK, nil)
	}
}

// Close ends the capture.
func (w *Writer) Close() (Written, error) {
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return w.done, w.err
}

// packet writes a packet.
func (w *Writer) packet(at time.Time, data []byte) {
	if w.err != nil {
		return
	}
	w.err = w.out.WritePacketWithOptions(
		gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(data), Length: len(data)}, data,
		pcapgo.NgPacketOptions{Comments: w.comments},
	)
	w.comments = nil
	w.done.Packets++
}
