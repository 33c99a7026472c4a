package folder

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// original gives the entries of the recording in the folder. It is fast where they
// are asked for in their order.
type original struct {
	path   string
	reader *recorder.Reader
	next   session.Seq // that the reader gives, if it is at an entry

	at    session.Seq // of raws
	delta bool
	raws  [][]byte
}

// near is how many entries are read over rather than jumped over.
const near = 64

// entry is the entry of this number; false if there is none.
func (o *original) entry(ctx context.Context, seq session.Seq) (e session.Entry, is bool, err error) {
	if o.reader == nil {
		if o.reader, err = recorder.Open(o.path); err != nil {
			return e, false, fmt.Errorf("cannot read what is not edited: %w", err)
		}
		o.reader.Pieces()
		o.next = 0
	}
	if seq < o.next || seq-o.next > near {
		if err := o.reader.Seek(seq); err != nil {
			return e, false, fmt.Errorf("cannot read what is not edited: %w", err)
		}
	}
	for {
		e, err := o.reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			o.next = seq + near + 1 // nothing follows: look from the beginning
			return e, false, o.close()
		}
		if err != nil {
			return e, false, fmt.Errorf("cannot read what is not edited: %w", err)
		}
		if o.next = e.Seq + 1; e.Seq >= seq {
			return e, e.Seq == seq, nil
		}
	}
}

// raw is the Any of a resource; nil if it is not there.
func (o *original) raw(ctx context.Context, from origin) ([]byte, error) {
	if o.at != from.seq || o.delta != from.delta || o.raws == nil {
		e, is, err := o.entry(ctx, from.seq)
		if err != nil || !is || e.Message == nil {
			return nil, err
		}
		kind := decode.SotwResponse
		if from.delta {
			kind = decode.DeltaResponse
		}
		o.at, o.delta, o.raws = from.seq, from.delta, itemsOf(kind, e.Message.Data.Bytes())
	}
	if from.index < 0 || from.index >= len(o.raws) {
		return nil, nil
	}
	return o.raws[from.index], nil
}

func (o *original) close() error {
	if o.reader == nil {
		return nil
	}
	r := o.reader
	o.reader = nil
	return r.Close()
}
