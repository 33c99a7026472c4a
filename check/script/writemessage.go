package script

import (
	"slices"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// largeMessage is from where on the size of a message is written.
const largeMessage = 1 << 20

// message writes a message.
func (w *writer) message(e *session.Entry) {
	st := w.streams[e.Stream]
	if st == nil {
		if st = w.join(e); st == nil {
			w.lost[lostOther]++
			return
		}
	}
	if !e.Message.Whole() {
		w.lost[lostWhole]++
		if e.Message.Unread() != "" {
			return
		}
	}
	data := e.Message.Data.Bytes()
	switch st.shape {
	case rest:
		w.pollMessage(st, e)
		return
	case file:
		w.fileEvent(st, st.answer, w.responseText(st, e, data, nil))
		return
	case load:
		w.load(st, e, data)
		return
	case client:
		w.clientStatus(st, e, data)
		return
	}
	m := w.peek(st, e, data)
	switch m.Kind {
	case decode.SotwRequest:
		w.on(st, e.Time, "C> "+w.requestText(st, e, data, &m)+w.sizeText(e))
	case decode.DeltaRequest:
		w.on(st, e.Time, "D> "+w.deltaRequestText(st, e, data, &m)+w.sizeText(e))
	case decode.SotwResponse:
		w.on(st, e.Time, "S< "+w.responseText(st, e, data, &m)+w.sizeText(e))
	case decode.DeltaResponse:
		w.on(st, e.Time, "d< "+w.deltaResponseText(st, e, data, &m)+w.sizeText(e))
	default:
		w.lost[lostOther]++
	}
}

func (w *writer) peek(st *written, e *session.Entry, data []byte) decode.Message {
	content := st.content[0]
	if e.Side == session.Server {
		content = st.content[1]
	}
	return decode.Peek(st.method, e.Side, content, data)
}

// sizeText is size= of a large message.
func (w *writer) sizeText(e *session.Entry) string {
	size := e.Message.Size
	if size < largeMessage {
		return ""
	}
	if size > maxMessage || w.bytes+size > maxBytes {
		w.lost[lostSize]++
		return ""
	}
	w.bytes += size
	return " size=" + strconv.FormatInt(size, 10)
}

// errorsText is errs=.
func (w *writer) errorsText(list []decode.ResourceError) string {
	if len(list) == 0 {
		return ""
	}
	var parts []string
	for _, e := range list {
		code := strconv.Itoa(int(e.Code))
		if e.Code >= 0 && int(e.Code) < len(codes) {
			code = codes[e.Code]
		}
		t := w.keyedText(e.Name) + ":" + code
		if e.Message != "" {
			t += "=" + quote(e.Message)
		}
		parts = append(parts, t)
	}
	return " errs=[" + strings.Join(parts, ",") + "]"
}

// responseText is a DiscoveryResponse, without the kind of the line.
func (w *writer) responseText(st *written, e *session.Entry, data []byte, m *decode.Message) string {
	if m == nil {
		peeked := w.peek(st, e, data)
		m = &peeked
	}
	r := synth.Response{
		TypeURL: m.TypeURL, Version: m.Version, Nonce: m.Nonce, Errors: m.ResourceErrors, ControlPlane: m.ControlPlane,
		V2: st.method.V2,
	}
	res, alias := w.resourcesText(st, e, data, m, &r.Resources)
	w.compare(e, m, data, r.Marshal, lostReplies)
	out := "type=" + w.typeText(m.TypeURL) + " V=" + w.value(m.Version) + " N=" + w.value(m.Nonce) + res + alias + w.errorsText(m.ResourceErrors)
	return out + w.optional("cp", m.ControlPlane)
}

func (w *writer) deltaResponseText(st *written, e *session.Entry, data []byte, m *decode.Message) string {
	r := synth.DeltaResponse{
		TypeURL: m.TypeURL, Version: m.Version, Nonce: m.Nonce, Removed: m.Removed, Errors: m.ResourceErrors, ControlPlane: m.ControlPlane,
	}
	res, alias := w.resourcesText(st, e, data, m, &r.Resources)
	w.compare(e, m, data, r.Marshal, lostReplies)
	out := "type=" + w.typeText(m.TypeURL) + " N=" + w.value(m.Nonce) + w.optional("sys", m.Version)
	if len(m.Resources) > 0 || len(m.Removed) == 0 {
		out += res + alias
	}
	if len(m.Removed) > 0 {
		out += " rm=" + w.list("[", m.Removed)
	}
	return out + w.errorsText(m.ResourceErrors) + w.optional("cp", m.ControlPlane)
}

// compare counts a message that says more than what was written of it: of a
// response, beside its resources. Of responses in JSON it does not know.
func (w *writer) compare(e *session.Entry, m *decode.Message, data []byte, made func() []byte, more loss) {
	if len(m.Problems) > 0 {
		w.lost[lostUnread]++
	}
	response := more == lostReplies
	if e.Message.Size >= largeMessage || e.Message.Truncated || response && isJSON(data) {
		return
	}
	ours := made()
	if response {
		data, ours = frame(m.Kind, data), frame(m.Kind, ours)
	}
	if !w.contents.same(xds.PackageV3+m.Kind.String(), data, ours, e.Message.Masked) {
		w.lost[more]++
	}
}

func isJSON(data []byte) bool { return len(data) > 0 && data[0] == '{' }

// resourcesText is res= and alias=. It puts the descriptions of the resources
// into list, unless the message is too large to be made again.
func (w *writer) resourcesText(st *written, e *session.Entry, data []byte, m *decode.Message, list *[]synth.Resource) (res, alias string) {
	delta := m.Kind == decode.DeltaResponse
	var unnamed []bool
	if !isJSON(data) {
		unnamed = nameless(m.Kind, data)
	}
	common := len(m.Resources) > 0 && len(m.Resources[0].Aliases) > 0
	for i := range m.Resources {
		common = common && slices.Equal(m.Resources[i].Aliases, m.Resources[0].Aliases)
	}
	expected := m.TypeURL
	if expected == "" {
		expected = st.method.TypeURL()
	}
	one := resourceWriter{w: w, delta: delta, masked: e.Message.Masked, grpc: st.grpc, expected: expected, aliases: !common}
	one.b.WriteString(" res=[")
	for i := range m.Resources {
		one.r = &m.Resources[i]
		one.nameless = i < len(unnamed) && unnamed[i] && one.r.Wrapped
		if i > 0 {
			one.b.WriteByte(',')
		}
		one.write()
		if e.Message.Size < largeMessage {
			*list = append(*list, one.out)
		}
	}
	one.b.WriteByte(']')
	if common {
		alias = " alias=" + w.list("[", m.Resources[0].Aliases)
	}
	return one.b.String(), alias
}
