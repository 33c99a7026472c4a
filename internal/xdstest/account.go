package xdstest

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/xdsproxy/xdsproxy/session"
)

// Account is what one end of a conversation saw itself, in order. A nil
// Account keeps nothing.
type Account struct {
	mu      sync.Mutex
	streams int
	records []Record
	changed chan struct{} // closed and replaced whenever records grows
}

// Record is one thing that an end saw: the opening of a stream (session.KindOpen),
// a message (session.KindMessage) or the end of a stream (session.KindTrailer).
type Record struct {
	Time   time.Time
	Stream int    // from 1, in the order of opening at this end
	Method string // "/package.Service/Method"
	Side   session.Side
	Kind   session.Kind

	Peer     string      // KindOpen, at the server: the address that the stream came from
	Metadata metadata.MD // KindOpen: the request headers as this end saw or set them

	Len int               // KindMessage: length of the message, uncompressed
	Sum [sha256.Size]byte // KindMessage: SHA-256 of those bytes
	Facts

	Code codes.Code // KindTrailer
	Text string     // KindTrailer: the status message
}

// Facts are the fields of a discovery message that correlate it with others.
type Facts struct {
	TypeURL, Version, Nonce string
	Names                   []string // resource names of a SotW request; subscriptions of a delta request
	Removed                 []string // unsubscriptions, or removed resources of a delta response
	Resources               int      // resources that a response carries
	ErrorCode               int32
	Error                   string
}

// NewAccount returns an empty account.
func NewAccount() *Account { return &Account{changed: make(chan struct{})} }

// Records returns a copy of what was seen so far.
func (a *Account) Records() []Record {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.records)
}

// Messages returns the records of kind session.KindMessage.
func (a *Account) Messages() []Record {
	return slices.DeleteFunc(a.Records(), func(r Record) bool { return r.Kind != session.KindMessage })
}

// Wait blocks until cond holds of the records, or ctx is done. It asks again
// whenever a record is added.
func (a *Account) Wait(ctx context.Context, cond func([]Record) bool) error {
	for {
		a.mu.Lock()
		changed, records := a.changed, slices.Clone(a.records)
		a.mu.Unlock()
		if cond(records) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (a *Account) add(r Record) {
	r.Time = time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.records = append(a.records, r)
	close(a.changed)
	a.changed = make(chan struct{})
}

// open adds the opening of a stream and returns the stream's place in the
// account; nil for a nil account.
func (a *Account) open(method, peer string, md metadata.MD) *streamAccount {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	a.streams++
	s := &streamAccount{account: a, stream: a.streams, method: method}
	a.mu.Unlock()
	a.add(Record{Stream: s.stream, Method: method, Side: session.Client, Kind: session.KindOpen, Peer: peer, Metadata: md})
	return s
}

// streamAccount adds what happens on one stream.
type streamAccount struct {
	account *Account
	stream  int
	method  string
}

func (s *streamAccount) message(side session.Side, data []byte, m any) {
	if s == nil {
		return
	}
	s.account.add(Record{
		Stream: s.stream, Method: s.method, Side: side, Kind: session.KindMessage,
		Len: len(data), Sum: sha256.Sum256(data), Facts: factsOf(m),
	})
}

func (s *streamAccount) end(code codes.Code, text string) {
	if s == nil {
		return
	}
	s.account.add(Record{
		Stream: s.stream, Method: s.method, Side: session.Server, Kind: session.KindTrailer, Code: code, Text: text,
	})
}

func factsOf(m any) Facts {
	switch m := m.(type) {
	case *discovery.DiscoveryRequest:
		return Facts{
			TypeURL: m.GetTypeUrl(), Version: m.GetVersionInfo(), Nonce: m.GetResponseNonce(), Names: m.GetResourceNames(),
			ErrorCode: m.GetErrorDetail().GetCode(), Error: m.GetErrorDetail().GetMessage(),
		}
	case *discovery.DiscoveryResponse:
		return Facts{
			TypeURL: m.GetTypeUrl(), Version: m.GetVersionInfo(), Nonce: m.GetNonce(), Resources: len(m.GetResources()),
		}
	case *discovery.DeltaDiscoveryRequest:
		return Facts{
			TypeURL: m.GetTypeUrl(), Nonce: m.GetResponseNonce(),
			Names: m.GetResourceNamesSubscribe(), Removed: m.GetResourceNamesUnsubscribe(),
			ErrorCode: m.GetErrorDetail().GetCode(), Error: m.GetErrorDetail().GetMessage(),
		}
	case *discovery.DeltaDiscoveryResponse:
		return Facts{
			TypeURL: m.GetTypeUrl(), Version: m.GetSystemVersionInfo(), Nonce: m.GetNonce(),
			Resources: len(m.GetResources()), Removed: m.GetRemovedResources(),
		}
	}
	return Facts{}
}

// ShortType is the last part of a type URL: "Cluster".
func ShortType(typeURL string) string { return typeURL[strings.LastIndexByte(typeURL, '.')+1:] }
