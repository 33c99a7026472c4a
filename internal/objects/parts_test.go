package objects

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
)

// A large object is uploaded in parts. That its key is taken shows in the end at the
// latest, and then nothing of it stays. A server that does not know how it is told not
// to overwrite is told once.
func TestPutInParts(t *testing.T) {
	const part = 5 << 20
	refuse := func(w http.ResponseWriter, status int, code string) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
	}
	for _, c := range []struct {
		name     string
		size     int64
		complete func(w http.ResponseWriter, conditional bool) bool // true: it was refused
		want     string                                             // requests after the object was looked for
		is       error
	}{
		{"one byte more", part + 1, func(http.ResponseWriter, bool) bool { return false }, "begin 1:5242880 2:1 complete:true", nil},
		{"two", 2 * part, func(http.ResponseWriter, bool) bool { return false }, "begin 1:5242880 2:5242880 complete:true", nil},
		{"taken", part + 1, func(w http.ResponseWriter, _ bool) bool {
			refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
			return true
		}, "begin 1:5242880 2:1 complete:true abort", fs.ErrExist},
		{"refused", part + 1, func(w http.ResponseWriter, _ bool) bool {
			refuse(w, http.StatusForbidden, "AccessDenied")
			return true
		}, "begin 1:5242880 2:1 complete:true abort", ErrDenied},
		{"without a condition", part + 1, func(w http.ResponseWriter, conditional bool) bool {
			if conditional {
				refuse(w, http.StatusNotImplemented, "NotImplemented")
			}
			return conditional
		}, "begin 1:5242880 2:1 complete:true complete:false", nil},
	} {
		var asked []string
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			n, _ := io.Copy(io.Discard, r.Body)
			switch {
			case r.Method == http.MethodHead:
				w.WriteHeader(http.StatusNotFound)
			case r.Method == http.MethodPost && q.Has("uploads"):
				asked = append(asked, "begin")
				_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>")
			case r.Method == http.MethodPut && q.Get("uploadId") == "u1":
				asked = append(asked, fmt.Sprintf("%s:%d", q.Get("partNumber"), n))
				w.Header().Set("ETag", `"e"`)
			case r.Method == http.MethodPost && q.Get("uploadId") == "u1":
				conditional := r.Header.Get("If-None-Match") == "*"
				asked = append(asked, fmt.Sprintf("complete:%v", conditional))
				if !c.complete(w, conditional) {
					_, _ = io.WriteString(w, "<CompleteMultipartUploadResult><Bucket>fleet</Bucket><Key>large</Key><ETag>e</ETag></CompleteMultipartUploadResult>")
				}
			case r.Method == http.MethodDelete && q.Get("uploadId") == "u1":
				asked = append(asked, "abort")
				w.WriteHeader(http.StatusNoContent)
			default:
				asked = append(asked, r.Method+" "+r.URL.String())
				w.WriteHeader(http.StatusBadRequest)
			}
		}))
		for name, value := range map[string]string{
			"AWS_ENDPOINT_URL": srv.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_CONFIG_FILE": "/nowhere",
		} {
			t.Setenv(name, value)
		}
		s, err := openBucket("fleet", Options{Tries: 1, Part: part})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Put(t.Context(), "large", strings.NewReader(strings.Repeat("x", int(c.size))), c.size, nil)
		if !errors.Is(err, c.is) || (err == nil) != (c.is == nil) {
			t.Errorf("%s: %v, want %v", c.name, err, c.is)
		}
		srv.Close()
		if got := strings.Join(asked, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// An answer is of the part that was asked for, or of all if that was asked for.
func TestWithin(t *testing.T) {
	r := &ranges{s: &bucket{name: "fleet", host: "s3.example.com"}, obj: Object{Key: "a", Size: 10}}
	const another, changed = "does not give the part", "was changed or replaced"
	for _, c := range []struct {
		field string
		off   int64
		n     int
		want  string // in the error
	}{
		{"bytes 2-5/10", 2, 4, ""},
		{" bytes 0-9/10 ", 0, 10, ""},
		{"bytes 3-5/10", 2, 4, another},
		{"bytes 2-5/11", 2, 4, changed},
		{"bytes 2-5/*", 2, 4, another},
		{"", 0, 10, ""},
		{"", 0, 9, another},
		{"", 1, 9, another},
		{"", 1, 10, another},
		{"all of it", 0, 10, another},
	} {
		if err := r.within(c.field, c.off, c.n); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %d bytes at %d: %v, want %q", c.field, c.n, c.off, err, c.want)
		}
	}
}

// A missing key is not found, also where no status came with it.
func TestStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{io.EOF, 0},
		{minio.ErrorResponse{StatusCode: 500, Code: "NoSuchKey"}, 500},
		{minio.ErrorResponse{Code: "NoSuchKey"}, 404},
		{minio.ErrorResponse{Code: "AccessDenied"}, 0},
		{fmt.Errorf("x: %w", minio.ErrorResponse{StatusCode: 412}), 412},
	} {
		if got := status(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

// The profile is read from the home directory, if there is one.
func TestProfileAtHome(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".aws"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".aws", "config"), []byte("[default]\nregion = a-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", "")
	t.Setenv("AWS_PROFILE", "")
	for dir, want := range map[string]string{home: "a-1", t.TempDir(): "", "": ""} {
		for _, name := range []string{"HOME", "USERPROFILE", "home"} { // of Unix, Windows and Plan 9
			t.Setenv(name, dir)
		}
		if got := readProfile()["region"]; got != want {
			t.Errorf("region %q at %q, want %q", got, dir, want)
		}
	}
}

// Where a file gets its name without a link, one that is there keeps it.
func TestNameWithoutLinks(t *testing.T) {
	top := t.TempDir()
	if err := os.WriteFile(filepath.Join(top, "one"), []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := openDir(top+"/", Options{})
	if err != nil {
		t.Fatal(err)
	}
	// There is nothing that could be linked.
	if err := s.name("none", "one"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another file: %v", err)
	}
	if err := s.name("none", "two"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("under a free name: %v", err)
	}
	c, err := s.Open(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if n, err := c.ReadAt(make([]byte, 5), 0); n != 0 || err == nil || !strings.Contains(err.Error(), "cannot read file://") {
		t.Errorf("read after the end: %d bytes, %v", n, err)
	}
}
