package script

import (
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/session"
)

// openMany reads "-- stream-open": streams that the server ends at once, each on
// a connection of its own. With type= each asks for something first.
func (p *player) openMany(l *line) (action, error) {
	f := l.fields(append([]string{"gap", "code", "msg", "method", "peer", "type", "R"}, nodeWords...)...)
	gap, code, msg := f.duration("gap"), f.code("code"), f.text("msg")
	model := stream{shape: sotw}
	if f.has("peer") {
		from := f.text("peer")
		model.from = &from
	}
	var q *synth.Request
	n := f.node()
	if n != nil {
		model.node = n.ID
	}
	if w := f.get("method"); w != nil {
		f.fail(model.setMethod(l, w.value))
		if model.shape == rest {
			f.fail(l.fail(w.value.from, "polls are no streams of gRPC"))
		}
	}
	if f.has("type") {
		q = &synth.Request{TypeURL: f.typeURL("type"), Names: f.names("R"), Node: n}
		if model.shape != sotw {
			f.fail(l.fail(f.get("type").off, "streams that ask for something are those of C> and S<"))
		}
	}
	if gap > maxWait {
		f.fail(l.fail(f.get("gap").off, "the gap is more than a year"))
	}
	first := true
	return func() error {
		if !first {
			p.now += int64(gap)
		}
		first = false
		s := model
		p.openGRPC(&s)
		if q != nil {
			p.add(s.on(session.Client, session.KindMessage), q.Marshal)
		}
		p.add(s.trailer(code, msg, 200), nil)
		return nil
	}, f.done(1)
}

// percentEncode is the encoding of grpc-message.
func percentEncode(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)|0x100, 16)[1:]))
		}
	}
	return b.String()
}
