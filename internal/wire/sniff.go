package wire

import "time"

// preface is what an HTTP/2 client sends first (RFC 9113 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// sniffClient finds out what a client speaks.
func (h *half) sniffClient(at time.Time, p []byte) (int, bool) {
	for i, b := range p {
		if h.sniffed == len(preface) {
			h.becomeHTTP2()
			return i, true
		}
		if b == preface[h.sniffed] {
			h.sniffed++
			continue
		}
		return h.notHTTP2(at, b, i)
	}
	if h.sniffed == len(preface) {
		h.becomeHTTP2()
		return len(p), false
	}
	return -1, false
}

func (h *half) becomeHTTP2() {
	h.parse = (*half).parseFrames
	h.tap.http2.Store(true)
}

// notHTTP2 is reached at the first byte b, p[i], that is not the preface.
func (h *half) notHTTP2(at time.Time, b byte, i int) (int, bool) {
	switch {
	case h.sniffed == 0 && b == 0x16:
		h.goBlindHint(at, "the client speaks TLS to a plaintext listener",
			"it is forwarded, but not understood: give the listener a certificate with --tls-cert, or --tls-ca-dir to make one")
		return i, true
	case h.sniffed > 0 || isToken(b):
		h.parse = (*half).parseH1
		// What matched so far was the beginning of another method: "P" of POST.
		if h.sniffed > 0 {
			if _, handover := h.parseH1(at, []byte(preface[:h.sniffed])); handover {
				return i, true
			}
		}
		return i, true
	}
	h.goBlind(at, "the client speaks neither HTTP/2 nor HTTP/1.1")
	return i, true
}

// sniffServer finds out what a server speaks. It may speak first: HTTP/2
// servers send SETTINGS at once, whose length has a zero high byte.
func (h *half) sniffServer(at time.Time, p []byte) (int, bool) {
	if len(p) == 0 {
		return -1, false
	}
	switch p[0] {
	case 0:
		h.parse = (*half).parseFrames
	case 'H':
		h.parse = (*half).parseH1
	case 0x15, 0x16: // an alert, a handshake
		h.goBlindHint(at, "the server speaks TLS",
			"it is forwarded, but not understood: set --upstream-tls, or point --upstream at a plaintext port")
	default:
		h.goBlind(at, "the server speaks neither HTTP/2 nor HTTP/1.1")
	}
	return 0, true
}

// isToken reports whether b may stand in an HTTP method (RFC 9110 5.6.2).
func isToken(b byte) bool {
	return b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}
