package proxy

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// records is an end of TLS 1.3 whose handshake crypto/tls has done, and that
// sends each record as a test wants it: crypto/tls updates no key by itself.
type records struct {
	net.Conn // the socket

	sending sync.Mutex
	out     half

	in        half
	rest      []byte // of what was received
	requested int    // updates that the other end asked for
	updates   int    // updates of the other end's keys
}

// half is the protection of one direction.
type half struct {
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

const (
	typeHandshake byte = 22
	typeData      byte = 23
)

// expand is HKDF-Expand-Label of RFC 8446 section 7.1, without a context.
func expand(secret []byte, label string, length int) []byte {
	label = "tls13 " + label
	info := string([]byte{byte(length >> 8), byte(length), byte(len(label))}) + label + "\x00"
	out, err := hkdf.Expand(sha256.New, secret, info, length)
	if err != nil {
		panic(err)
	}
	return out
}

func (h *half) use(secret []byte) {
	block, err := aes.NewCipher(expand(secret, "key", 16))
	if err != nil {
		panic(err)
	}
	if h.aead, err = cipher.NewGCM(block); err != nil {
		panic(err)
	}
	h.secret, h.iv, h.seq = secret, expand(secret, "iv", 12), 0
}

// next is an update of the key.
func (h *half) next() { h.use(expand(h.secret, "traffic upd", sha256.Size)) }

func (h *half) nonce() []byte {
	n := append([]byte(nil), h.iv...)
	binary.BigEndian.PutUint64(n[4:], binary.BigEndian.Uint64(n[4:])^h.seq)
	h.seq++
	return n
}

func (h *half) seal(kind byte, p []byte) []byte {
	n := len(p) + 1 + h.aead.Overhead()
	head := []byte{typeData, 3, 3, byte(n >> 8), byte(n)}
	return h.aead.Seal(head, h.nonce(), append(append([]byte(nil), p...), kind), head)
}

// secretLog is what crypto/tls writes keys to.
type secretLog struct{ strings.Builder }

func (l *secretLog) secret(t *testing.T, label string) []byte {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == label {
			if b, err := hex.DecodeString(f[2]); err == nil {
				return b
			}
		}
	}
	t.Fatalf("no %s", label)
	return nil
}

// takeOver goes on where crypto/tls is after its handshake.
func takeOver(t *testing.T, c *tls.Conn, log *secretLog, client bool) *records {
	t.Helper()
	if s := c.ConnectionState(); s.Version != tls.VersionTLS13 || s.CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skipf("this machine prefers %s", tls.CipherSuiteName(s.CipherSuite))
	}
	r := &records{Conn: c.NetConn()}
	own, others := "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"
	if !client {
		own, others = others, own
	}
	r.out.use(log.secret(t, own))
	r.in.use(log.secret(t, others))
	return r
}

// takenOver are both ends of a new connection through a proxy that speaks TLS.
func (w *world) takenOver() (client, server *records) {
	w.t.Helper()
	var clientLog, serverLog secretLog
	accepted := make(chan *tls.Conn, 1)
	go func() {
		nc, err := w.upstream.Accept()
		if err != nil {
			return
		}
		c := tls.Server(nc, &tls.Config{
			Certificates: []tls.Certificate{w.pki.upstream.TLS()}, NextProtos: []string{"h2"},
			SessionTicketsDisabled: true, KeyLogWriter: &serverLog,
		})
		c.Handshake()
		accepted <- c
	}()
	c, err := tls.Dial("tcp", w.proxy.Addrs()[0].String(), &tls.Config{
		RootCAs: w.pki.root.Pool(), ServerName: "localhost", NextProtos: []string{"h2"}, KeyLogWriter: &clientLog,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.NetConn().Close() })
	s := <-accepted
	w.t.Cleanup(func() { s.NetConn().Close() })
	return takeOver(w.t, c, &clientLog, true), takeOver(w.t, s, &serverLog, false)
}

// send writes one record.
func (r *records) send(kind byte, p []byte) error {
	r.sending.Lock()
	defer r.sending.Unlock()
	_, err := r.Conn.Write(r.out.seal(kind, p))
	return err
}

// keyUpdate is the message, which asks the other end for the same or does not.
func keyUpdate(ask bool) []byte {
	m := []byte{24, 0, 0, 1, 0}
	if ask {
		m[4] = 1
	}
	return m
}

// update changes the key, and says so in as many records as are given sizes.
func (r *records) update(ask bool, cut int) error {
	r.sending.Lock()
	defer r.sending.Unlock()
	m := keyUpdate(ask)
	defer r.out.next()
	if cut > 0 {
		if _, err := r.Conn.Write(r.out.seal(typeHandshake, m[:cut])); err != nil {
			return err
		}
	}
	_, err := r.Conn.Write(r.out.seal(typeHandshake, m[cut:]))
	return err
}

// Read gives the data of the other end, and answers its requests.
func (r *records) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		var head [5]byte
		if _, err := io.ReadFull(r.Conn, head[:]); err != nil {
			return 0, err
		}
		body := make([]byte, binary.BigEndian.Uint16(head[3:]))
		if _, err := io.ReadFull(r.Conn, body); err != nil {
			return 0, err
		}
		plain, err := r.in.aead.Open(nil, r.in.nonce(), body, head[:])
		if err != nil {
			return 0, err
		}
		kind, text := plain[len(plain)-1], plain[:len(plain)-1]
		switch {
		case kind == typeData:
			r.rest = text
		case kind == typeHandshake && string(text[:4]) == "\x18\x00\x00\x01":
			r.in.next()
			r.updates++
			if text[4] == 1 {
				r.requested++
				if err := r.update(false, 0); err != nil {
					return 0, err
				}
			}
		default:
			return 0, fmt.Errorf("a record of type %d: %x", kind, text)
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
