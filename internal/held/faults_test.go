package held

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/internal/configdump"
)

// TestFaults: what people are told of why a client cannot be asked.
func TestFaults(t *testing.T) {
	op := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	long := strings.Repeat("x", maxSaid)
	for _, c := range []struct {
		err              error
		kind, text, hint string
	}{
		{&fault{kind: "a", text: "b", hint: "c"}, "a", "b", "c"},
		{op(syscall.ECONNREFUSED), "nobody", "nobody listens there", "it is asked again; is the address right, and does the client run?"},
		{op(syscall.ENOENT), "nobody", "nobody listens there", "it is asked again; is the address right, and does the client run?"},
		{fs.ErrNotExist, "nobody", "nobody listens there", "it is asked again; is the address right, and does the client run?"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "untrusted", `its certificate is not trusted: "x509: certificate signed by unknown authority"`, "name its roots by --held-ca"},
		{tls.AlertError(42), "alert", `it ends the TLS handshake: "tls: bad certificate"`, "it may want a certificate, which is not shown"},
		{errors.New("remote error: tls: certificate required"), "alert", `it ends the TLS handshake: "tls: close notify"`, "it may want a certificate, which is not shown"},
		{errors.New("http: server gave HTTP response to HTTPS client"), "plaintext", "it does not speak TLS", "say http:// instead of https://"},
		{errors.New("tls: first record does not look like a TLS handshake"), "plaintext", "it does not speak TLS", "say http:// instead of https://"},
		{errors.New("net/http: malformed HTTP response"), "nohttp", "it does not speak plain HTTP", hintTLS},
		{errors.New("malformed HTTP version"), "nohttp", "it does not speak plain HTTP", hintTLS},
		{context.DeadlineExceeded, "slow", "it did not answer in full within 3s", ""},
		{os.ErrDeadlineExceeded, "slow", "it did not answer in full within 3s", ""},
		{op(errors.New("i/o timeout")), "slow", "it did not answer in full within 3s", ""},
		{errors.New("timeout"), "failed", `it cannot be asked: "timeout"`, ""},
		{io.ErrUnexpectedEOF, "closed", "it closes the connection without an answer", hintTLS},
		{op(syscall.ECONNRESET), "closed", "it closes the connection without an answer", hintTLS},
		{op(errors.New("no route " + long)), "failed", `it cannot be asked: "no route ` + long[:maxSaid-9] + `\u2026"`, ""},
		{op(errors.New(long)), "failed", `it cannot be asked: "` + long + `"`, ""},
		{&configdump.Refused{Code: 401, Said: "who"}, "code 401", "it answers 401: it wants to know who asks", hintToken},
		{&configdump.Refused{Code: 403, Said: "who"}, "code 403", "it answers 403: it wants to know who asks", hintToken},
		{&configdump.Refused{Code: 400, Said: "Client sent an HTTP request to an HTTPS server."}, "code 400", "it does not speak plain HTTP", hintTLS},
		{&configdump.Refused{Code: 400, Said: "bad"}, "code 400", `it answers 400: "bad"`, hintAdmin},
		{&configdump.Refused{Code: 404, Said: "HTTPS"}, "code 404", `it answers 404: "HTTPS"`, hintAdmin},
		{faultOfStatus(status.New(codes.Unimplemented, "x")), "grpc Unimplemented", "it has no client status service", "a gRPC program has to register one (CSDS), such as by google.golang.org/grpc/xds/csds"},
		{faultOfStatus(status.New(codes.Unauthenticated, "x")), "grpc Unauthenticated", "it answers Unauthenticated: it wants to know who asks", hintToken},
		{faultOfStatus(status.New(codes.PermissionDenied, "x")), "grpc PermissionDenied", "it answers PermissionDenied: it wants to know who asks", hintToken},
		{faultOfStatus(status.New(codes.ResourceExhausted, "x")), "long", fmt.Sprintf("its answer is longer than %d MiB", mostBytes>>20), ""},
		{faultOfStatus(status.New(codes.DeadlineExceeded, "x")), "slow", "it did not answer in full within 3s", ""},
		{faultOfStatus(status.New(codes.Internal, "x\n")), "grpc Internal", `it answers Internal: "x\n"`, ""},
		{faultOfStatus(status.New(codes.Unavailable, "x")), "grpc Unavailable", `it cannot be asked: "x"`, "does it speak gRPC there? " + hintTLS},
		{faultOfStatus(status.New(codes.Unavailable, "unexpected EOF")), "grpc Unavailable", "it closes the connection without an answer", hintTLS},
	} {
		if f := faultOf(c.err, 3*time.Second); f.kind != c.kind || f.text != c.text || f.hint != c.hint {
			t.Errorf("%v: %s, %s, %s", c.err, f.kind, f.text, f.hint)
		}
	}
}
