package check

import "github.com/xdsproxy/xdsproxy/internal/engine"

// Change is what one entry means in its conversation, and what it proves.
type Change struct {
	engine.Change
	// Findings are what rules proved with the entry.
	Findings []Finding
}
