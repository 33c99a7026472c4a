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
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/minio/minio-go/v7"
)

// What a store answers, and what goes wrong on the way to it, is one sentence, with
// what helps, and says whether it is worth trying again.
func TestFailures(t *testing.T) {
	s := &bucket{host: "s3.example.com", name: "fleet"}
	code := func(c string, status int) error { return minio.ErrorResponse{Code: c, StatusCode: status} }
	at := func(err error) error { return &url.Error{Op: "Get", URL: "https://secret@x/", Err: err} }
	for name, c := range map[string]struct {
		err   error
		text  string // after "cannot list: "
		hint  string
		is    error
		again bool
	}{
		"no bucket":             {minio.ErrorResponse{Code: "NoSuchBucket", Message: "The bucket is gone."}, "the bucket fleet does not exist on s3.example.com", "create the bucket first: it is not made here; " + hintEndpoint, ErrNoBucket, false},
		"no object":             {code("NoSuchKey", 404), "there is no such object", "", fs.ErrNotExist, false},
		"not found":             {code("NotFound", 404), "there is no such object", "", fs.ErrNotExist, false},
		"changed":               {code("PreconditionFailed", 412), "s3.example.com says PreconditionFailed", "", ErrChanged, false},
		"a wrong key":           {minio.ErrorResponse{Code: "SignatureDoesNotMatch", Message: "Wrong."}, "s3.example.com says SignatureDoesNotMatch: Wrong", hintKeys, ErrDenied, false},
		"an old token":          {code("ExpiredToken", 400), "s3.example.com says ExpiredToken", hintKeys, ErrDenied, true},
		"denied":                {minio.ErrorResponse{Code: "AccessDenied", Message: "AccessDenied"}, "s3.example.com says AccessDenied", hintRights, ErrDenied, false},
		"a clock":               {code("RequestTimeTooSkewed", 403), "s3.example.com says RequestTimeTooSkewed", hintClock, nil, true},
		"another region":        {code("PermanentRedirect", 301), "s3.example.com says PermanentRedirect", "the bucket is in another region: set AWS_REGION", nil, false},
		"a region by name":      {minio.ErrorResponse{Code: "AuthorizationHeaderMalformed", Region: "eu-west-1"}, "s3.example.com says AuthorizationHeaderMalformed", "the bucket is in another region: set AWS_REGION=eu-west-1", nil, false},
		"slow down":             {code("SlowDown", 503), "s3.example.com says SlowDown", "", nil, true},
		"full":                  {code("XMinioStorageFull", 507), "s3.example.com says XMinioStorageFull", "", nil, true},
		"403":                   {code("Odd", 403), "s3.example.com says Odd", hintRights, ErrDenied, false},
		"404":                   {code("Odd", 404), "s3.example.com says Odd", "", fs.ErrNotExist, false},
		"400":                   {code("Odd", 400), "s3.example.com says Odd", "", nil, false},
		"408":                   {code("Odd", 408), "s3.example.com says Odd", "", nil, true},
		"429":                   {code("Odd", 429), "s3.example.com says Odd", "", nil, true},
		"499":                   {code("Odd", 499), "s3.example.com says Odd", "", nil, false},
		"500":                   {code("Odd", 500), "s3.example.com says Odd", "", nil, true},
		"501":                   {code("Odd", 501), "s3.example.com says Odd", "", nil, false},
		"599":                   {code("Odd", 599), "s3.example.com says Odd", "", nil, true},
		"no credentials":        {at(ErrNoCredentials), "no credentials were found", hintCredentials, ErrNoCredentials, true},
		"nobody trusted":        {at(x509.UnknownAuthorityError{}), "the certificate of s3.example.com is signed by nobody who is trusted here", hintTrust, nil, true},
		"another name":          {at(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}), "the certificate of s3.example.com is for another name", "", nil, true},
		"no TLS":                {at(tls.RecordHeaderError{}), "s3.example.com does not speak TLS", "begin AWS_ENDPOINT_URL with http:// if that is meant", nil, true},
		"no TLS in words":       {at(errors.New("http: server gave HTTP response to HTTPS client")), "s3.example.com does not speak TLS", "begin AWS_ENDPOINT_URL with http:// if that is meant", nil, true},
		"not there":             {at(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), "s3.example.com cannot be reached: connection refused", hintEndpoint, nil, true},
		"broken off":            {at(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), "read: connection reset by peer", "", nil, true},
		"closed":                {at(io.EOF), "the connection was closed before an answer came", "", nil, true},
		"closed in other words": {at(errors.New("Connection closed by foreign host x. Retry again.")), "the connection was closed before an answer came", "", nil, true},
		"too long":              {at(context.DeadlineExceeded), "it took too long", "", context.DeadlineExceeded, true},
		"silent":                {at(os.ErrDeadlineExceeded), "nothing came for too long", "", nil, true},
		"bare":                  {errors.New("odd\nthing"), "odd thing", "", nil, true},
	} {
		err := s.failure("list", c.err)
		if err.Error() != "cannot list: "+c.text || Hint(err) != c.hint || Temporary(err) != c.again || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v\n%s\nagain %v", name, err, Hint(err), Temporary(err))
		}
		for _, other := range []error{ErrNoBucket, ErrDenied, ErrChanged, ErrNoCredentials} {
			if errors.Is(err, other) && other != c.is {
				t.Errorf("%s is %v, too", name, other)
			}
		}
		if again := s.failure("read", err); again != err {
			t.Errorf("%s: %v is said of %v", name, again, err)
		}
	}
	for _, err := range []error{nil, context.Canceled, fmt.Errorf("x: %w", context.Canceled)} {
		if got := s.failure("list", err); got != err {
			t.Errorf("%v is said of %v", got, err)
		}
	}
	if err := errors.New("x"); Hint(err) != "" || Temporary(err) {
		t.Error("of an error that is none of ours something is known")
	}
}

// What comes from outside is one line that a terminal can be shown.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a b é": "a b é", "a\nb\tc": "a b c", "\x1b[2J": `\u001b[2J`, "a\xffb": `a\xffb`, "\ufffd": "\ufffd", "\u200b": `\u200b`,
		strings.Repeat("x", 301): strings.Repeat("x", 301), strings.Repeat("x", 302): strings.Repeat("x", 301) + "…",
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// What the environment of AWS says, and what of it cannot be meant.
func TestSurroundings(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	const profiles = "[default]\nregion = a-1\nca_bundle = /d.pem\n\n[profile other]\nregion = b-2\nendpoint_url = http://127.0.0.1:9000\nrequest_checksum_calculation = WHEN_SUPPORTED\n"
	if err := os.WriteFile(config, []byte(profiles), 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, []byte(profiles+strings.Repeat("#", maxConfig)), 0o600); err != nil {
		t.Fatal(err)
	}
	names := []string{
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CA_BUNDLE", "AWS_REQUEST_CHECKSUM_CALCULATION", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
		"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_CONFIG_FILE",
	}
	const notAServer, onlyAServer = ", which is not an address of a server", ", and only a server and its port can be given"
	for what, c := range map[string]struct {
		env                      string
		region, bundle, endpoint string
		trailers                 bool
		err                      string
	}{
		"nothing":             {"AWS_CONFIG_FILE=/nowhere", "", "", "", false, ""},
		"the profile":         {"", "a-1", "/d.pem", "", false, ""},
		"default":             {"AWS_PROFILE=default", "a-1", "/d.pem", "", false, ""},
		"another profile":     {"AWS_PROFILE=other", "b-2", "", "http://127.0.0.1:9000", true, ""},
		"a profile of nobody": {"AWS_PROFILE=third", "", "", "", false, ""},
		"too large":           {"AWS_CONFIG_FILE=" + large, "", "", "", false, ""},
		"a directory":         {"AWS_CONFIG_FILE=" + filepath.Dir(large), "", "", "", false, ""},
		"variables count":     {"AWS_PROFILE=other AWS_REGION=c-3 AWS_DEFAULT_REGION=d-4 AWS_CA_BUNDLE=/e.pem AWS_ENDPOINT_URL=https://x:1/ AWS_REQUEST_CHECKSUM_CALCULATION=when_required", "c-3", "/e.pem", "https://x:1/", false, ""},
		"a default":           {"AWS_DEFAULT_REGION=d-4", "d-4", "/d.pem", "", false, ""},
		"that of S3":          {"AWS_ENDPOINT_URL_S3=http://s3 AWS_ENDPOINT_URL=https://x", "a-1", "/d.pem", "http://s3", false, ""},
		"ignored":             {"AWS_PROFILE=other AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=True AWS_ENDPOINT_URL=:", "b-2", "", "", true, ""},
		"not ignored":         {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=false AWS_ENDPOINT_URL=http://x", "a-1", "/d.pem", "http://x", false, ""},
		"an odd checksum":     {"AWS_REQUEST_CHECKSUM_CALCULATION=Maybe", "", "", "", false, "AWS_REQUEST_CHECKSUM_CALCULATION is maybe"},
		"with credentials":    {"AWS_ENDPOINT_URL=http://key:secret@x", "", "", "", false, "AWS_ENDPOINT_URL has an @: it takes no credentials"},
		"not an address":      {"AWS_ENDPOINT_URL=s3.example.com", "", "", "", false, "AWS_ENDPOINT_URL is s3.example.com" + notAServer},
		"another scheme":      {"AWS_ENDPOINT_URL=ftp://x", "", "", "", false, "AWS_ENDPOINT_URL is ftp://x" + notAServer},
		"no host":             {"AWS_ENDPOINT_URL=http:///x", "", "", "", false, "AWS_ENDPOINT_URL is http:///x" + notAServer},
		"a wrong one":         {"AWS_ENDPOINT_URL=http://%zz", "", "", "", false, "AWS_ENDPOINT_URL is http://%zz" + notAServer},
		"with a path":         {"AWS_ENDPOINT_URL=http://x/fleet", "", "", "", false, "AWS_ENDPOINT_URL is http://x/fleet" + onlyAServer},
		"with a query":        {"AWS_ENDPOINT_URL=http://x/?a=b", "", "", "", false, "AWS_ENDPOINT_URL is http://x/?a=b" + onlyAServer},
	} {
		for _, name := range names {
			t.Setenv(name, "")
		}
		t.Setenv("AWS_CONFIG_FILE", config)
		for _, pair := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			t.Setenv(name, value)
		}
		s, err := readSurroundings()
		if c.err != "" {
			if err == nil || err.Error() != c.err || Hint(err) == "" || strings.Contains(err.Error()+Hint(err), "secret") {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		endpoint := ""
		if s.endpoint != nil {
			endpoint = s.endpoint.String()
		}
		if err != nil || s.region != c.region || s.bundle != c.bundle || endpoint != c.endpoint || s.trailers != c.trailers {
			t.Errorf("%s: %+v, %v", what, s, err)
		}
	}
}

// A file system without links, and one that says no, in one sentence.
func TestDirErrors(t *testing.T) {
	for _, c := range []struct {
		err   error
		text  string
		again bool
	}{
		{&fs.PathError{Op: "open", Path: "/secret", Err: fs.ErrNotExist}, "cannot write /a: file does not exist", false},
		{&fs.PathError{Op: "open", Path: "/secret", Err: syscall.EACCES}, "cannot write /a: permission denied", false},
		{&os.LinkError{Op: "link", Old: "/x", New: "/y", Err: syscall.ENOSPC}, "cannot write /a: no space left on device", true},
		{io.ErrUnexpectedEOF, "cannot write /a: unexpected EOF", true},
	} {
		err := dirError("write", "/a", c.err)
		if err.Error() != c.text || Temporary(err) != c.again || !errors.Is(err, c.err) {
			t.Errorf("%v, again %v", err, Temporary(err))
		}
	}
	for _, err := range []error{context.Canceled, context.DeadlineExceeded} {
		if got := dirError("write", "/a", err); got != err {
			t.Errorf("%v is said of %v", got, err)
		}
	}
	for key, want := range map[string]bool{"a/b": true, strings.Repeat("x", 255): true, strings.Repeat("x", 256): false, ".a": false, "a/.b": false, "a/" + strings.Repeat("x", 256) + "/b": false, "a//b": false} {
		if err := checkFile(key); (err == nil) != want {
			t.Errorf("%.20q: %v", key, err)
		}
	}
}

// A directory as a store, where what is there is not what it looks like.
func TestDirectoryThatIsOdd(t *testing.T) {
	top := t.TempDir()
	ctx := context.Background()
	store := func(name string, o Options) (*directory, string, error) { return openDir(name, o) }
	if err := os.WriteFile(filepath.Join(top, "one"), []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{top: "", top + "/": "", top + "/one": "one", top + "/none": "none"} {
		s, key, err := store(name, Options{})
		if err != nil || key != want || s.path != top {
			t.Errorf("%s: %v, %q, %v", name, s, key, err)
		}
	}
	for _, name := range []string{top + "/none/", top + "/none/deep", top + "/one/x"} {
		if s, key, err := store(name, Options{}); err == nil {
			t.Errorf("%s: %v, %q", name, s, key)
		}
	}
	s, key, err := store(top+"/made/deep", Options{Create: true})
	if err != nil || key != "" {
		t.Fatal(key, err)
	}
	if err := os.MkdirAll(filepath.Join(s.path, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stat(ctx, "dir"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory is an object: %v", err)
	}
	if _, err := s.Open(ctx, "dir"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory can be read: %v", err)
	}
	body := strings.NewReader("0123456789")
	for what, c := range map[string]struct {
		size int64
		is   error
	}{"more than there is": {11, io.ErrUnexpectedEOF}, "as it is": {10, nil}} {
		if err := s.Put(ctx, "a/"+what, body, c.size, nil); !errors.Is(err, c.is) || (err == nil) != (c.is == nil) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.Put(ctx, "a/as it is", body, 10, nil); !errors.Is(err, fs.ErrExist) || !strings.HasPrefix(err.Error(), "there is a file file://") {
		t.Errorf("a file is overwritten: %v", err)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	if err := s.Put(stopped, "a/late", body, 10, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(s.path, metaDir)); err != nil || len(left) != 1 { // the directory a
		t.Errorf("%v is left, %v", left, err)
	}
	c, err := s.Open(ctx, "a/as it is")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, r := range []struct {
		off  int64
		n    int
		want string
		err  error
	}{{0, 10, "0123456789", nil}, {0, 11, "0123456789", io.EOF}, {9, 1, "9", nil}, {9, 2, "9", io.EOF}, {10, 1, "", io.EOF}, {11, 1, "", io.EOF}} {
		b := make([]byte, r.n)
		n, err := c.ReadAt(b, r.off)
		if string(b[:n]) != r.want || err != r.err {
			t.Errorf("%d bytes at %d: %q, %v", r.n, r.off, b[:n], err)
		}
	}
	if _, err := c.ReadAt(make([]byte, 1), -1); err == nil || err == io.EOF {
		t.Errorf("before the beginning: %v", err)
	}
	if c.Read() != 10+10+1+1 {
		t.Errorf("%d bytes were read", c.Read())
	}
	for key, err := range s.List(stopped, "") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v, %v", key, err)
		}
	}
}
