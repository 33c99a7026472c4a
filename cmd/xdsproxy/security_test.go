package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/console"
)

// passTLS is running.pass for a listener that speaks TLS.
func (r *running) passTLS(t *testing.T, config *tls.Config, text string) *tls.Conn {
	t.Helper()
	c, err := tls.Dial("tcp", r.addr, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("got %q, %v", got, err)
	}
	return c
}

// With an authority of its own a proxy says whom to trust, and a client that
// does comes through to an upstream that is verified.
func TestAuthorityOfOurOwn(t *testing.T) {
	p := newPKI(t)
	dir := filepath.Join(t.TempDir(), "ca")
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("# old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	upstream := serving(t, &tls.Config{Certificates: []tls.Certificate{p.good.TLS()}, NextProtos: []string{"h2"}})
	r := startRun(t, "--headless", "--upstream", upstream, "--tls-ca-dir", dir,
		"--upstream-ca", p.rootFile, "--tls-key-log", keys)
	root := filepath.Join(dir, "ca.pem")
	said := r.lineWith(t, "XDS_ROOT_CA="+root)
	for _, want := range []string{
		"xdsproxy: warning: --tls-key-log: whoever can read \"" + keys + "\" can decrypt what passes",
		"clients have to trust " + root + ", which signs the certificates that they are shown:\n",
		`trusted_ca: {filename: "` + root + `"}`,
		`"channel_creds": [{"type": "tls", "config": {"ca_certificate_file": "` + root + `"}}]`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
	text, err := os.ReadFile(root)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	c := r.passTLS(t, &tls.Config{RootCAs: pool, ServerName: serverName, NextProtos: []string{"h2"}}, preface)
	if got := c.ConnectionState().NegotiatedProtocol; got != "h2" {
		t.Errorf("agreed on %q", got)
	}
	c.Close()
	r.signal(t, syscall.SIGTERM)
	if out, code := r.end(t); code != 0 {
		t.Errorf("ended with %d:\n%s", code, out)
	}
	info, err := os.Stat(keys)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(keys)
	if err != nil || info.Mode().Perm() != 0o600 || !strings.HasPrefix(string(log), "# old\n") {
		t.Errorf("mode %o, %v: %q", info.Mode().Perm(), err, log)
	}
	// Both handshakes, each with the secrets of both directions.
	if n := strings.Count(string(log), "CLIENT_TRAFFIC_SECRET_0 "); n != 2 {
		t.Errorf("%d handshakes in the key log:\n%s", n, log)
	}
}

// What is not verified, and what will not be taken, is said at the start, and
// also with --quiet; how to trust is not, then.
func TestSecurityWarnings(t *testing.T) {
	p := newPKI(t)
	cert, key, err := p.old.Write(t.TempDir(), "old")
	if err != nil {
		t.Fatal(err)
	}
	upstream := serving(t, &tls.Config{Certificates: []tls.Certificate{p.strange.TLS()}})
	r := startRun(t, "--headless", "-q", "--upstream", upstream, "--upstream-insecure-skip-verify", "--tls-cert", cert, "--tls-key", key)
	r.passTLS(t, &tls.Config{InsecureSkipVerify: true}, "hello").Close()
	r.signal(t, syscall.SIGTERM)
	out, code := r.end(t)
	for _, want := range []string{
		"xdsproxy: warning: --upstream-insecure-skip-verify: the certificate of " + upstream + " is not verified; whoever answers there is believed\n",
		"xdsproxy: warning: --tls-cert: the certificate in \"" + cert + "\" expired on ",
	} {
		if !strings.Contains(out, want) || code != 0 {
			t.Errorf("ended with %d: %q is not in\n%s", code, want, out)
		}
	}
	r = startRun(t, "--headless", "-q", "--upstream", upstream, "--tls-ca-dir", filepath.Join(t.TempDir(), "ca"))
	r.signal(t, syscall.SIGTERM)
	if out, _ := r.end(t); out != "" {
		t.Errorf("with -q it says %q", out)
	}
}

// Headers are set on their way, and what is a credential is shown nowhere.
func TestHeaderSettings(t *testing.T) {
	const secret = "Bearer 0123456789abcdef"
	cmd := command(t, "config", "--upstream", "a:1", "--header", "authorization="+secret, "--header", "x-team=mesh", "--header-from-file", "x-token=/run/token")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if strings.Contains(string(out), secret) || !strings.Contains(string(out), "authorization=(not shown), x-team=mesh") || !strings.Contains(string(out), "x-token=/run/token") {
		t.Errorf("%s", out)
	}
	for _, args := range [][]string{
		{"--header", "authorization" + secret},
		{"--header", "authorization=" + secret + "\n"},
		{"--header", "authorization=" + secret, "--header", "authorization=" + secret},
		{"--header", ":path=" + secret},
	} {
		cmd := command(t, append([]string{"run", "--upstream", "a:1"}, args...)...)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != console.ExitUsage || strings.Contains(string(out), "0123456789") {
			t.Errorf("%q: ended with %d: %s", args, cmd.ProcessState.ExitCode(), out)
		}
	}
	cmd = command(t, "config", "--upstream", "a:1")
	cmd.Env = append(cmd.Env, "XDSPROXY_HEADER=x-a=b,authorization"+secret)
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != console.ExitUsage || strings.Contains(string(out), "0123456789") || !strings.Contains(string(out), "hint: write it as name=value") {
		t.Errorf("ended with %d: %s", cmd.ProcessState.ExitCode(), out)
	}
}
