package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
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
	broken  bool // in a recording: one of the ends broke the stream off
	headers map[string][]string
	sent    map[session.Side][]message
}

// asked is what the client asked for first; "" if it is not known to have asked.
func (c *conversation) asked() string {
	if asked := c.sent[session.Client]; len(asked) > 0 {
		return asked[0].TypeURL + " " + asked[0].Names
	}
	return ""
}

// pair finds for each conversation that the server saw the one of the recording;
// alone are those of the recording that are left over. Both come in order.
//
// Streams of one connection that are opened at the same time may begin in
// another order in the server, so what the client asked for first tells them
// apart. A server that goes away may have read nothing of a stream, or may never
// have seen it: those take what is left.
func pair(seen, recorded []*conversation) (pairs map[*conversation]*conversation, alone []*conversation) {
	pairs, alone = map[*conversation]*conversation{}, slices.Clone(recorded)
	for _, alike := range []func(a, b *conversation) bool{
		func(a, b *conversation) bool { return a.asked() != "" && a.asked() == b.asked() },
		func(*conversation, *conversation) bool { return true },
	} {
		for _, c := range seen {
			if pairs[c] != nil {
				continue
			}
			i := slices.IndexFunc(alone, func(r *conversation) bool {
				return r.local == c.local && r.method == c.method && alike(r, c)
			})
			if i >= 0 {
				pairs[c] = alone[i]
				alone = slices.Delete(alone, i, i+1)
			}
		}
	}
	return pairs, alone
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
	pairs, alone := pair(seen, recorded)
	for _, want := range seen {
		got := pairs[want]
		if got == nil {
			t.Errorf("a stream from %s (%s) with %d responses is not in the recording", want.local, want.method, len(want.sent[session.Server]))
			continue
		}
		compareConversation(t, want, got)
	}
	for _, c := range alone {
		// A client may have spoken to a listener that was closing.
		if n := len(c.sent[session.Server]); n > 0 {
			t.Errorf("a stream from %s (%s) is in the recording with %d responses, and the control plane never saw it", c.local, c.method, n)
		}
	}
}

func compareConversation(t *testing.T, want, got *conversation) {
	t.Helper()
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
			case i >= len(a) && side == session.Client && got.broken:
				return // a server need not read the last words of a client that has left, or that it leaves itself
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

func conversationsSeen(account *xdstest.Account) []*conversation {
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
	return out
}

// conversationsOf reads a recording twice over: the bytes from its entries,
// what they mean from the lines that scripts see. On the way it requires what
// holds of every recording.
func conversationsOf(t *testing.T, entries []session.Entry, lines []line) []*conversation {
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
			if c := byStream[e.Stream]; c != nil && e.Side != session.Proxy {
				c.broken = true
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
	return out
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
