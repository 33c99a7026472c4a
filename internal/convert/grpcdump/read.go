package grpcdump

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// MaxBytes is how much of messages, headers and what comes with them is read.
	MaxBytes = 256 << 20
	// maxValue is how long a message may be in the dump, with its JSON form.
	maxValue   = 128 << 20
	maxHeaders = 1 << 20
	// maxMetadata is how long metadata may be in the dump. Each three bytes of it may
	// be a value.
	maxMetadata = 4 << 20
	// What each takes beside its own bytes, with the entries that are made of it.
	perCall, perMessage, perField = 1024, 512, 64
)

var begins = regexp.MustCompile(`^\s*\{\s*"service"\s*:\s*"[^"]*"\s*,\s*"method"\s*:`)

// Is says whether a text begins as a dump does.
func Is(head []byte) bool { return begins.Match(head) }

// Result is what was read.
type Result struct {
	Entries, Messages uint64
	Calls, Others     uint64 // calls of xDS, and calls that were left out
	// Timeless are calls of xDS that were left out, since they have no message and
	// so no time.
	Timeless uint64
	// Bare are messages of which the dump has not the bytes.
	Bare uint64
	// Torn says that the file ends within a call.
	Torn bool
}

// FormatError says that a file is no dump, or one that is damaged or too long.
type FormatError struct {
	Offset int64
	Reason string
}

func (e *FormatError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Reason) }

// Read gives the entries of all calls of xDS, by their time. It ends at the first
// error of emit. An error of the dump comes after what is before it.
func Read(r io.Reader, emit func(*session.Entry) error) (Result, error) {
	d := &dump{in: &limited{r: r}}
	d.dec = json.NewDecoder(d.in)
	err := d.read()
	if wrong := d.emit(emit); wrong != nil {
		return d.done, wrong
	}
	return d.done, err
}

// limited ends a value that is too long.
type limited struct {
	r    io.Reader
	left int64
}

var errLong = errors.New("it is too long")

func (l *limited) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, errLong
	}
	n, err := l.r.Read(b[:min(int64(len(b)), l.left)])
	l.left -= int64(n)
	return n, err
}

type dump struct {
	in    *limited
	dec   *json.Decoder
	calls []*call
	bytes int64
	done  Result
}

// call is one line.
type call struct {
	service, method string
	messages        []message
	status          *status
	metadata        [3]fields // of the request, of the response, and of its end
}

type status struct{ Code, Message string }

type fields map[string][]string

type message struct {
	Origin string          `json:"message_origin"`
	Raw    []byte          `json:"raw_message"`
	Told   json.RawMessage `json:"message"`
	Time   time.Time       `json:"timestamp"`
	bare   bool
}

func (d *dump) read() error {
	for {
		at := d.dec.InputOffset()
		d.in.left = maxValue
		next, err := d.dec.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil && next != json.Delim('{'):
			err = errors.New("a line is no object")
		case err == nil:
			c, before := &call{}, d.bytes
			if err = d.members(c); err == nil {
				err = d.take(perCall + 3*len(c.path())) // it is the method and a field of the entry, too
			}
			if !d.add(c) {
				d.bytes = before
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			if d.done.Torn = at > 0; d.done.Torn {
				return nil
			}
			return &FormatError{at, "it ends in the middle of a call"}
		case errors.Is(err, errFull):
			return &FormatError{d.dec.InputOffset(), fmt.Sprintf("it has more than %d MiB of messages: what follows is not read", MaxBytes>>20)}
		case errors.Is(err, errLong):
			return &FormatError{d.dec.InputOffset(), fmt.Sprintf("a message is longer than %d MiB", maxValue>>20)}
		default:
			if _, syntax := errors.AsType[*json.SyntaxError](err); !syntax && at == d.dec.InputOffset() {
				return err // of reading
			}
			return &FormatError{d.dec.InputOffset(), "no call of grpc-dump: " + err.Error()}
		}
	}
}

var errFull = errors.New("it is too much")

// members reads what comes of a call.
func (d *dump) members(c *call) error {
	for d.more() {
		key, err := d.dec.Token()
		if err != nil {
			return err
		}
		d.in.left = maxValue
		switch key {
		case "service":
			err = d.dec.Decode(&c.service)
		case "method":
			err = d.dec.Decode(&c.method)
		case "messages":
			err = d.messages(c)
		case "error":
			err = d.status(c)
		case "metadata":
			err = d.headers(&c.metadata[0])
		case "metadata_response_headers":
			err = d.headers(&c.metadata[1])
		case "metadata_response_trailers":
			err = d.headers(&c.metadata[2])
		default:
			err = d.dec.Decode(&skipped{})
		}
		if err != nil {
			return err
		}
	}
	_, err := d.dec.Token()
	return err
}

// more makes room for the next value first.
func (d *dump) more() bool {
	d.in.left = maxValue
	return d.dec.More()
}

// skipped is a value that nobody keeps.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

func (d *dump) messages(c *call) error {
	next, err := d.dec.Token()
	if err != nil || next == nil { // null
		return err
	}
	if next != json.Delim('[') {
		return errors.New("its messages are no list")
	}
	for d.more() {
		var m message
		if err := d.dec.Decode(&m); err != nil {
			return err
		}
		// A message of no bytes has no raw_message.
		told := strings.TrimSpace(string(m.Told[:min(len(m.Told), 8)]))
		m.bare, m.Told = len(m.Raw) == 0 && told != "" && told != "{}" && told != "null", nil
		if err := d.take(perMessage + len(m.Raw) + len(m.Origin)); err != nil {
			return err
		}
		c.messages = append(c.messages, m)
	}
	_, err = d.dec.Token()
	return err
}

func (d *dump) status(c *call) error {
	if err := d.dec.Decode(&c.status); err != nil || c.status == nil {
		return err
	}
	return d.take(len(c.status.Code) + len(c.status.Message))
}

// UnmarshalJSON looks at the length first.
func (f *fields) UnmarshalJSON(b []byte) error {
	if len(b) > maxMetadata {
		return fmt.Errorf("the metadata of a call is longer than %d MiB", maxMetadata>>20)
	}
	return json.Unmarshal(b, (*map[string][]string)(f))
}

func (d *dump) headers(to *fields) error {
	if err := d.dec.Decode(to); err != nil {
		return err
	}
	size := 0
	for k, all := range *to {
		size += len(k) + perField
		for _, v := range all {
			size += len(k) + len(v) + perField
		}
	}
	if size > maxHeaders {
		return fmt.Errorf("the metadata of a call has more than %d MiB", maxHeaders>>20)
	}
	return d.take(size)
}

// take counts bytes that are kept.
func (d *dump) take(n int) error {
	if d.bytes += int64(n); d.bytes > MaxBytes {
		return errFull
	}
	return nil
}
