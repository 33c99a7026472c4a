package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// message is what both a recording and an account say of a message.
type message struct {
	TypeURL, Version, Nonce, Names, Removed string
	Code                                    int32
	Error                                   string
	Len                                     int
	Sum                                     [sha256.Size]byte
}

// conversation is one stream, by each side in the order of that side. Across
// sides the order is a matter of where one stands.
type conversation struct {
	local   string // where its connection came from, as the server saw it
	method  string
	left    bool // in a recording: the client broke the stream off
	headers map[string][]string
	sent    map[session.Side][]message
}

// streamKey tells streams of both ends apart: where the connection came from
// as the server saw it, the method, the names asked for first if there are
// several of one method, and the how-manieth such stream on the connection it
// is. Streams that are opened at the same time may begin in another order in
// the server.
type streamKey struct {
	local, method, first string
	n                    int
}

// keyed finds the conversations of one end, which are in order, by their keys.
func keyed(all []*conversation) map[streamKey]*conversation {
	out, like, same := map[streamKey]*conversation{}, map[streamKey]int{}, map[streamKey]int{}
	for _, c := range all {
		same[streamKey{local: c.local, method: c.method}]++
	}
	for _, c := range all {
		key := streamKey{local: c.local, method: c.method}
		if asked := c.sent[session.Client]; len(asked) > 0 && same[key] > 1 {
			key.first = asked[0].TypeURL + " " + asked[0].Names
		}
		like[key]++
		key.n = like[key]
		out[key] = c
	}
	return out
}

// compare requires that the recording of a proxy that has ended holds all that
// is on the control plane's account, and says the same of it.
func compare(t *testing.T, account *xdstest.Account, p *proxy) {
	t.Helper()
	entries, lines := p.entries(t), p.watch(t)
	if len(lines) != len(entries) {
		t.Fatalf("watch prints %d lines for %d entries", len(lines), len(entries))
	}
	t.Logf("%d entries in the recording, %d messages on the account", len(entries), len(account.Messages()))
	f := p.info(t)
	if !f.Complete || f.Damaged || f.Gaps != 0 || f.Lost != 0 || f.Entries != uint64(len(entries)) {
		t.Errorf("info: %+v; want a complete recording of %d entries", f, len(entries))
	}
	recorded := conversationsOf(t, entries, lines)
	seen := conversationsSeen(account)
	if len(seen) == 0 {
		t.Fatal("the control plane saw no stream")
	}
	for key, want := range seen {
		got, ok := recorded[key]
		if !ok {
			t.Errorf("stream %d from %s (%s) is not in the recording", key.n, key.local, want.method)
			continue
		}
		delete(recorded, key)
		compareConversation(t, key, want, got)
	}
	for key, c := range recorded {
		// A client may have spoken to a listener that was closing.
		if n := len(c.sent[session.Server]); n > 0 {
			t.Errorf("stream %d from %s (%s) is in the recording with %d responses, and the control plane never saw it", key.n, key.local, c.method, n)
		}
	}
}

func compareConversation(t *testing.T, key streamKey, want, got *conversation) {
	t.Helper()
	if got.method != want.method {
		t.Errorf("stream %d from %s: recorded method %s; the control plane saw %s", key.n, key.local, got.method, want.method)
	}
	for name, values := range want.headers {
		if name == "authorization" {
			continue // it is masked
		}
		if !slices.Equal(got.headers[name], values) {
			t.Errorf("%s: recorded header %s is %q; the control plane saw %q", want.method, name, got.headers[name], values)
		}
	}
	for _, side := range []session.Side{session.Server, session.Client} {
		a, b := want.sent[side], got.sent[side]
		for i := range max(len(a), len(b)) {
			switch {
			case i >= len(a) && side == session.Client && got.left:
				return // a server need not read the last words of a client that has left
			case i >= len(a):
				t.Errorf("%s: the recording has a message %d of the %v that is on no account: %+v", want.method, i, side, b[i])
			case i >= len(b):
				t.Errorf("%s: message %d of the %v is not in the recording: %+v", want.method, i, side, a[i])
			case a[i] != b[i]:
				t.Errorf("%s: message %d of the %v\nwas:      %+v\nrecorded: %+v", want.method, i, side, a[i], b[i])
			}
		}
	}
}

func conversationsSeen(account *xdstest.Account) map[streamKey]*conversation {
	var out []*conversation
	byStream := map[int]*conversation{}
	for _, r := range account.Records() {
		switch r.Kind {
		case session.KindOpen:
			c := &conversation{local: r.Peer, method: r.Method, headers: map[string][]string{}, sent: map[session.Side][]message{}}
			for name, values := range r.Metadata {
				if !strings.HasSuffix(name, "-bin") {
					c.headers[name] = values
				}
			}
			out = append(out, c)
			byStream[r.Stream] = c
		case session.KindMessage:
			c := byStream[r.Stream]
			c.sent[r.Side] = append(c.sent[r.Side], message{
				r.TypeURL, r.Version, r.Nonce, fmt.Sprint(r.Names), fmt.Sprint(r.Removed), r.ErrorCode, r.Error, r.Len, r.Sum,
			})
		}
	}
	return keyed(out)
}

// conversationsOf reads a recording twice over: the bytes from its entries,
// what they mean from the lines that scripts see. On the way it requires what
// holds of every recording.
func conversationsOf(t *testing.T, entries []session.Entry, lines []line) map[streamKey]*conversation {
	t.Helper()
	var out []*conversation
	byStream := map[session.StreamID]*conversation{}
	local := map[session.ConnID]string{}
	nonces := map[string]bool{}
	for i := range entries {
		e, l := &entries[i], &lines[i]
		if e.Seq != session.Seq(i+1) || l.Seq != uint64(e.Seq) || l.Kind != e.Kind.String() || l.Schema != "xdsproxy/v1" {
			t.Fatalf("entry %d is %d (%v), its line says %d (%s)", i+1, e.Seq, e.Kind, l.Seq, l.Kind)
		}
		if e.Kind == session.KindMessage && len(e.Problems) > 0 && strings.HasPrefix(e.Problems[0], "the connection ended after ") {
			continue // a server that went away; its account has whole messages only
		}
		if len(e.Problems)+len(l.Problems) > 0 || e.Kind == session.KindGap {
			t.Errorf("entry %d (%v): %q %q", e.Seq, e.Kind, e.Problems, l.Problems)
		}
		switch e.Kind {
		case session.KindConnect:
			local[e.Conn] = strings.TrimPrefix(e.Peer.Local, "unix:")
		case session.KindOpen:
			c := &conversation{local: local[e.Conn], method: e.Method, headers: map[string][]string{}, sent: map[session.Side][]message{}}
			fields := e.Headers
			if e.Sent != nil {
				fields = e.Sent
			}
			for _, f := range fields {
				c.headers[f.Name] = append(c.headers[f.Name], f.Value)
			}
			out = append(out, c)
			byStream[e.Stream] = c
		case session.KindCancel:
			if c := byStream[e.Stream]; c != nil && e.Side == session.Client {
				c.left = true
			}
		case session.KindMessage:
			c := byStream[e.Stream]
			if c == nil {
				t.Errorf("entry %d: message of stream %d, which was never opened", e.Seq, e.Stream)
				continue
			}
			c.sent[e.Side] = append(c.sent[e.Side], messageOf(e, l))
			nonce := fmt.Sprint(e.Stream, l.TypeURL, l.Nonce)
			if e.Side == session.Server {
				nonces[nonce] = true
			} else if l.Nonce != "" && !nonces[nonce] {
				t.Errorf("entry %d answers nonce %q before it was recorded", e.Seq, l.Nonce)
			}
			if e.Side == session.Client && l.Error.Message != "" && l.What != "NACK" {
				t.Errorf("entry %d carries an error and is called %q", e.Seq, l.What)
			}
		}
	}
	return keyed(out)
}

func messageOf(e *session.Entry, l *line) message {
	names, removed := l.Names, l.Removed
	switch {
	case strings.HasPrefix(l.Variant, "delta") && e.Side == session.Client:
		names = l.Added
	case e.Side == session.Server:
		names = nil
	}
	if e.Side == session.Client && !strings.HasPrefix(l.Variant, "delta") {
		removed = nil
	}
	return message{
		l.TypeURL, l.Version, l.Nonce, fmt.Sprint(names), fmt.Sprint(removed), l.Error.Code, l.Error.Message,
		int(l.Size), sha256.Sum256(bytes.Join(e.Message.Data, nil)),
	}
}
