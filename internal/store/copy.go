package store

import (
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// Copy is how a recording is written that is made of something else: with labels,
// and with secrets masked unless they are already, or are to be kept.
func Copy(mask bool) recorder.Options {
	o := recorder.Options{Labels: NewLabels().Of}
	if mask {
		masker := decode.NewMasker()
		o.Masked, o.Transform, o.Content = true, masker.Transform, masker.Content
	}
	return o
}
