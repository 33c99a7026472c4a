package wire

import (
	"fmt"
	"time"

	"golang.org/x/net/http2/hpack"

	"github.com/xdsproxy/xdsproxy/internal/wire/block"
	"github.com/xdsproxy/xdsproxy/session"
)

// headerDecoder keeps the fields of the header block that is open in one
// direction.
type headerDecoder struct {
	dec    *block.Decoder
	fields []session.Field
	lost   bool // a block failed: nothing is decoded any more
}

func (d *headerDecoder) begin() {
	if d.lost {
		return
	}
	if d.dec == nil {
		d.dec = block.NewDecoder(d.emit)
	}
	d.fields = nil
	d.dec.Begin()
}

func (d *headerDecoder) emit(f hpack.HeaderField) {
	d.fields = append(d.fields, session.Field{Name: f.Name, Value: f.Value})
}

// write takes the next fragment of a block.
func (d *headerDecoder) write(p []byte) {
	if !d.lost {
		d.dec.Write(p)
	}
}

// finish ends a block and returns its fields.
func (d *headerDecoder) finish() (fields []session.Field, cut bool, err error) {
	err = d.dec.Finish()
	fields, d.fields = d.fields, nil
	return fields, d.dec.Cut(), err
}

// headersComplete acts on a complete header block.
func (h *half) headersComplete(at time.Time) {
	f := &h.frames
	id := f.stream
	if f.isPromise {
		id = f.promised
	}
	var fields []session.Field
	var problems []string
	if h.level == levelFull {
		var cut bool
		var err error
		fields, cut, err = h.headers.finish()
		if err != nil {
			h.loseHeaders(at, fmt.Sprintf("HPACK of the %s broke at stream %d: %v; its header fields are unknown from here on", h.side, id, err))
			h.headers = headerDecoder{lost: true}
			fields = nil
		} else if cut {
			problems = append(problems, fmt.Sprintf("header list is longer than %d bytes; the rest was not recorded", block.MaxList))
		}
	}
	if h.level != levelFull {
		problems = append(problems, fmt.Sprintf("header fields of the %s are unknown since HPACK broke", h.side))
	}
	end := f.blockFlags&flagEndStream != 0
	switch {
	case f.isPromise:
		h.promise(at, id, fields, problems)
	case h.side == session.Client:
		h.requestHeaders(at, id, fields, problems, end)
	default:
		h.responseHeaders(at, id, fields, problems, end)
	}
}
