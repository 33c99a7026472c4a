package view

import (
	"context"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/source"
)

// Log is the log that is shown. Any goroutine may use it.
type Log struct {
	Context context.Context // of everything that is done beside the loop
	source.Source
	Index *index.Index
	Feed  *index.Feed
	Fetch *index.Fetcher
	// Last is the last entry when it was opened, 0 if that is not known.
	Last session.Seq
}

// Unread is how many entries there are behind the one that the feed read last,
// as far as that is known.
func (l *Log) Unread(last session.Seq) int {
	if l.Feed.Done() {
		return 0
	}
	return int(max(l.Last, last) - last)
}
