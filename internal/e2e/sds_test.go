package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
)

// workload is what an Envoy gets from a server of secrets: what its listener
// shows, and whose clients it takes.
type workload struct {
	shown *xdstest.Credential
	roots *xdstest.Authority
}

func (w workload) world() xdstest.World {
	return xdstest.World{Secrets: []*tlsv3.Secret{
		certificateSecret("workload", w.shown),
		{Name: "roots", Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
			TrustedCa: inlineBytes(w.roots.CertPEM()),
		}}},
	}}
}

// greeting is a listener, at a port of Envoy's choice, that says what it is told. (One
// that says something by itself closes before a client has finished a slow handshake.)
func greeting(name string, secure object) object {
	return object{
		"name": name, "address": socket("127.0.0.1", 0),
		"filter_chains": []object{{
			"transport_socket": secure,
			"filters":          []object{{"name": "greeting", "typed_config": object{"@type": "type.googleapis.com/envoy.extensions.filters.network.echo.v3.Echo"}}},
		}},
	}
}

// greetedBy calls a greeting, showing a certificate of roots, and returns the
// certificate that its Envoy shows.
func greetedBy(addr string, roots *xdstest.Authority) (shown []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{
		Certificates:       []tls.Certificate{roots.Issue(xdstest.Leaf{}).TLS()},
		InsecureSkipVerify: true, // what is shown is compared
	}}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	hello := []byte("hello")
	if _, err := conn.Write(hello); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(conn, hello); err != nil { // of one that takes no such client, an alert
		return nil, err
	}
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw, nil
}

// socketDir is for unix sockets: a test's own directory may be too long.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// An Envoy gets its certificate, and whom it trusts, from a server of secrets
// on a unix socket, and others while it runs.
func TestSecretsOverUnixSocket(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		api  string
		args []string
		kept bool
	}{
		{"GRPC", nil, false},
		{"DELTA_GRPC", nil, false},
		{"DELTA_GRPC", []string{"--keep-secrets"}, true}, // what is looked for can be found
	} {
		t.Run(strings.Join(append([]string{c.api}, c.args...), " "), func(t *testing.T) {
			t.Parallel()
			tool(t, "envoy", "envoy", "_bin", "envoy")
			dir := socketDir(t)
			control := startControlPlaneAs(t, "workload", xdstest.Options{Listen: "unix:" + filepath.Join(dir, "up.sock"), OwnVersions: true})
			words := strings.Fields(recipe(t, "secrets run", dir, "/run/xdsproxy/sds.sock", filepath.Join(dir, "down.sock"), "/run/sds.sock", filepath.Join(dir, "up.sock")))
			p := startProxyWith(t, words[5], setup{listen: words[3], args: append(words[6:], c.args...)})

			roots := xdstest.NewAuthority("roots")
			var keys []*xdstest.Credential
			rotate := func(roots *xdstest.Authority) workload {
				w := workload{roots.Issue(xdstest.Leaf{URIs: []string{envoyIdentity}}), roots}
				keys = append(keys, w.shown)
				control.set(t, w.world())
				return w
			}
			first := rotate(roots)
			secure := recipeSocket(t, "secrets envoy", dir, "api_type: GRPC", "api_type: "+c.api)
			e := startEnvoy(t, variant{static: []object{greeting("ingress", secure)}}, control.node, p.addr)
			addr := strings.TrimSuffix(strings.TrimPrefix(e.url(t, "ingress"), "http://"), "/")
			serves := func(w workload) {
				t.Helper()
				eventually(t, "the certificate is served", func() bool {
					shown, err := greetedBy(addr, w.roots)
					return err == nil && bytes.Equal(shown, w.shown.Cert.Raw)
				})
			}
			serves(first)
			control.settle(t)
			serves(rotate(roots))
			others := xdstest.NewAuthority("other roots")
			serves(rotate(others))
			if _, err := greetedBy(addr, roots); err == nil {
				t.Error("Envoy takes clients of the old authority")
			}
			control.settle(t)
			e.stop(t)
			p.stop(t)

			if f := p.info(t); !f.Complete || f.Gaps > 0 || f.Connections != 1 || f.Streams != 2 {
				t.Errorf("%+v; the rotations should leave one connection and its two streams as they are, one for each secret", f)
			}
			if notes := p.notes(t); len(notes) > 0 && !c.kept {
				t.Errorf("notes in the recording: %q", notes)
			}
			if c.kept {
				compare(t, control.account, p)
			}
			// Of a state of the world all is sent that was asked for.
			acknowledged(t, p, map[string]int{"workload": 3, "roots": map[string]int{"GRPC": 3, "DELTA_GRPC": 2}[c.api]})
			raw := contents(t, p.file)
			places := map[string][]byte{
				"the file": raw, "what is in the file": decompressed(t, raw), "the log": []byte(p.stderr.String()),
				"show": p.run(t, "show", p.file, "1..", "-o", "yaml"), "watch": p.run(t, "watch", p.file, "--no-follow", "-o", "jsonl"),
			}
			for i, k := range keys {
				if !bytes.Contains(places["show"], inlineText(k.CertPEM())) {
					t.Errorf("certificate %d is not in the recording", i+1)
				}
				found := keyIn(t, k, places)
				if c.kept && len(found) == 0 {
					t.Errorf("key %d is not in the recording that keeps secrets", i+1)
				}
				if !c.kept && len(found) > 0 {
					t.Errorf("key %d is in %q", i+1, found)
				}
			}
		})
	}
}

// inlineText is a piece of a PEM text, behind what all begin with, as YAML shows
// bytes.
func inlineText(text []byte) []byte {
	return []byte(base64.StdEncoding.EncodeToString(text[60:120]))
}

// keyIn looks for a private key: for a line of its PEM text, the same once more
// in base64, and its bytes.
func keyIn(t *testing.T, c *xdstest.Credential, places map[string][]byte) []string {
	t.Helper()
	text := c.KeyPEM()
	block, _ := pem.Decode(text)
	scalar, err := c.Key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	shapes := [][]byte{bytes.Split(text, []byte("\n"))[2], scalar, block.Bytes}
	for cut := range 3 { // base64 looks different at each third byte
		shapes = append(shapes, []byte(base64.StdEncoding.EncodeToString(text[60+cut:])[:40]))
	}
	var found []string
	for name, place := range places {
		for _, s := range shapes {
			if bytes.Contains(place, s) {
				found = append(found, name)
				break
			}
		}
	}
	return found
}

// acknowledged requires that the clients have accepted this many versions of
// each resource.
func acknowledged(t *testing.T, p *proxy, want map[string]int) {
	t.Helper()
	type nonce struct {
		stream uint64
		nonce  string
	}
	sent, got := map[nonce][]string{}, map[string]int{}
	for _, l := range p.watch(t) {
		switch {
		case l.Kind != session.KindMessage.String():
		case l.Side == session.Server.String():
			sent[nonce{l.Stream, l.Nonce}] = l.Names
		case l.What == "ACK":
			for _, name := range sent[nonce{l.Stream, l.Nonce}] {
				got[name]++
			}
		}
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%d versions of %s were accepted, want %d: %v", got[name], name, n, got)
		}
	}
}
