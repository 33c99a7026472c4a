package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Schema names the machine-readable forms. Members are added to them, never
// changed or removed.
const Schema = "xdsproxy/v1"

// Object is an entry in its machine-readable form. The order of the fields is
// the order of the members; empty members are left out.
type Object struct {
	Schema   string   `json:"schema"`
	Proxy    string   `json:"proxy,omitempty"` // and Source: of a fleet
	Source   string   `json:"source,omitempty"`
	Seq      uint64   `json:"seq"`
	Time     string   `json:"time"`
	Conn     uint64   `json:"conn,omitempty"`
	Stream   uint64   `json:"stream,omitempty"`
	H2Stream uint32   `json:"h2_stream,omitempty"`
	Client   string   `json:"client,omitempty"`
	Side     string   `json:"side,omitempty"`
	Kind     string   `json:"kind"`
	Method   string   `json:"method,omitempty"`
	Variant  string   `json:"variant,omitempty"`
	Type     string   `json:"type,omitempty"`
	TypeURL  string   `json:"type_url,omitempty"`
	What     string   `json:"what,omitempty"`
	Also     []string `json:"also,omitempty"`
	Version  string   `json:"version,omitempty"`
	Nonce    string   `json:"nonce,omitempty"`
	// Names are the resources of a response, and what a state-of-the-world
	// request asks for.
	Names []string `json:"names,omitempty"`
	// Added and Removed are what a request changes in what its sender asks
	// for; Removed of a DELTA are the resources that it removes. Of a file they are
	// what is in it since the last time, and not any more, and Changed what has
	// another content.
	Added     []string `json:"added,omitempty"`
	Removed   []string `json:"removed,omitempty"`
	Changed   []string `json:"changed,omitempty"`
	Error     *Error   `json:"error,omitempty"`
	Size      int64    `json:"size,omitempty"`
	WireSize  int64    `json:"wire_size,omitempty"`
	Masked    bool     `json:"masked,omitempty"`
	Truncated bool     `json:"truncated,omitempty"`
	Problems  []string `json:"problems,omitempty"`
	// Findings are what rules proved with the entry.
	Findings []Finding `json:"findings,omitempty"`

	Encoding string  `json:"encoding,omitempty"`
	Peer     *Peer   `json:"peer,omitempty"`
	Headers  []Field `json:"headers,omitempty"`
	// Sent are the header fields that the server got, if the proxy changed them.
	Sent   []Field `json:"sent,omitempty"`
	Status *Status `json:"status,omitempty"`
	GoAway *GoAway `json:"goaway,omitempty"`
	Gap    *Gap    `json:"gap,omitempty"`
	Note   *Note   `json:"note,omitempty"`
	Held   *Held   `json:"held,omitempty"`
	File   *File   `json:"file,omitempty"`

	// Marked and Remark are what a person left beside the entry, outside of the
	// recording.
	Marked bool   `json:"marked,omitempty"`
	Remark string `json:"remark,omitempty"`
}

// The members that are objects.
type (
	// Error is why a client rejects a response.
	Error struct {
		Code    int32  `json:"code"`
		Message string `json:"message"`
	}
	// Peer is where a connection came from and went.
	Peer struct {
		Client   string `json:"client,omitempty"`
		Listen   string `json:"listen,omitempty"`
		Upstream string `json:"upstream,omitempty"`
		Local    string `json:"local,omitempty"`
		TLS      *TLS   `json:"tls,omitempty"`
	}
	// TLS is how each leg is encrypted, and who is at its far end.
	TLS struct {
		Client *TLSLeg `json:"client,omitempty"` // nil: plaintext
		Server *TLSLeg `json:"server,omitempty"`
	}
	// TLSLeg is what the handshake of a leg agreed on.
	TLSLeg struct {
		Version    string   `json:"version,omitempty"`
		Cipher     string   `json:"cipher,omitempty"`
		ALPN       string   `json:"alpn,omitempty"`
		ServerName string   `json:"server_name,omitempty"`
		Identities []string `json:"identities,omitempty"`
		Issuer     string   `json:"issuer,omitempty"`
		NotAfter   string   `json:"not_after,omitempty"`
		Verified   bool     `json:"verified"`
		Resumed    bool     `json:"resumed,omitempty"`
	}
	// Field is one header field.
	Field struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	// Status is how a stream or a connection ended: Code is of gRPC, Reset of
	// HTTP/2.
	Status struct {
		Code    *int32 `json:"code,omitempty"`
		Name    string `json:"name,omitempty"`
		Message string `json:"message,omitempty"`
		Reset   string `json:"reset,omitempty"`
		HTTP    int    `json:"http,omitempty"`
	}
	// GoAway is the announcement that a connection will end.
	GoAway struct {
		LastStream uint32 `json:"last_stream"`
		Code       string `json:"code"`
		Debug      string `json:"debug,omitempty"`
	}
	// Gap is what was not recorded.
	Gap struct {
		First   uint64   `json:"first"`
		Last    uint64   `json:"last"`
		Entries uint64   `json:"entries"`
		Bytes   int64    `json:"bytes"`
		Streams []uint64 `json:"streams,omitempty"`
		Cut     bool     `json:"cut,omitempty"` // left out on purpose
	}
	// Held is who was asked what it holds, and what of that is worth a word.
	Held struct {
		Node    string `json:"node,omitempty"`
		Source  string `json:"source"`
		Address string `json:"address,omitempty"`
		Whole   bool   `json:"whole"`
		Failed  string `json:"failed,omitempty"`
		// InUse is how many resources of each type are in use, and Resources those
		// that are not, and all that changed if this is not the whole.
		InUse     map[string]int `json:"in_use,omitempty"`
		Resources []HeldItem     `json:"resources,omitempty"`
		// Loads are what the client made of files that changed.
		Loads []HeldLoad `json:"loads,omitempty"`
	}
	// Note is something to know about the recording.
	Note struct {
		Code string `json:"code"`
		Text string `json:"text"`
		Hint string `json:"hint,omitempty"`
		// About is the entry that a person's note is about.
		About uint64 `json:"about,omitempty"`
	}
)

// Repeats stands for entries that only repeat others.
type Repeats struct {
	Schema string `json:"schema"`
	Of     uint64 `json:"repeats"` // the entry that they repeat
	Rounds uint64 `json:"rounds"`  // how many times until now
	Last   uint64 `json:"last"`    // the newest of them
	Polls  bool   `json:"polls,omitempty"`
}

// NewObject puts together what was seen and what it means. Header fields are
// left to show: a line of watch has room for none.
func NewObject(e *session.Entry, c *check.Change) *Object {
	o := &Object{
		Schema: Schema, Seq: uint64(e.Seq), Time: Timestamp(e.Time),
		Conn: uint64(e.Conn), Stream: uint64(e.Stream), H2Stream: e.H2,
		Client: c.Client, Side: sideWord(e.Side), Kind: e.Kind.String(),
		Method: c.Method.Path, Variant: string(c.Variant), Type: c.Type,
		What: c.What, Also: c.Also, Added: c.Added, Removed: c.Removed,
		Problems: e.Problems,
	}
	for i := range c.Findings {
		o.Findings = append(o.Findings, NewFinding(&c.Findings[i]))
	}
	if o.Method == "" {
		o.Method = e.Method
	}
	if m := e.Message; m != nil {
		o.Size, o.WireSize, o.Encoding = m.Size, m.WireSize, m.Encoding
		o.Masked, o.Truncated = m.Masked, m.Truncated
	}
	if m := c.Message; m != nil {
		o.TypeURL, o.Version, o.Nonce = m.TypeURL, m.Version, m.Nonce
		o.Names = c.Names()
		if m.Kind == decode.SotwRequest && len(c.Added) == len(m.Names) && len(c.Removed) == 0 {
			o.Added = nil // there was no request before: names says it all
		}
		if m.Error != nil {
			o.Error = &Error{m.Error.Code, m.Error.Message}
		}
		if len(m.Problems) > 0 {
			o.Problems = append(o.Problems[:len(o.Problems):len(o.Problems)], m.Problems...)
		}
	}
	o.addEvent(e)
	o.addLoads(c)
	if c.Variant == xds.VariantFile {
		o.addFile(e, c)
	}
	return o
}

// addEvent adds what entries other than messages say.
func (o *Object) addEvent(e *session.Entry) {
	if p := e.Peer; p != nil {
		o.Peer = &Peer{p.Client, p.Listen, p.Upstream, p.Local, newTLS(p)}
	}
	if s := e.Status; s != nil {
		o.Status = &Status{Message: s.Message, HTTP: s.HTTP}
		if s.Code >= 0 {
			o.Status.Code, o.Status.Name = &s.Code, GRPCCode(s.Code)
		}
		if s.WasReset {
			o.Status.Reset = HTTP2Code(s.Reset)
		}
	}
	if g := e.GoAway; g != nil {
		o.GoAway = &GoAway{g.LastStream, HTTP2Code(g.Code), g.Debug}
	}
	if g := e.Gap; g != nil {
		o.Gap = &Gap{First: uint64(g.First), Last: uint64(g.Last), Entries: g.Entries, Bytes: g.Bytes, Cut: g.Cause.Chosen()}
		for _, s := range g.Streams {
			o.Gap.Streams = append(o.Gap.Streams, uint64(s))
		}
	}
	if e.Held != nil {
		o.Held = newHeld(e)
	}
	if n := e.Note; n != nil {
		o.Note = &Note{string(n.Code), n.Text, n.Hint, uint64(n.About)}
	}
}

// AddHeaders adds the header fields of an entry, in the order sent, and those
// that it went on with if they are others.
func (o *Object) AddHeaders(e *session.Entry) {
	for _, h := range e.Headers {
		o.Headers = append(o.Headers, Field{h.Name, h.Value})
	}
	for _, h := range e.Sent {
		o.Sent = append(o.Sent, Field{h.Name, h.Value})
	}
}

// AddProblems adds what decoding the message in full met, unless it was said.
func (o *Object) AddProblems(problems []string) {
	for _, p := range problems {
		said := func(q string) bool { return strings.HasSuffix(q, p) || strings.HasSuffix(p, q) }
		if !slices.ContainsFunc(o.Problems, said) {
			o.Problems = append(o.Problems[:len(o.Problems):len(o.Problems)], p)
		}
	}
}

// Line is the object as one line of JSON.
func (o *Object) Line() ([]byte, error) { return marshalJSON(o, "") }

// WriteJSON writes a value as an indented document.
func WriteJSON(w io.Writer, v any) error {
	text, err := marshalJSON(v, "  ")
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// JSONLine writes a value as one line of JSON.
func JSONLine(v any) ([]byte, error) { return marshalJSON(v, "") }

// marshalJSON writes JSON without any character that a terminal could take for
// a command: those are \u escapes, which mean the same. It ends with a newline.
func marshalJSON(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("cannot write JSON: %w", err)
	}
	return EscapeJSON(b.Bytes()), nil
}

// EscapeJSON replaces what is not printable in a valid JSON text by \u escapes;
// white space between the tokens stays. Outside ASCII such characters can only
// stand in strings, where the escape means the same.
func EscapeJSON(text []byte) []byte {
	harmless := func(r rune) bool { return r < utf8.RuneSelf && r != 0x7f || printable(r) }
	if bytes.IndexFunc(text, func(r rune) bool { return !harmless(r) }) < 0 {
		return text
	}
	var out []byte
	for _, r := range string(text) {
		switch {
		case harmless(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// Timestamp is a time in the machine-readable forms: RFC 3339 in UTC, always
// with nine decimals, so that texts sort as times do. It is "" for none.
func Timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000000Z07:00")
}

func sideWord(s session.Side) string {
	if s == session.SideUnknown {
		return ""
	}
	return s.String()
}
