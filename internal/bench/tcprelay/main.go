// tcprelay copies bytes both ways and walks the HTTP/2 frames as they pass:
// the least a transparent relay that still sees every frame can do. It is a
// yardstick, not a design: it decodes no header, assembles no message and
// keeps nothing.
package main

import (
	"encoding/binary"
	"flag"
	"log"
	"net"
)

const prefaceLen = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

func main() {
	listen := flag.String("listen", "127.0.0.1:18006", "address to accept clients on")
	upstream := flag.String("upstream", "127.0.0.1:18000", "address of the management server")
	before := flag.Bool("before", false, "walk the frames before writing them on, as a tap that numbers causes before effects must")
	flag.Parse()

	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			u, err := net.Dial("tcp", *upstream)
			if err != nil {
				c.Close()
				return
			}
			client, server := c.(*net.TCPConn), u.(*net.TCPConn)
			go pump(server, client, &walker{preface: prefaceLen}, *before)
			pump(client, server, &walker{}, *before)
		}()
	}
}

func pump(dst, src *net.TCPConn, w *walker, before bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if before {
				w.feed(buf[:n])
			}
			if _, err := dst.Write(buf[:n]); err != nil {
				src.CloseRead()
				return
			}
			if !before {
				w.feed(buf[:n])
			}
		}
		if err != nil {
			dst.CloseWrite()
			return
		}
	}
}

// walker follows frame boundaries across reads and copies DATA payloads out.
type walker struct {
	preface int // bytes of the connection preface still to come
	hdr     [9]byte
	n       int // bytes of hdr that are there
	left    int // bytes of the frame's payload still to come
	data    bool
	buf     []byte
}

func (w *walker) feed(p []byte) {
	if w.preface > 0 {
		k := min(w.preface, len(p))
		w.preface -= k
		p = p[k:]
	}
	for len(p) > 0 {
		if w.left == 0 {
			k := copy(w.hdr[w.n:], p)
			w.n += k
			p = p[k:]
			if w.n < len(w.hdr) {
				return
			}
			w.n = 0
			w.left = int(binary.BigEndian.Uint32(w.hdr[:4]) >> 8)
			if w.data = w.hdr[3] == 0; w.data {
				w.buf = w.buf[:0]
			}
			continue
		}
		k := min(w.left, len(p))
		if w.data {
			w.buf = append(w.buf, p[:k]...)
		}
		w.left -= k
		p = p[k:]
	}
}
