package tui

import (
	"github.com/xdsproxy/xdsproxy/tui/alias"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/source"
)

// What those who show a log speak of, all in one place.
type (
	Source        = source.Source
	Proxy         = source.Proxy
	Archived      = source.Archived
	Route         = source.Route
	Notices       = source.Notices
	ExportRequest = source.ExportRequest
	Reader        = index.Reader
	Private       = alias.Private
)
