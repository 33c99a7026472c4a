package index

import (
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/document"
)

// Wire lists the fields of a message as they stand in its bytes, at most so
// many, and says what is wrong with them.
func (f *Fetched) Wire(most int) ([]document.WireField, string) {
	if f.Entry.Message == nil || f.Entry.Message.Unread() != "" {
		return nil, ""
	}
	return decode.Decoder{Types: f.Change.Types}.Wire(f.Change.Method, f.Entry.Side, f.content, f.Entry.Message.Data.Bytes(), most)
}
