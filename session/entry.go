// Package session is the vocabulary that every other package speaks: what was
// seen on a connection between an xDS client and a management server.
//
// It holds plain values. It performs no I/O, starts no goroutine, reads no
// clock and knows nothing of xDS itself: what a message means is the business
// of packages decode and check.
package session

import "time"

// Seq numbers the entries of a session from 1, without holes. An entry that
// had to be dropped keeps its number, so that a hole is always explained by a
// later Gap entry.
type Seq uint64

// ConnID numbers the connections of a session from 1.
type ConnID uint64

// StreamID numbers the streams of a session from 1, across all connections. It
// is not the HTTP/2 stream id, which is unique in one connection only.
type StreamID uint64

// Entry is one thing that was seen. There is one entry for each message, never
// one for a whole stream, because a discovery stream lives for days.
//
// Which of the pointer fields are set follows from Kind. An Entry is a value;
// what its pointers and slices refer to is immutable once it was appended to a
// log, with one exception: the log's Transform may replace the Message, the
// Headers, what was Sent, the Status, the GoAway and the Held before anyone else
// has seen them.
type Entry struct {
	Seq Seq
	// Time is when the last byte of it had been read from its sender. It
	// never decreases within a session.
	Time time.Time
	// Start is when its first byte had been read, or zero if that was Time.
	Start time.Time

	Conn   ConnID   // 0: of the session as a whole
	Stream StreamID // 0: of the connection as a whole
	H2     uint32   // HTTP/2 stream id; 0 for HTTP/1.1 and for whole connections
	Side   Side     // who sent or caused it
	Kind   Kind

	Peer    *Peer    // Connect
	Method  string   // Open: the :path, such as "/envoy.service.…/StreamAggregatedResources"
	Headers []Field  // Open, Header, Trailer: in the order sent, pseudo-headers included
	Sent    []Field  // Open: what the server got instead, where the proxy rewrites headers; nil: the same
	Status  *Status  // Trailer, Cancel, Disconnect
	Message *Message // Message
	GoAway  *GoAway  // GoAway
	Gap     *Gap     // Gap
	Note    *Note    // Note

	// Carried says that the entry is there only so that others can be
	// understood: it is repeated from an earlier segment of the recording, or
	// was kept in a part of one beside what was chosen.
	Carried bool

	// Problems says in words what could not be done with this entry, such as
	// "cannot decompress: unknown grpc-encoding \"br\"".
	Problems []string

	// Held stands last, since the values of recorder/testdata/version1.xdsp, which
	// is kept for ever, follow the order of the fields.
	Held *Held // Held, whose Message is the answer
}

// Kind says what an entry records.
type Kind uint8

// The kinds follow gRPC's binary log (grpc.binarylog.v1), extended by what
// happens to connections and to the log itself.
const (
	KindUnknown    Kind = iota
	KindConnect         // a connection was accepted; Peer
	KindOpen            // the request headers of a stream; Method, Headers
	KindHeader          // the response headers, early (1xx) ones included; Headers
	KindMessage         // one message; Message
	KindHalfClose       // the client will send no more on the stream
	KindTrailer         // the regular end of a stream, by the server; Headers, Status
	KindCancel          // the irregular end of a stream; Status, and Side for who ended it
	KindGoAway          // GOAWAY of HTTP/2; GoAway
	KindDisconnect      // a connection is over; Status.Message, and Side for who ended it
	KindGap             // entries that the log had to drop; Gap
	KindNote            // something to know about the recording itself; Note
	KindTime            // "the time is at least this", written while nothing else happens
	KindHeld            // what a client says that it holds, outside of its streams; Held, Message
	kindEnd
)

var kindNames = [...]string{
	KindUnknown: "unknown", KindConnect: "connect", KindOpen: "open", KindHeader: "header",
	KindMessage: "message", KindHalfClose: "half-close", KindTrailer: "trailer", KindCancel: "cancel",
	KindGoAway: "goaway", KindDisconnect: "disconnect", KindGap: "gap", KindNote: "note", KindTime: "time",
	KindHeld: "held",
}

// String is the word that the machine-readable forms use.
func (k Kind) String() string {
	if k < kindEnd {
		return kindNames[k]
	}
	return kindNames[KindUnknown]
}

// Side names an end of a connection, or the proxy in between.
type Side uint8

// Client is the xDS client (downstream), Server the management server
// (upstream).
const (
	SideUnknown Side = iota
	Client
	Server
	Proxy
)

// String is the word that the machine-readable forms use.
func (s Side) String() string {
	switch s {
	case Client:
		return "client"
	case Server:
		return "server"
	case Proxy:
		return "proxy"
	}
	return "unknown"
}

// Opposite is the other end of the connection. The proxy has none.
func (s Side) Opposite() Side {
	switch s {
	case Client:
		return Server
	case Server:
		return Client
	}
	return s
}

// Peer is where a connection came from and where it went.
type Peer struct {
	Client   string // address of the client, as accepted
	Listen   string // our address that it connected to
	Upstream string // address that was dialled for it
	Local    string // our own address on the upstream leg, which the server sees; empty if the dial failed

	ClientTLS, ServerTLS *TLS // of the leg to the client, and of that to the server; nil: plaintext
}

// TLS is what the handshake of one leg agreed on, and who the other end showed
// itself to be.
type TLS struct {
	Version    string // "1.2" or "1.3"
	Cipher     string // as IANA names it
	ALPN       string // the protocol that was agreed on; "" if none
	ServerName string // that the client of the leg asked for; "" if none
	// Identities are of the other end's certificate, those that workloads are
	// known by first: URIs (SPIFFE), DNS names, addresses, the common name if
	// there is nothing else. Nil if it showed none.
	Identities []string
	// Issuer is who signed that certificate, NotAfter until when it holds.
	Issuer   string
	NotAfter time.Time
	// Verified says that it leads to a root that was given.
	Verified bool
	Resumed  bool
}

// Field is one header field. Values of "-bin" fields are as they were sent.
type Field struct {
	Name, Value string
	// Secret says that the value is a credential whatever its name is: it came
	// from a file that the proxy was given. It is masked; that it was is not
	// recorded.
	Secret bool
}

// Get returns the value of the first field called name, or "".
func Get(fields []Field, name string) string {
	for i := range fields {
		if fields[i].Name == name {
			return fields[i].Value
		}
	}
	return ""
}

// Status is how a stream or a connection ended.
type Status struct {
	// Code is the gRPC status code of a trailer, or -1 where there is none:
	// for a stream that was reset, and for plain HTTP.
	Code int32
	// Message is the grpc-message, percent-decoded, or the reason in words.
	Message string
	// Reset is the HTTP/2 error code of RST_STREAM; meaningful if WasReset.
	Reset    uint32
	WasReset bool
	// HTTP is the :status, where it is known.
	HTTP int
}

// GoAway is what a GOAWAY frame said.
type GoAway struct {
	LastStream uint32
	Code       uint32
	Debug      string // at most the first 4 KiB
}

// Gap stands for entries that are not there: they were dropped because the log
// could not keep up, or left out of a part of a recording.
type Gap struct {
	First, Last Seq
	Entries     uint64
	Bytes       int64      // of message payload
	Streams     []StreamID // the streams touched, without repetition; at most 1,024
	Cause       GapCause
}

// GapCause says why entries are missing.
type GapCause uint8

// The causes. What was Cut was left out on purpose, but what one needs to
// understand the entries after it is there. Of what was CutBare nothing is.
const (
	Lost GapCause = iota
	Cut
	CutBare
)

// Chosen says that the entries were left out on purpose, so that nothing is
// wrong with the recording.
func (c GapCause) Chosen() bool { return c != Lost }

// Held is who was asked what it holds. The Message of the entry is the answer, an
// envoy.service.status.v3.ClientStatusResponse of one client, from wherever it came.
type Held struct {
	Node    string // id of the node that it is about; "" if the client does not say
	Source  string // HeldAdmin or HeldCSDS
	Address string // that was asked
	// Whole says that it is everything that the client holds; else it is what changed
	// since the entry before it of this source and address.
	Whole bool
	// Failed is why nothing could be read, in one sentence. Then there is no Message.
	Failed string
}

// Where clients are asked what they hold: at the admin interface of an Envoy, and by
// the client status discovery service.
const (
	HeldAdmin = "envoy-admin"
	HeldCSDS  = "csds"
)

// Note is something to know about the recording itself.
type Note struct {
	Code NoteCode
	Text string // one sentence
	Hint string // what a person may do about it, or ""
	// About is the entry that it is about, 0 if that is none in particular.
	About Seq
}

// NoteCode is the stable name of a kind of note.
type NoteCode string

// The notes that are written today: by the proxy, and by people who look at it.
const (
	NoteHeadersLost   NoteCode = "headers-lost"  // HPACK broke: no more headers of this side
	NoteMidway        NoteCode = "midway"        // a capture of packets begins in the middle of the connection
	NoteBlind         NoteCode = "blind"         // not HTTP, or framing broke: bytes only pass
	NoteDialFailed    NoteCode = "dial-failed"   // the upstream could not be reached
	NoteTLSFailed     NoteCode = "tls-failed"    // a handshake failed, or TLS ended a connection
	NoteTLSOdd        NoteCode = "tls-odd"       // a handshake went well, but clients may trip over it
	NoteRefused       NoteCode = "refused"       // a client came when as many were there as may be
	NoteAcceptFailed  NoteCode = "accept-failed" // clients wait: the system gives no connection
	NoteNotRedirected NoteCode = "no-redirect"   // original-dst, and no rule of the firewall brought the client
	NoteUndelivered   NoteCode = "undelivered"   // bytes that were read could not be written on
	NoteSecretsKept   NoteCode = "secrets-kept"  // this recording holds secrets in the clear
	NoteStreamLimit   NoteCode = "stream-limit"  // too many streams to follow each
	NoteProtocolError NoteCode = "http2-problem" // legal to go on, but not legal HTTP/2
	NoteRewrite       NoteCode = "rewrite"       // headers cannot be rewritten, or a value for them cannot be read
	NoteClock         NoteCode = "clock"         // the system's clock was set, or the machine slept; no time passed before this entry
	NoteUnrepeated    NoteCode = "unrepeated"    // the file before was lost, and nothing of it is repeated in this one
	NoteMark          NoteCode = "mark"          // a person marked an entry
	NoteUnmark        NoteCode = "unmark"        // and took the mark away
	NoteRemark        NoteCode = "remark"        // a person wrote something beside an entry
	NoteSilenced      NoteCode = "silenced"      // a person knows of what a rule found: Text is its id
	NoteFault         NoteCode = "fault"         // a replay did something wrong on purpose
	NoteFiles         NoteCode = "files"         // of files that are watched: one cannot be read, or is left out
	NoteStatic        NoteCode = "static"        // clusters that the client has from its bootstrap: Text is a list of JSON
)
