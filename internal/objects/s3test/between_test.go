package s3test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/xdsproxy/xdsproxy/internal/golden/verdict"
)

// Who stands between lets requests through, with and without TLS, and the environment of
// the test names it, unless the server is apart.
func TestStand(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("secure=%t", secure), func(t *testing.T) {
			t.Setenv("AWS_ENDPOINT_URL", "as it was")
			t.Setenv("AWS_CA_BUNDLE", "")
			start := Start
			if secure {
				start = StartApart
			}
			s := start(t, secure)
			named := func() string { return os.Getenv("AWS_ENDPOINT_URL") + " " + os.Getenv("AWS_CA_BUNDLE") }
			if got := named(); secure && got != "as it was " || !secure && got != s.URL+" " {
				t.Errorf("the environment names %q", got)
			}
			if (s.CA != "") != secure || strings.HasPrefix(s.URL, "https:") != secure || !strings.Contains(s.Log(), "Running on "+s.URL) {
				t.Errorf("%s, %q, %s", s.URL, s.CA, s.Log())
			}
			if secure {
				if there, err := s.Client().BucketExists(t.Context(), "fleet"); there || err != nil {
					t.Errorf("a bucket is there: %t, %v", there, err)
				}
				if err := s.MakeBucket("fleet"); err != nil {
					t.Fatal(err)
				}
			}
			b := s.Stand()
			if got := named(); secure && got != "as it was " || !secure && got != b.URL+" " {
				t.Errorf("with somebody between, the environment names %q", got)
			}
			through := (&Server{URL: b.URL, CA: b.CA, t: t}).Client()
			if _, err := through.PutObject(t.Context(), "fleet", "k", strings.NewReader("text"), 4, "", "", minio.PutObjectOptions{}); err != nil {
				t.Fatal(err)
			}
			o, _, _, err := s.Client().GetObject(t.Context(), "fleet", "k", minio.GetObjectOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(o); string(text) != "text" || err != nil {
				t.Errorf("%q, %v", text, err)
			}
			s.CheckKeys()
			if _, err := s.Client().BucketExists(t.Context(), "fleet"); minio.ToErrorResponse(err).StatusCode != http.StatusForbidden {
				t.Errorf("with keys that were not given: %v", err)
			}
			if got := verdict.Of(t, func(t testing.TB) { (&Server{URL: "http://127.0.0.1:1", t: t}).CheckKeys() }); !strings.HasPrefix(got, "fatal: ") {
				t.Errorf("a server that is not there checks keys: %q", got)
			}
		})
	}
}

// What goes wrong does so as it is said.
func TestTrouble(t *testing.T) {
	s := Start(t, false)
	b := s.Stand()
	client := &http.Client{Timeout: 30 * time.Second}
	do := func(method, key, body string) (*http.Response, error) {
		t.Helper()
		u, err := (&Server{URL: b.URL, t: t}).Client().Presign(t.Context(), method, "fleet", key, time.Hour, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), method, u.String(), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return client.Do(r)
	}
	has := func(key string) bool {
		t.Helper()
		_, err := s.Client().StatObject(t.Context(), "fleet", key, minio.StatObjectOptions{})
		if err != nil && minio.ToErrorResponse(err).Code != "NoSuchKey" {
			t.Fatal(err)
		}
		return err == nil
	}
	dropped := func(what string, resp *http.Response, err error) {
		t.Helper()
		if err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s is answered: %s", what, resp.Status)
		} else if os.IsTimeout(err) {
			t.Errorf("%s is waited for", what)
		}
	}

	b.Set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { Drop(w) })
	resp, err := do(http.MethodPut, "dropped", "text")
	dropped("a request", resp, err)

	b.Set(func(w http.ResponseWriter, r *http.Request, _ http.Handler) { DropAfter(w, r, 1000) })
	resp, err = do(http.MethodPut, "dropped", strings.Repeat("x", 1<<20))
	dropped("a large request", resp, err)

	statuses := make(chan int, 1) // which comes after the end of the connection
	b.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		statuses <- LoseAnswer(w, r, forward)
	})
	resp, err = do(http.MethodPut, "lost", "text")
	dropped("what was done", resp, err)
	b.Set(nil)
	if status := <-statuses; has("dropped") || !has("lost") || status != http.StatusOK {
		t.Errorf("dropped is there: %t, lost is there: %t, %d", has("dropped"), has("lost"), status)
	}

	b.Set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		Refuse(w, http.StatusServiceUnavailable, "SlowDown")
	})
	if resp, err = do(http.MethodGet, "lost", ""); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Content-Type") != "application/xml" || !bytes.Contains(text, []byte("<Code>SlowDown</Code>")) {
		t.Errorf("%s %s", resp.Status, text)
	}

	b.Set(HalfAnswer)
	if resp, err = do(http.MethodGet, "lost", ""); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(resp.Body); string(text) != "te" || !errors.Is(err, io.ErrUnexpectedEOF) || resp.ContentLength != 4 {
		t.Errorf("half of an answer: %q of %d, %v", text, resp.ContentLength, err)
	}

	b.Set(nil)
	if resp, err = do(http.MethodGet, "lost", ""); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(resp.Body); string(text) != "text" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("a connection that cannot be taken over: %v", got)
		}
	}()
	Drop(httptest.NewRecorder())
}

// Without moto a test is skipped, but for one on a build machine.
func TestWithoutMoto(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for ci, want := range map[string]string{"": "skip", "true": "fatal"} {
		t.Setenv("CI", ci)
		if got := verdict.Of(t, func(t testing.TB) { Start(t, false) }); got != want+": moto is not installed: run make moto\n" {
			t.Errorf("CI=%s: %q", ci, got)
		}
	}
}

// Of a log that grows the end is kept.
func TestTail(t *testing.T) {
	var l tail
	full := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		write string
		want  int
	}{{full, 1 << 20}, {"y", 1<<20 + 1}, {"z", 1}, {"z", 2}} {
		if n, err := l.Write([]byte(c.write)); n != len(c.write) || err != nil || len(l.String()) != c.want {
			t.Errorf("%d bytes after %d more, want %d", len(l.String()), n, c.want)
		}
	}
}
