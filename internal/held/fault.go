package held

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/clip"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
)

// fault is why a client could not be asked, or its answer not be read.
type fault struct {
	kind string // the same for one cause, whatever the peer says
	text string // one sentence
	hint string // what may help, or ""
}

func (f *fault) Error() string { return f.text }

const (
	hintToken = "name a file with a token by --held-token-file"
	hintTLS   = "it may want TLS: say https:// before the address, and --held-ca for its roots"
	hintAdmin = "is it the admin port of an Envoy?"
)

// maxSaid bounds, in bytes, what is repeated of a peer.
const maxSaid = 100

// quoted is the beginning of what a peer said, as it can be printed.
func quoted(s string) string { return fmt.Sprintf("%+q", clip.Text(s, maxSaid)) }

// tooLong is a fault of an answer beyond mostBytes.
func tooLong() *fault {
	return &fault{kind: "long", text: fmt.Sprintf("its answer is longer than %d MiB", mostBytes>>20)}
}

// faultOf says what an error of HTTP or of a dial means.
func faultOf(err error, within time.Duration) *fault {
	if f, is := errors.AsType[*fault](err); is {
		return f
	}
	if r, is := errors.AsType[*configdump.Refused](err); is {
		return refused(r)
	}
	var alert tls.AlertError
	verify, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, isTimeout := errors.AsType[net.Error](err)
	text := err.Error()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT), errors.Is(err, fs.ErrNotExist):
		return &fault{kind: "nobody", text: "nobody listens there", hint: "it is asked again; is the address right, and does the client run?"}
	case untrusted:
		return &fault{kind: "untrusted", text: "its certificate is not trusted: " + quoted(verify.Err.Error()), hint: "name its roots by --held-ca"}
	case errors.As(err, &alert), strings.Contains(text, "tls: certificate required"):
		return &fault{kind: "alert", text: "it ends the TLS handshake: " + quoted(alert.Error()), hint: "it may want a certificate, which is not shown"}
	case strings.Contains(text, "server gave HTTP response to HTTPS client"), strings.Contains(text, "first record does not look like a TLS handshake"):
		return &fault{kind: "plaintext", text: "it does not speak TLS", hint: "say http:// instead of https://"}
	case strings.Contains(text, "malformed HTTP response"), strings.Contains(text, "malformed HTTP version"):
		return &fault{kind: "nohttp", text: "it does not speak plain HTTP", hint: hintTLS}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), isTimeout && strings.Contains(text, "imeout"):
		return &fault{kind: "slow", text: fmt.Sprintf("it did not answer in full within %s", within)}
	case strings.HasSuffix(text, "EOF"), errors.Is(err, syscall.ECONNRESET):
		return &fault{kind: "closed", text: "it closes the connection without an answer", hint: hintTLS}
	}
	if op, is := errors.AsType[*net.OpError](err); is {
		err = op.Err // without ports, which differ each time
	}
	return &fault{kind: "failed", text: "it cannot be asked: " + quoted(err.Error())}
}

// refused says what another answer than 200 means.
func refused(r *configdump.Refused) *fault {
	f := &fault{kind: fmt.Sprintf("code %d", r.Code), text: fmt.Sprintf("it answers %d: %s", r.Code, quoted(r.Said)), hint: hintAdmin}
	switch {
	case r.Code == http.StatusUnauthorized || r.Code == http.StatusForbidden:
		f.text, f.hint = fmt.Sprintf("it answers %d: it wants to know who asks", r.Code), hintToken
	case r.Code == http.StatusBadRequest && strings.Contains(r.Said, "HTTPS"):
		f.text, f.hint = "it does not speak plain HTTP", hintTLS
	}
	return f
}

// unlike says why a text is no config_dump.
func unlike(text []byte, err error) *fault {
	head := bytes.TrimSpace(text)
	switch {
	case len(head) == 0:
		return &fault{kind: "empty", text: "its answer is empty", hint: hintAdmin}
	case head[0] == '<':
		return &fault{kind: "page", text: "it answers with a page, and not with a config_dump", hint: hintAdmin}
	case head[0] != '{':
		return &fault{kind: "other", text: "it answers with no JSON: " + quoted(string(head[:min(len(head), maxSaid)])), hint: hintAdmin}
	}
	return &fault{kind: "unread", text: "its config_dump cannot be read: " + quoted(err.Error()), hint: hintAdmin}
}
