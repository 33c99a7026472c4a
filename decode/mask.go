package decode

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"slices"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// Masker replaces secrets by masks of the same length: private keys, session
// ticket keys, passwords and generic secrets in SDS payloads, and credentials
// in metadata. It is a recorder's Transform: it must see every entry, in
// order, before anyone else does, and is not safe for concurrent use.
//
// A mask derives from the secret by an HMAC with a key that is made for this
// Masker and never leaves it. Equal secrets have equal masks and different
// ones, but for very short ones, different masks, so comparing, searching and
// replaying still tell the truth. Long masks begin with "[masked:".
//
// What cannot be read and may hold a secret is masked as a whole or cut off.
type Masker struct {
	mac     hash.Hash
	streams map[session.StreamID]*maskStream
}

// maskStream is what decides how the messages of a stream are read.
type maskStream struct {
	conn    session.ConnID
	method  Method
	content [2]string // content type of the client's and of the server's side
}

// maxMaskStreams bounds the streams that are remembered; messages of others
// are treated as if their headers had been lost.
const maxMaskStreams = 1 << 18

// NewMasker returns a Masker with a fresh key.
func NewMasker() *Masker {
	key := make([]byte, sha256.Size)
	rand.Read(key) // never fails: it ends the program instead
	return &Masker{mac: hmac.New(sha256.New, key), streams: make(map[session.StreamID]*maskStream)}
}

// Transform masks the secrets of one entry. It replaces the Message and the
// Headers by copies where it has to change them and never writes to what they
// refer to.
func (k *Masker) Transform(e *session.Entry) {
	if e.Headers != nil {
		if masked, ok := k.headers(e.Headers); ok {
			e.Headers = masked
		}
	}
	switch e.Kind {
	case session.KindOpen:
		if len(k.streams) < maxMaskStreams && e.Stream != 0 {
			k.streams[e.Stream] = &maskStream{
				conn: e.Conn, method: LookupMethod(e.Method),
				content: [2]string{session.Get(e.Headers, "content-type")},
			}
		}
	case session.KindHeader:
		if st := k.streams[e.Stream]; st != nil && e.Side == session.Server {
			if ct := session.Get(e.Headers, "content-type"); ct != "" {
				st.content[1] = ct
			}
		}
	case session.KindTrailer, session.KindCancel:
		delete(k.streams, e.Stream)
	case session.KindDisconnect:
		for id, st := range k.streams {
			if st.conn == e.Conn {
				delete(k.streams, id)
			}
		}
	case session.KindMessage:
		if e.Message != nil {
			k.message(e)
		}
	}
}

// message decides what has to be looked at. The common case, a message that
// names no secret, costs one search over its bytes.
func (k *Masker) message(e *session.Entry) {
	var st maskStream
	if known := k.streams[e.Stream]; known != nil {
		st = *known
	}
	server := e.Side != session.Client
	capable := server && (st.method.Type == "SDS" || st.method.Type == "" && st.method.Variant != VariantOther && st.method.Variant != VariantLRS)
	m := e.Message
	if m.Compressed {
		if capable && m.Data.Len() > 0 {
			k.replace(e, nil, "it is compressed and may hold secrets: its bytes were not kept")
		}
		return
	}
	content := st.content[0]
	if server {
		content = st.content[1]
	}
	json := FormOf(st.method, content) == FormJSON
	named := containsAcross(m.Data, secretWord)
	sds := server && st.method.Type == "SDS"
	switch {
	case sds, named, capable && m.Truncated:
	case json && containsAcross(m.Data, jsonEscape): // the name may be spelled with escapes
	default:
		return
	}
	data := m.Data.Bytes()
	if !json && st.method.Path == "" && looksLikeJSON(data) {
		json = true
	}
	data = bytes.Clone(data)
	if json {
		k.json(e, data)
		return
	}
	w := protoMasker{mask: k.mask}
	kept := w.response(st.method, e.Side, data, sds, capable)
	switch {
	case kept < len(data):
		k.replace(e, data[:kept], "its end cannot be read and may hold secrets: it was cut off")
	case w.opaque > 0:
		k.replace(e, data, "a secret cannot be read: it was masked as a whole")
	case w.masked > 0:
		k.replace(e, data, "")
	}
}

var (
	secretWord = []byte("Secret")
	jsonEscape = []byte(`\u`)
)

// replace gives the entry a new message with other bytes.
func (k *Masker) replace(e *session.Entry, data []byte, problem string) {
	m := *e.Message
	if int64(len(data)) < m.Data.Len() {
		m.Truncated = true
	}
	m.Data, m.Masked = nil, true
	if len(data) > 0 {
		m.Data = session.Chunks{data}
	}
	e.Message = &m
	if problem != "" {
		e.Problems = append(slices.Clip(e.Problems), problem)
	}
}

const maskHead = "[masked:"

// mask overwrites a secret by its mask.
func (k *Masker) mask(secret []byte) { k.maskAs(secret, secret) }

// maskAs overwrites dst by the mask of secret. The text is ASCII without
// quotes, backslashes or spaces, so that it can stand anywhere.
func (k *Masker) maskAs(dst, secret []byte) {
	k.mac.Reset()
	k.mac.Write(secret)
	var sum [sha256.Size]byte
	var text [43]byte
	base64.RawURLEncoding.Encode(text[:], k.mac.Sum(sum[:0]))
	if len(dst) < 2*len(maskHead) {
		copy(dst, text[:])
		return
	}
	n := copy(dst, maskHead)
	n += copy(dst[n:len(dst)-1], text[:])
	for ; n < len(dst)-1; n++ {
		dst[n] = '.'
	}
	dst[n] = ']'
}

// containsAcross searches c for a word of at most 16 bytes, also where it lies
// across chunks.
func containsAcross(c session.Chunks, word []byte) bool {
	var window [32]byte // ends with the bytes before a chunk that may begin a word
	seam, most := 0, len(word)-1
	for _, b := range c {
		if seam > 0 && bytes.Contains(window[:seam+copy(window[seam:seam+most], b)], word) {
			return true
		}
		if bytes.Contains(b, word) {
			return true
		}
		if len(b) >= most {
			seam = copy(window[:], b[len(b)-most:])
			continue
		}
		end := seam + copy(window[seam:], b)
		seam = copy(window[:], window[max(0, end-most):end])
	}
	return false
}
