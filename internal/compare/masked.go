package compare

import (
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/decode/mask"
)

// Each recording masks with a key of its own, so that the masks of one secret
// differ between two of them: what is masked cannot be compared, and says nothing.

// blank takes all masks out of a tree, and says how many there were.
func blank(t *document.Tree) (n int) {
	for i := range t.Members {
		n += blank(&t.Members[i].Value)
	}
	for i := range t.Items {
		n += blank(&t.Items[i])
	}
	if t.Kind == document.String {
		text, masks := mask.Blank(t.Text)
		t.Text, n = text, n+masks
	}
	return n
}
