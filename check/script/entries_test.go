package script

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// outline is a session in few words a line.
func outline(s *Script) string {
	var b strings.Builder
	methods := map[session.StreamID]decode.Method{}
	content := map[session.StreamID]string{}
	for e := range s.Entries() {
		fmt.Fprintf(&b, "%d %v c%d s%d", e.Seq, e.Time.Sub(start).Round(time.Millisecond), e.Conn, e.Stream)
		if e.H2 != 0 {
			fmt.Fprintf(&b, "/%d", e.H2)
		}
		fmt.Fprintf(&b, " %v %v", e.Side, e.Kind)
		switch {
		case e.Peer != nil:
			fmt.Fprintf(&b, " %s", e.Peer.Client)
		case e.Kind == session.KindOpen:
			methods[e.Stream] = decode.LookupMethod(e.Method)
			fmt.Fprintf(&b, " %s", e.Method)
		case e.Status != nil:
			fmt.Fprintf(&b, " %+v", *e.Status)
		case e.GoAway != nil:
			fmt.Fprintf(&b, " %+v", *e.GoAway)
		case e.Message != nil:
			m := decode.Peek(methods[e.Stream], e.Side, content[e.Stream], e.Message.Data.Bytes())
			fmt.Fprintf(&b, " %s v=%q %d bytes", m.Kind, m.Version, e.Message.Size)
		}
		for _, h := range e.Headers {
			switch h.Name {
			case ":status", "grpc-status", "grpc-message", ":event", ":from":
				fmt.Fprintf(&b, " %s=%s", h.Name, h.Value)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func parseText(t testing.TB, text string) *Script {
	t.Helper()
	s, err := Parse("test.xds", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
