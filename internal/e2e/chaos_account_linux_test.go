package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// flow is the bytes that one end of a connection has sent and got. Under TLS
// it is what is inside.
type flow struct {
	mu        sync.Mutex
	sent, got []byte
	heard     bool // the end of the connection, from the other end
	left      bool // it has ended it before it heard that
}

// flowConn keeps the account of a connection.
type flowConn struct {
	net.Conn
	*flow
}

func (c *flowConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	c.got = append(c.got, p[:n]...)
	c.heard = c.heard || err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
	c.mu.Unlock()
	return n, err
}

func (c *flowConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.sent = append(c.sent, p...)
	c.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *flowConn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = c.left || !c.heard
}

func (c *flowConn) Close() error {
	c.leave()
	return c.Conn.Close()
}

func (c *flowConn) CloseWrite() error {
	c.leave()
	return c.Conn.(interface{ CloseWrite() error }).CloseWrite()
}

// carried says in what way what one end got is not the beginning of what the
// other has sent; "" if it is.
func carried(sender, receiver *flow) string {
	sender.mu.Lock()
	defer sender.mu.Unlock()
	receiver.mu.Lock()
	defer receiver.mu.Unlock()
	if bytes.HasPrefix(sender.sent, receiver.got) {
		return ""
	}
	at := 0
	for at < min(len(sender.sent), len(receiver.got)) && sender.sent[at] == receiver.got[at] {
		at++
	}
	return fmt.Sprintf("%d bytes were sent, %d arrived, and byte %d is another", len(sender.sent), len(receiver.got), at)
}

// counts are how many messages one end has sent, or begun to, and got, of a
// stream.
type counts struct{ sent, got int }

// accounts are what all ends know of one instance of the proxy.
type accounts struct {
	mu      sync.Mutex
	clients map[int]*flow // by number
	servers map[int]*flow // by number
	talks   map[string]*[2]counts
	faulty  []string // messages that arrived and were not what was sent
}

const (
	atClient = iota
	atServer
)

func newAccounts() *accounts {
	return &accounts{clients: map[int]*flow{}, servers: map[int]*flow{}, talks: map[string]*[2]counts{}}
}

func (a *accounts) flowOf(at map[int]*flow, n int) *flow {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at[n] == nil {
		at[n] = &flow{}
	}
	return at[n]
}

// arrived says whether any message came through.
func (a *accounts) arrived() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, talk := range a.talks {
		if talk[atClient].got > 0 || talk[atServer].got > 0 {
			return true
		}
	}
	return false
}

// sends counts a message that is about to be sent.
func (a *accounts) sends(end int, stream string, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.talk(stream)
	t[end].sent = max(t[end].sent, n)
}

// gets counts the message that an end has got after n others.
func (a *accounts) gets(end int, m labelled, after int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	stream, n, problem := readLabel(m)
	if problem == "" && n != after+1 {
		problem = fmt.Sprintf("message %d came after message %d", n, after)
	}
	if problem != "" {
		a.faulty = append(a.faulty, fmt.Sprintf("stream %s: %s", stream, problem))
		return
	}
	t := a.talk(stream)
	t[end].got = max(t[end].got, n)
}

func (a *accounts) talk(stream string) *[2]counts {
	if a.talks[stream] == nil {
		a.talks[stream] = &[2]counts{}
	}
	return a.talks[stream]
}

// labelled is a message that says which one it is, and what it must contain.
type labelled interface {
	GetVersionInfo() string // the digest of its content
}

func label(stream string, n int) string { return stream + "#" + strconv.Itoa(n) }

func digest(parts ...string) string {
	h := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(h[:12])
}

func newRequest(stream string, n int, content string) *discovery.DiscoveryRequest {
	l := label(stream, n)
	return &discovery.DiscoveryRequest{
		ResponseNonce: l, ResourceNames: []string{content}, TypeUrl: chaosType, VersionInfo: digest(l, content),
	}
}

func newResponse(stream string, n int, content string) *discovery.DiscoveryResponse {
	l := label(stream, n)
	return &discovery.DiscoveryResponse{
		Nonce: l, Resources: []*anypb.Any{{TypeUrl: chaosType, Value: []byte(content)}}, TypeUrl: chaosType,
		VersionInfo: digest(l, content),
	}
}

const chaosType = "type.googleapis.com/xdsproxy.test.Chaos"

// readLabel returns which message it is, and a problem if it is not what was sent.
func readLabel(m labelled) (stream string, n int, problem string) {
	var l, content string
	switch m := m.(type) {
	case *discovery.DiscoveryRequest:
		l, content = m.GetResponseNonce(), strings.Join(m.GetResourceNames(), "")
	case *discovery.DiscoveryResponse:
		l = m.GetNonce()
		for _, r := range m.GetResources() {
			content += string(r.GetValue())
		}
	}
	stream, number, _ := strings.Cut(l, "#")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return stream, 0, "a message without a label"
	case digest(l, content) != m.GetVersionInfo():
		return stream, n, fmt.Sprintf("message %d is damaged", n)
	}
	return stream, n, ""
}
