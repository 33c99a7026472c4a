package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/xdsproxy/xdsproxy/session"
)

// TLSFailure is why a leg could not speak TLS, or why TLS ended it. Each way to
// fail has its own sentence.
type TLSFailure struct {
	Kind FailureKind
	Side session.Side // the end of the leg that is not the proxy
	By   session.Side // who gave up
	// Text is one sentence that begins with the leg, Hint what to set; names
	// that come from a peer are quoted in it.
	Text, Hint string
	Err        error
}

func (f *TLSFailure) Error() string { return f.Text }
func (f *TLSFailure) Unwrap() error { return f.Err }

// FailureKind names a way to fail.
type FailureKind string

// The ways to fail. Those that a certificate is the reason for are of the
// certificate that the other end showed, but for Rejected and Wanted.
const (
	FailedExpired   FailureKind = "expired"     // its time is over
	FailedEarly     FailureKind = "early"       // or has not come
	FailedName      FailureKind = "name"        // it is for another server
	FailedAuthority FailureKind = "authority"   // nobody who is trusted signed it
	FailedCert      FailureKind = "certificate" // something else is wrong with it
	FailedWanted    FailureKind = "wanted"      // the end that was asked for one has none
	FailedRejected  FailureKind = "rejected"    // the other end refuses ours
	FailedPlaintext FailureKind = "plaintext"   // the other end speaks no TLS
	FailedEncrypted FailureKind = "encrypted"   // the other end speaks TLS, and should not
	FailedVersion   FailureKind = "version"     // no version in common
	FailedCipher    FailureKind = "cipher"      // no cipher suite in common
	FailedALPN      FailureKind = "alpn"        // no protocol in common
	FailedTimeout   FailureKind = "timeout"     // the other end did not go on in time
	FailedClosed    FailureKind = "closed"      // the other end went away
	FailedSilent    FailureKind = "silent"      // the client said nothing at all
	FailedMint      FailureKind = "mint"        // no certificate can be made for what the client asks for
	FailedAlert     FailureKind = "alert"       // the other end sent another alert
	FailedOther     FailureKind = "other"       // Go's words
)

// Facts are what a failure's sentence and hint are made of.
type Facts struct {
	Addr       string // of the other end
	ServerName string // that was asked for, by us of an upstream, by a client of us
	Protocols  []string
	// Asked says that an upstream has asked for a certificate.
	Asked    bool
	Complete bool // the handshake was done before

	Listen   *ListenTLS   // of the leg to a client
	Upstream *UpstreamTLS // of the leg to a server
	// Shown is the certificate that the proxy shows on this leg, nil if none.
	Shown *tls.Certificate
}

// alertOf is the alert that a peer has sent. crypto/tls hides its number in an
// error that only has words.
func alertOf(err error) (tls.AlertError, bool) {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return 0, false
	}
	for i := range 256 {
		if a := tls.AlertError(i); a.Error() == op.Err.Error() {
			return a, true
		}
	}
	return 0, false
}

// The alerts that say what a peer thinks of a certificate or of its lack (RFC
// 8446 section 6.2), and others that are told apart.
const (
	alertHandshakeFailure   tls.AlertError = 40
	alertBadCertificate     tls.AlertError = 42
	alertUnsupported        tls.AlertError = 43
	alertRevoked            tls.AlertError = 44
	alertExpired            tls.AlertError = 45
	alertCertificateUnknown tls.AlertError = 46
	alertUnknownCA          tls.AlertError = 48
	alertAccessDenied       tls.AlertError = 49
	alertVersion            tls.AlertError = 70
	alertSecurity           tls.AlertError = 71
	alertInternal           tls.AlertError = 80
	alertUnrecognizedName   tls.AlertError = 112
	alertRequired           tls.AlertError = 116
	alertNoALPN             tls.AlertError = 120
)

// aboutCertificate says whether an alert is about the certificate of the one
// who gets it.
func aboutCertificate(a tls.AlertError) bool {
	switch a {
	case alertBadCertificate, alertUnsupported, alertRevoked, alertExpired, alertCertificateUnknown, alertUnknownCA, alertAccessDenied:
		return true
	}
	return false
}

// goneError says that the other end went away, in whatever way.
func goneError(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)
}

// lateError says that there was no answer in time.
func lateError(err error) bool {
	var ne net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &ne) && ne.Timeout()
}
