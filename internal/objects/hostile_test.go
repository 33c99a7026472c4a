package objects_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/objects"
	"github.com/xdsproxy/xdsproxy/internal/objects/s3test"
)

func fleet(t *testing.T, o objects.Options) objects.Store {
	t.Helper()
	s, _, err := objects.Open("s3://fleet/", o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// says fails unless err is one printable sentence with all of want.
func says(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, and it should say %q", want)
		return
	}
	text := err.Error() + "\n" + objects.Hint(err)
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
	if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) || len(err.Error()) > 900 {
		t.Errorf("%q is not a sentence", err)
	}
}

// TestURLs are those that name no store.
func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"s3://":                      "name of a bucket",
		"s3:///x":                    "name of a bucket",
		"s3://a b/x":                 "name of a bucket",
		"s3://bucket/../x":           "not a plain path",
		"s3://bucket//x":             "not a plain path",
		"s3://bucket/a\x1b[2J":       "not a plain path",
		"file://elsewhere/x":         "files of other machines",
		"file:///%zz":                "two hexadecimal digits",
		"gs://bucket/x":              "not the URL of a store",
		"file:///proc/nowhere/at/x/": "no such file",
	} {
		_, _, err := objects.Open(url, objects.Options{})
		says(t, err, want)
	}
	if _, _, err := objects.Open("gs://bucket/x/", objects.Options{}); !strings.Contains(objects.Hint(err), "name it s3://bucket/x/, with AWS_ENDPOINT_URL=https://storage.googleapis.com") {
		t.Errorf("of GCS it says %q", objects.Hint(err))
	}
	for url, want := range map[string]bool{"s3://b/k": true, "gs://b/k": true, "file:///x": true, "s3:b": false, "/x": false, "S3://b": false} {
		if objects.Is(url) != want {
			t.Errorf("Is(%q) is %v", url, !want)
		}
	}
}

// TestRefused is what a server says to those who may not.
func TestRefused(t *testing.T) {
	srv := s3test.Start(t, false)
	ctx := context.Background()
	ask := func(s objects.Store) (errs []error) {
		_, stat := s.Stat(ctx, "x")
		errs = append(errs, stat, s.Put(ctx, "x", strings.NewReader("x"), 1, nil))
		for _, err := range s.List(ctx, "") {
			errs = append(errs, err)
			break
		}
		return errs
	}

	none, _, err := objects.Open("s3://nowhere/", objects.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range ask(none) {
		if i == 0 { // a HEAD has no body to say which of the two is missing
			if !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			continue
		}
		says(t, err, "bucket nowhere does not exist", "create the bucket")
		if !errors.Is(err, objects.ErrNoBucket) || objects.Temporary(err) {
			t.Errorf("%v is not ErrNoBucket", err)
		}
	}

	srv.CheckKeys()
	for _, err := range ask(fleet(t, objects.Options{})) {
		if !errors.Is(err, objects.ErrDenied) || objects.Temporary(err) {
			t.Errorf("wrong keys: %v", err)
		}
		says(t, err, "redential")
	}

	t.Setenv("AWS_ACCESS_KEY_ID", "")
	for _, err := range ask(fleet(t, objects.Options{})) {
		if !errors.Is(err, objects.ErrNoCredentials) {
			t.Errorf("no credentials: %v", err)
		}
		says(t, err, "no credentials were found", "AWS_ACCESS_KEY_ID")
	}

	// A profile has them, with the server.
	home := t.TempDir()
	text := fmt.Sprintf("[default]\nregion = x\n[profile fleet]\nregion = eu-west-1\nendpoint_url = %s\naws_access_key_id = A\naws_secret_access_key = B\n", srv.URL)
	if err := os.WriteFile(filepath.Join(home, "config"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(home, "config"))
	t.Setenv("AWS_PROFILE", "fleet")
	t.Setenv("AWS_ENDPOINT_URL", "")
	_, err = fleet(t, objects.Options{}).Stat(ctx, "x")
	if !errors.Is(err, objects.ErrDenied) { // they were sent, and moto has not given them
		t.Errorf("with a profile: %v", err)
	}

	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	_, err = fleet(t, objects.Options{Tries: 1}).Stat(ctx, "x")
	says(t, err, "127.0.0.1:1 cannot be reached", "refused", "AWS_ENDPOINT_URL")
	if !objects.Temporary(err) {
		t.Error("a server that is away may come back")
	}
	for value, want := range map[string]string{"127.0.0.1:9000": "not an address", "https://x/path": "only a server", "ftp://x": "not an address", "http://a:b@x": "has an @", "https://key:hush@x:port": "has an @"} {
		t.Setenv("AWS_ENDPOINT_URL", value)
		_, _, err := objects.Open("s3://fleet/", objects.Options{})
		says(t, err, want)
	}
}

// TestDropped is said in words, without the address of the request.
func TestDropped(t *testing.T) {
	s3test.Start(t, false).Stand().Set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { s3test.Drop(w) })
	_, err := fleet(t, objects.Options{Tries: 1}).Stat(context.Background(), "x")
	says(t, err, "s3://fleet/", "the connection was closed before an answer came")
	if strings.Contains(err.Error(), "http://") || !objects.Temporary(err) {
		t.Errorf("%v", err)
	}
}

// TestTrust has servers whose certificate nobody knows.
func TestTrust(t *testing.T) {
	srv := s3test.Start(t, true)
	srv.Environment(srv.URL, "")
	_, err := fleet(t, objects.Options{Tries: 1}).Stat(context.Background(), "x")
	says(t, err, "signed by nobody who is trusted", "AWS_CA_BUNDLE")
	srv.Environment(strings.Replace(srv.URL, "https", "http", 1), "")
	_, err = fleet(t, objects.Options{Tries: 1}).Stat(context.Background(), "x")
	says(t, err, "cannot look at")
	for _, bundle := range []string{"/nowhere/at/all", os.Args[0]} {
		t.Setenv("AWS_CA_BUNDLE", bundle)
		_, _, err := objects.Open("s3://fleet/", objects.Options{})
		says(t, err, "certificate")
	}
}

// TestChanged has an object that changes under its reader, also with a server that
// ignores If-Match.
func TestChanged(t *testing.T) {
	srv := s3test.Start(t, false)
	between := srv.Stand()
	for _, ignores := range []bool{false, true} {
		between.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
			if ignores {
				r.Header.Del("If-Match")
			}
			forward.ServeHTTP(w, r)
		})
		s := fleet(t, objects.Options{})
		key := fmt.Sprintf("ignores %v", ignores)
		put(t, s, key, random(1000), nil)
		c, err := s.Open(context.Background(), key)
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range [][]byte{random(1001), random(10)} {
			if err := srv.Client().RemoveObject(context.Background(), "fleet", key, removeOptions); err != nil {
				t.Fatal(err)
			}
			put(t, s, key, body, nil)
			_, err := c.ReadAt(make([]byte, 100), 500)
			if !errors.Is(err, objects.ErrChanged) {
				t.Errorf("%s, %d bytes: %v", key, len(body), err)
			}
			says(t, err, "changed or replaced")
		}
	}

	dir := t.TempDir()
	s, _, err := objects.Open("file://"+dir+"/", objects.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x")
	for name, change := range map[string]func() error{
		"shorter": func() error { return os.Truncate(path, 10) },
		"written": func() error { return os.WriteFile(path, random(1000), 0o644) },
	} {
		if err := os.WriteFile(path, random(1000), 0o644); err != nil {
			t.Fatal(err)
		}
		before := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, before, before); err != nil {
			t.Fatal(err)
		}
		c, err := s.Open(context.Background(), "x")
		if err != nil {
			t.Fatal(err)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ReadAt(make([]byte, 10), 5); !errors.Is(err, objects.ErrChanged) {
			t.Errorf("a file that is %s: %v", name, err)
		}
		_ = c.Close()
	}
}
