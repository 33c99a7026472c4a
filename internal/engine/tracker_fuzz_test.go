package engine

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// Whatever the entries are, nothing panics, every message has a word, and
// nothing is left when all connections are gone.
func FuzzStep(f *testing.F) {
	seed := func(lines ...string) {
		var data []byte
		for _, l := range lines {
			side, body := encode(f, l)
			data = append(data, byte(session.KindMessage), byte(side), 1, byte(len(l)), byte(len(body)))
			data = append(data, body...)
		}
		f.Add(append([]byte{byte(session.KindOpen), byte(session.Client), 0, 1, 0}, data...))
	}
	seed("C> type=EDS V= N= R=[e1] node=n1", "S< type=EDS V=1 N=a res=[e1,e2]", "C> type=EDS V=1 N=a R=[e1,e2] err=x")
	seed("C> type=CDS V= N= R=[] node=n1", "S< type=CDS V=1 N=a res=[c1,c2]", "C> type=CDS V=1 N=a R=[]", "S< type=CDS V=1 N=a res=[]")
	// Load reports, and the status of a client.
	var data []byte
	for _, e := range []struct {
		kind   session.Kind
		side   session.Side
		stream byte
		body   string
	}{
		{session.KindOpen, session.Client, 7, ""},
		{session.KindMessage, session.Client, 7, lenField(1, lenField(1, "n1"))},
		{session.KindMessage, session.Server, 7, lenField(1, "c1") + lenField(2, "\x08\x05")},
		{session.KindMessage, session.Client, 7, lenField(2, lenField(1, "c2"))},
		{session.KindOpen, session.Client, 8, ""},
		{session.KindMessage, session.Server, 8, lenField(1, lenField(1, lenField(1, "n1"))+lenField(3, lenField(1, typeURLs["EDS"])+lenField(2, "e1")+"\x38\x04"))},
	} {
		data = append(append(data, byte(e.kind), byte(e.side), e.stream, 200, byte(len(e.body))), e.body...)
	}
	f.Add(data)
	var late []byte
	for _, when := range []byte{255, 253, 254, 255, 253} {
		_, body := encode(f, "C> type=EDS V= N= R=[e1] node=n1")
		late = append(append(late, byte(session.KindMessage), byte(session.Client), 1, when, byte(len(body))), body...)
	}
	f.Add(late)
	f.Fuzz(func(t *testing.T, data []byte) {
		k := New(Options{})
		paths := []string{
			adsMethod, deltaMethod, "", "/v3/discovery:clusters", "/x/y", "/discovery:x", "file:eds.yaml",
			"/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats",
			"/envoy.service.status.v3.ClientStatusDiscoveryService/StreamClientStatus",
		}
		now := time.Unix(0, 0)
		for seq := session.Seq(1); len(data) >= 5; seq++ {
			now = now.Add(time.Duration(data[3]) * 100 * time.Millisecond)
			at := now
			switch data[3] { // times come from outside
			case 253:
				now = now.Add(9 * 365 * 24 * time.Hour)
				at = now
			case 254:
				at = time.Unix(0, math.MinInt64)
			case 255:
				at = time.Unix(0, math.MaxInt64)
			}
			e := session.Entry{
				Seq: seq, Time: at, Kind: session.Kind(data[0] % 14), Side: session.Side(data[1] % 4), Carried: data[1]&0x30 == 0x30,
				Conn: session.ConnID(data[1] >> 6), Stream: session.StreamID(data[2] % 5), Method: paths[int(data[2])%len(paths)],
			}
			n := min(int(data[4]), len(data)-5)
			body := data[5 : 5+n]
			data = data[5+n:]
			switch e.Kind {
			case session.KindMessage:
				e.Message = &session.Message{Data: session.Chunks{body}, Size: int64(len(body)), Compressed: e.Side == session.Proxy}
			case session.KindGap:
				e.Gap = &session.Gap{Streams: []session.StreamID{e.Stream}}
			case session.KindTrailer, session.KindCancel:
				e.Status = &session.Status{Code: int32(n)}
			}
			c := k.Step(&e)
			if e.Message != nil && (e.Side == session.Client || e.Side == session.Server) && c.What == "" {
				t.Errorf("no word for message %d", seq)
			}
			for _, s := range k.Status() {
				if k.Tree(s.Client) == nil {
					t.Errorf("no tree for client %q", s.Client)
				}
			}
		}
		for id := range session.ConnID(4) {
			k.Step(&session.Entry{Kind: session.KindDisconnect, Conn: id})
		}
		k.settle()
		if len(k.Streams) != 0 || len(k.late) != 0 || len(k.conns) != 0 || len(k.polls) == 0 && k.lists.bytes != 0 {
			t.Errorf("%d streams, %d late ones, %d connections, %d bytes of names left", len(k.Streams), len(k.late), len(k.conns), k.lists.bytes)
		}
	})
}

func BenchmarkStep(b *testing.B) {
	names := make([]string, 20_000)
	for i := range names {
		names[i] = fmt.Sprintf("outbound|80||service-%05d", i)
	}
	s := newScript(b)
	s.line("C> type=EDS V= N= R=[" + strings.Join(names, ",") + "] node=n1")
	_, data := encode(b, "C> type=EDS V=1 N=a R=["+strings.Join(names, ",")+"]")
	e := message(1, session.Client, data)
	e.Conn, e.Seq = 1, 3
	b.ReportAllocs()
	for b.Loop() {
		s.tracker.Step(&e)
	}
}
