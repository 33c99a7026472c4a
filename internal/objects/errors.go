package objects

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/minio/minio-go/v7"
)

// Error is what went wrong, in one sentence, with what may help.
type Error struct {
	What string
	Hint string // "" if there is none
	// Err is what can be asked for with errors.Is; nil if nothing fits.
	Err error
	// Again says that the same may work later.
	Again bool
}

func (e *Error) Error() string { return e.What }
func (e *Error) Unwrap() error { return e.Err }

// Hint is what may help against err; "" if nothing is known.
func Hint(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// Temporary says whether the same request may work later though nobody changes
// anything here: the network, or a server that is busy.
func Temporary(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Again
}

// errors that can be asked for.
var (
	// ErrNoBucket is the bucket that is not there; it is fs.ErrNotExist, too.
	ErrNoBucket = fmt.Errorf("the bucket does not exist: %w", fs.ErrNotExist)
	// ErrNoCredentials says that none of the usual places has credentials.
	ErrNoCredentials = errors.New("no credentials were found")
	// ErrDenied says that the store refused the credentials or the permission.
	ErrDenied = errors.New("access was denied")
)

const (
	hintCredentials = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE for a profile in ~/.aws; on AWS, give the machine or the pod a role"
	hintKeys        = "check the credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile in ~/.aws"
	hintRights      = "the credentials need s3:GetObject for reading, s3:PutObject for an archive, and s3:ListBucket for both"
	hintEndpoint    = "AWS_ENDPOINT_URL names the server if it is not AWS, for example https://s3.example.com"
	hintTrust       = "AWS_CA_BUNDLE names a file with the certificates to trust"
	hintClock       = "set this machine's clock: stores refuse requests that are more than 15 minutes off"
)

// failure makes an error of what a store answered. A HEAD has no body, so that
// there its status is all there is to go by.
func (s *bucket) failure(did string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	e := &Error{Err: err}
	var r minio.ErrorResponse
	if errors.As(err, &r) {
		s.answered(e, did, &r)
		return e
	}
	var (
		untrusted x509.UnknownAuthorityError
		name      x509.HostnameError
		record    tls.RecordHeaderError
		dial      *net.OpError
	)
	e.Again = true
	switch {
	case errors.Is(err, ErrNoCredentials):
		e.What, e.Hint, e.Err = fmt.Sprintf("cannot %s: no credentials were found", did), hintCredentials, ErrNoCredentials
	case errors.As(err, &untrusted):
		e.What, e.Hint = fmt.Sprintf("cannot %s: the certificate of %s is signed by nobody who is trusted here", did, s.host), hintTrust
	case errors.As(err, &name):
		e.What = fmt.Sprintf("cannot %s: the certificate of %s is for another name", did, s.host)
	case errors.As(err, &record) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		e.What, e.Hint = fmt.Sprintf("cannot %s: %s does not speak TLS", did, s.host), "begin AWS_ENDPOINT_URL with http:// if that is meant"
	case errors.As(err, &dial) && dial.Op == "dial":
		e.What, e.Hint = fmt.Sprintf("cannot %s: %s cannot be reached: %s", did, s.host, printable(dial.Err.Error())), hintEndpoint
	default:
		e.What = fmt.Sprintf("cannot %s: %s", did, printable(short(err)))
	}
	return e
}

// answered is failure for an answer that is an error.
func (s *bucket) answered(e *Error, did string, r *minio.ErrorResponse) {
	said := r.Code
	if r.Message != "" && r.Message != r.Code {
		said += ": " + strings.TrimSuffix(r.Message, ".")
	}
	e.What = fmt.Sprintf("cannot %s: %s says %s", did, s.host, printable(said))
	switch r.Code {
	case "NoSuchBucket":
		e.What, e.Err = fmt.Sprintf("cannot %s: the bucket %s does not exist on %s", did, printable(s.name), s.host), ErrNoBucket
		e.Hint = "create the bucket first: it is not made here; " + hintEndpoint
	case "NoSuchKey", "NotFound":
		e.What, e.Err = fmt.Sprintf("cannot %s: there is no such object", did), fs.ErrNotExist
	case "PreconditionFailed":
		e.Err = ErrChanged
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "InvalidClientTokenId":
		e.Err, e.Hint, e.Again = ErrDenied, hintKeys, r.Code == "ExpiredToken"
	case "AccessDenied", "Forbidden", "AllAccessDisabled":
		e.Err, e.Hint = ErrDenied, hintRights
	case "RequestTimeTooSkewed":
		e.Hint, e.Again = hintClock, true
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "InvalidRegion", "301 Moved Permanently", "307 Temporary Redirect":
		e.Hint = "the bucket is in another region: set AWS_REGION"
		if r.Region != "" {
			e.Hint = fmt.Sprintf("the bucket is in another region: set AWS_REGION=%s", printable(r.Region))
		}
	case "SlowDown", "SlowDownWrite", "SlowDownRead", "InternalError", "ServiceUnavailable", "RequestTimeout", "Throttling", "OperationAborted", "ConditionalRequestConflict", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch", "XMinioStorageFull", "QuotaExceeded":
		e.Again = true
	default:
		switch {
		case r.StatusCode == http.StatusForbidden:
			e.Err, e.Hint = ErrDenied, hintRights
		case r.StatusCode == http.StatusNotFound:
			e.Err = fs.ErrNotExist
		case r.StatusCode >= 500 || r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusRequestTimeout:
			e.Again = r.StatusCode != http.StatusNotImplemented
		}
	}
}

// short is an error without the address that it is of, which the sentence has.
func short(err error) string {
	text := err.Error()
	var at *url.Error
	if errors.As(err, &at) && at.Err != nil {
		err = at.Err
		text = err.Error()
		if errors.Is(err, io.EOF) || strings.HasPrefix(text, "Connection closed by foreign host") {
			return "the connection was closed before an answer came"
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "it took too long"
	}
	var n net.Error
	if errors.As(err, &n) && n.Timeout() {
		return "nothing came for too long"
	}
	return text
}

// printable is text from outside in one line of bounded length that a terminal
// can be shown.
func printable(text string) string {
	const most = 300
	var b strings.Builder
	for i, r := range text {
		if b.Len() > most {
			b.WriteString("…")
			break
		}
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
