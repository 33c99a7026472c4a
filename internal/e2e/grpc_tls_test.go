package e2e

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
)

// gRPC's own xDS clients, with a bootstrap that says tls. That for Node knows
// plaintext and Google's credentials only; that for Java trusts what the system
// trusts, whatever the bootstrap says.
func TestGRPCSecured(t *testing.T) {
	t.Parallel()
	for _, impl := range implementations() {
		if impl.name == "grpc-js" || impl.name == "grpc-java" {
			continue
		}
		for recipeName, trusted := range map[string]string{"mutual": "grpc/xdsproxy-ca.pem", "minted": "xdsproxy/authority/ca.pem"} {
			t.Run(recipeName+" "+impl.name, func(t *testing.T) {
				t.Parallel()
				impl.need(t)
				s := newSecured(t)
				c := startControlPlaneAs(t, impl.name, xdstest.Options{TLS: s.controlPlane()})
				p := startProxyWith(t, c.Addr(), setup{args: recipeArgs(t, recipeName+" run", s.dir)})
				bootstrap := recipe(t, "grpc bootstrap", s.dir, "xdsproxy.example:18000", p.addr, "the-node", c.node,
					"/etc/grpc/xdsproxy-ca.pem", filepath.Join(s.dir, trusted))
				grpcStory(t, impl, c, []byte(bootstrap), comesBack)
				p.stop(t)
				compare(t, c.account, p)
				s.everyCall(t, call{proxyAsClient, ""}) // of an IP address nobody asks by SNI
				p.connectedTo(t, grpcIdentity, controlIdentity)
				if found := rulesFound(t, p.file); !slices.Contains(found, "nack-received") {
					t.Errorf("check finds %q", found)
				}
			})
		}
	}
}

// A connection with all that is around messages: PINGs of both ends, a
// half-close, GOAWAY. In TLS as in plaintext, each frame passes as it is, and
// the same is recorded.
func TestConnectionsInTLS(t *testing.T) {
	t.Parallel()
	for _, client := range talkers() {
		t.Run(client.name, func(t *testing.T) {
			t.Parallel()
			client.need(t)
			plain, secure := talkThrough(t, client, nil), talkThrough(t, client, newSecured(t))
			if !slices.Equal(plain, secure) {
				t.Errorf("recorded of plaintext:\n%s\nand of TLS:\n%s", strings.Join(plain, "\n"), strings.Join(secure, "\n"))
			}
		})
	}
}

// talkThrough leads a client through the life of a connection, and returns what
// is recorded of it. If there is s, all speak TLS.
func talkThrough(t *testing.T, client talker, s *secured) []string {
	t.Helper()
	var clientIn, clientOut, serverIn, serverOut *tls.Config // of the pipes around the proxy
	var options xdstest.Options
	var args []string
	if s != nil {
		both := legs{client: true, server: true}
		args = s.args(t, both)
		clientOut, serverIn = s.ends(t, both, "h2")
		options.TLS = s.controlPlane()
		shown, err := tls.LoadX509KeyPair(filepath.Join(s.dir, "xdsproxy/server.pem"), filepath.Join(s.dir, "xdsproxy/server.key"))
		if err != nil {
			t.Fatal(err)
		}
		clientIn = &tls.Config{Certificates: []tls.Certificate{shown}, NextProtos: []string{"h2"}}
		serverOut = &tls.Config{Certificates: []tls.Certificate{s.inner.Issue(xdstest.Leaf{}).TLS()}, RootCAs: s.inner.Pool(), ServerName: "control-plane.example", NextProtos: []string{"h2"}}
	}
	options.Ping = 1 // the least that there is
	c := startControlPlaneAs(t, "talker", options)
	inner := startPipeWith(t, c.Addr(), serverIn, serverOut)
	p := startProxyWith(t, inner.addr, setup{args: args})
	outer := startPipeWith(t, p.addr, clientIn, clientOut)

	m := emptyMesh(xdstest.ADS())
	m.cluster("web", 1)
	c.set(t, m.world())
	said, commands := client.start(t, outer.addr, c.node, s)
	says := func(want string) {
		t.Helper()
		eventually(t, want, func() bool { return said.last() == want })
	}
	command := func(line string) {
		t.Helper()
		if _, err := io.WriteString(commands, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	says("version 1")
	m.cluster("web", 2)
	c.set(t, m.world())
	says("version 2")
	c.settle(t)
	command("end")
	says("ended 0")
	command("again")
	says("version 2")
	c.settle(t)
	eventually(t, "PINGs of both ends, and their answers", func() bool {
		tp := inner.tapes[0]
		tp.mu.Lock()
		defer tp.mu.Unlock()
		asked, answered := pings(t, tp.client, tp.server)
		return asked["client"] > 0 && asked["server"] > 0 && answered["client"] > 0 && answered["server"] > 0
	})
	c.drain(t)
	says("ended 0")
	commands.Close()
	sameBytes(t, outer.first(t), inner.first(t))
	p.stop(t)
	if s != nil {
		p.connectedTo(t, envoyIdentity, controlIdentity) // that of the pipe
	}
	var out []string
	for _, e := range p.entries(t) {
		switch e.Kind {
		case session.KindTime, session.KindConnect:
		case session.KindCancel: // how either end lets go of a stream that has ended is a race
		case session.KindMessage:
			out = append(out, fmt.Sprintf("%d %v %v %d bytes", e.H2, e.Side, e.Kind, e.Message.Size))
		case session.KindGoAway:
			// The second one, which says which stream was the last, comes only
			// if the client has not left before.
			if text := fmt.Sprintf("%v %v %d %q", e.Side, e.Kind, e.GoAway.Code, e.GoAway.Debug); !slices.Contains(out, text) {
				out = append(out, text)
			}
		case session.KindTrailer, session.KindDisconnect:
			status := *e.Status
			if status.Message == "the client's connection broke: connection reset by peer" {
				// So it ends if something has come that the client did not read any more.
				status.Message = "the client closed the connection"
			}
			out = append(out, fmt.Sprintf("%d %v %v %+v", e.H2, e.Side, e.Kind, status))
		default:
			out = append(out, fmt.Sprintf("%d %v %v", e.H2, e.Side, e.Kind))
		}
	}
	slices.Sort(out) // GOAWAY and the end of the last stream are sent at the same time
	for _, kind := range []string{"half-close", "goaway"} {
		if !strings.Contains(strings.Join(out, "\n"), kind) {
			t.Errorf("no %s is recorded:\n%s", kind, strings.Join(out, "\n"))
		}
	}
	return out
}

// pings counts the PINGs, and the answers to PINGs, that each side has sent.
func pings(t *testing.T, client, server []byte) (asked, answered map[string]int) {
	t.Helper()
	asked, answered = map[string]int{}, map[string]int{}
	client, _ = bytes.CutPrefix(client, []byte(http2.ClientPreface))
	for side, data := range map[string][]byte{"client": client, "server": server} {
		for framer := http2.NewFramer(io.Discard, bytes.NewReader(data)); ; {
			f, err := framer.ReadFrame()
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if p, is := f.(*http2.PingFrame); is && p.IsAck() {
				answered[side]++
			} else if is {
				asked[side]++
			}
		}
	}
	return asked, answered
}
