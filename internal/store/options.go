package store

import (
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Live is how what passes is written: with labels, each message cut into its
// resources, and what of it is secret masked, if that is asked for. free takes the
// buffers that large messages came in, once they are written.
func Live(masked bool, free func(session.Chunks)) recorder.Options {
	labels := NewLabels()
	o := recorder.Options{Labels: labels.Of}
	if masked {
		masker := mask.New()
		masker.Free(free)
		o.Masked, o.Transform, o.Content = true, masker.Transform, masker.Content
		labels.look = masker.Glance
	} else {
		splitter := chunk.NewSplitter()
		splitter.Free(free)
		o.Transform, labels.look = splitter.Transform, splitter.Glance
	}
	return o
}

// Copy is how a recording is written that is made of something else: with labels,
// and with secrets masked unless they are already, or are to be kept.
func Copy(masked bool) recorder.Options {
	o := recorder.Options{Labels: NewLabels().Of}
	if masked {
		masker := mask.New()
		o.Masked, o.Transform, o.Content = true, masker.Transform, masker.Content
	}
	return o
}
