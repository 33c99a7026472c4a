package page

// What a page has at most: all together it stays under about 10 MB, and what there
// was no room for is counted in it.
const (
	maxEntries   = 20_000   // of which it has a line
	maxHeads     = 11 << 19 // bytes of entries without their messages
	maxBodies    = 7 << 19  // of messages and their pieces
	maxPiece     = 1 << 19  // of one of these, such as a resource
	maxWhole     = 4 << 20  // of a message that is decoded
	maxDecoded   = 96 << 20
	maxFindings  = 500
	maxExplained = 25 // findings with what proves and explains them
	maxEvidence  = 1 << 19
	maxChanges   = 64 << 10 // of one comparison, as JSON
	maxLines     = 400      // of one comparison
	maxClients   = 500
	maxNodes     = 1 << 20 // of all nodes
	equalLines   = 3       // equal lines around what differs
	longList     = 8       // names that an entry has itself
	longText     = 24      // bytes of a text that it has itself
	longerText   = 256     // of one that entries may have in common
	smallPiece   = 160     // what is shorter stays where it is
)

// bounds are those that a test makes smaller.
type bounds struct {
	entries       int
	heads, bodies int
	decoded       int64
}

func usual() bounds { return bounds{maxEntries, maxHeads, maxBodies, maxDecoded} }
