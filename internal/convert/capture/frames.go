package capture

import (
	"encoding/binary"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// Of RFC 9113: what is written of frames.
const (
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	frameData         = 0x0
	frameHeaders      = 0x1
	frameRSTStream    = 0x3
	frameSettings     = 0x4
	frameGoAway       = 0x7
	frameWindowUpdate = 0x8
	frameContinuation = 0x9

	settingsAck = 0x1
	endStream   = 0x1
	endHeaders  = 0x4

	settingWindow = 0x4
	resetCancel   = 0x8

	maxFrame   = 16 << 10
	maxWindow  = 1<<31 - 1
	dfltWindow = 1<<16 - 1
	// moreRoom is after how many bytes of DATA the other end gives room for more.
	moreRoom = 1 << 30
)

// appendFrame appends a frame.
func appendFrame(b []byte, typ, has byte, stream uint32, payload []byte) []byte {
	b = append(b, byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), typ, has)
	b = binary.BigEndian.AppendUint32(b, stream)
	return append(b, payload...)
}

func (l *link) writeFrame(at time.Time, end int, typ, has byte, stream uint32, payload []byte) {
	l.preface(at)
	l.send(at, end, appendFrame(nil, typ, has, stream, payload))
}

// preface writes what a connection of HTTP/2 begins with. Both ends let the other
// send as much as there can be.
func (l *link) preface(at time.Time) {
	if l.begun2 {
		return
	}
	l.begun2 = true
	settings := appendFrame(nil, frameSettings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, settingWindow}, maxWindow))
	settings = appendFrame(settings, frameWindowUpdate, 0, 0, binary.BigEndian.AppendUint32(nil, maxWindow-dfltWindow))
	ack := appendFrame(nil, frameSettings, settingsAck, 0, nil)
	l.send(at, clientEnd, append([]byte(preface), settings...))
	l.send(at, serverEnd, append(settings, ack...))
	l.send(at, clientEnd, ack)
}

// writeBlock writes a header block.
func (l *link) writeBlock(at time.Time, end int, stream uint32, fields []session.Field, last bool) {
	l.preface(at)
	block := l.encode(end, fields)
	typ, has := byte(frameHeaders), byte(0)
	if last {
		has = endStream
	}
	var b []byte
	for {
		n := min(len(block), maxFrame)
		if n == len(block) {
			has |= endHeaders
		}
		b = appendFrame(b, typ, has, stream, block[:n])
		if block = block[n:]; len(block) == 0 {
			break
		}
		typ, has = frameContinuation, 0
	}
	l.send(at, end, b)
}

// writeData writes DATA frames, a few in a segment.
func (l *link) writeData(at time.Time, end int, s *sent, data session.Chunks) {
	l.preface(at)
	var frame, out []byte
	flush := func() {
		out = appendFrame(out, frameData, 0, s.h2, frame)
		frame = frame[:0]
		if len(out) > maxSegment-maxFrame-9 {
			l.send(at, end, out)
			out = out[:0]
		}
	}
	for _, c := range data {
		for len(c) > 0 {
			n := min(len(c), maxFrame-len(frame))
			if frame = append(frame, c[:n]...); len(frame) == maxFrame {
				flush()
			}
			c = c[n:]
			l.room(at, end, s, n)
		}
	}
	if len(frame) > 0 {
		flush()
	}
	l.send(at, end, out)
}

// room counts bytes of DATA, and writes that the other end takes more.
func (l *link) room(at time.Time, end int, s *sent, n int) {
	for _, of := range []struct {
		used   *int64
		stream uint32
	}{{&l.credit[end], 0}, {&s.credit[end], s.h2}} {
		if *of.used += int64(n); *of.used > moreRoom {
			l.writeFrame(at, 1-end, frameWindowUpdate, 0, of.stream, binary.BigEndian.AppendUint32(nil, uint32(*of.used)))
			*of.used = 0
		}
	}
}

func (l *link) goAway(e *session.Entry, end int) {
	b := binary.BigEndian.AppendUint32(nil, e.GoAway.LastStream)
	b = binary.BigEndian.AppendUint32(b, e.GoAway.Code)
	b = append(b, e.GoAway.Debug...)
	l.writeFrame(e.Time, end, frameGoAway, 0, 0, b)
}
