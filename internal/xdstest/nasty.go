package xdstest

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/session"
)

// Nasty is what a peer may put into any text: escape sequences of 7 and 8 bits,
// other control characters, what turns the direction of writing, line and
// paragraph separators, and what has no width or no place on a screen.
const Nasty = "\x1b]0;x\x07\x00\x7f\r\b\u0085\u009b31m\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2028\u2029\u2066\u2067\u2068\u2069\u200b\ufeff\U000e0041"

// Nastier is not even UTF-8.
const Nastier = Nasty + "\xff\xfe"

// NastyScript puts Nasty into a script, where NASTY stands in a quoted text.
func NastyScript(text []byte) []byte {
	quoted := strconv.Quote(Nasty)
	return bytes.ReplaceAll(text, []byte("NASTY"), []byte(quoted[1:len(quoted)-1]))
}

// MakeNasty puts Nastier into what a script does not say of an entry.
func MakeNasty(e *session.Entry) {
	if e.Peer != nil {
		tls := &session.TLS{Version: Nastier, Cipher: Nastier, ALPN: Nastier, ServerName: Nastier, Identities: []string{"spiffe://" + Nastier, Nastier}, Issuer: Nastier}
		peer := *e.Peer
		peer.ClientTLS, peer.ServerTLS = tls, tls
		peer.Client, peer.Upstream = peer.Client+Nastier, peer.Upstream+Nastier
		e.Peer = &peer
	}
	if e.Headers != nil {
		e.Headers = append(slices.Clone(e.Headers), session.Field{Name: "x" + Nastier, Value: Nastier})
	}
	switch e.Kind {
	case session.KindOpen:
		e.Sent = append(slices.Clone(e.Headers), session.Field{Name: "sent" + Nastier, Value: Nastier})
	case session.KindMessage:
		e.Problems = append(e.Problems, "cannot read "+Nastier)
	}
}

// Unprintable finds the first character of an output that a terminal could take
// for a command, or that turns what a person reads.
func Unprintable(text string) (at string, found bool) {
	for i, r := range text {
		_, n := utf8.DecodeRuneInString(text[i:])
		if r == '\n' || strconv.IsPrint(r) && (r != utf8.RuneError || n > 1) {
			continue
		}
		return strconv.Quote(text[max(0, i-60):min(len(text), i+20)]), true
	}
	return "", false
}
