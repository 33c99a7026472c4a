package input

import (
	"context"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/render/facts"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// readAll is how many bytes of messages info reads without being told to.
const readAll = 256 << 20

// Info is the facts about a source: of a large one by its headers, unless all of it
// is to be read. It is nil if there are none; an error beside it says what is
// damaged. follow is how what is read is followed.
func (o *Opener) Info(ctx context.Context, src *Source, all bool, follow check.Options) (*facts.Info, error) {
	clients := map[string]bool{}
	meet := func(id string) {
		if id != "" && len(clients) < maxClients {
			clients[id] = true
		}
	}
	f, err := recorder.Facts{}, error(nil)
	headers := (src.File || src.Viewer != nil) && !all
	switch {
	case src.File:
		f, err = src.Inspect()
		headers = headers && err == nil && f.MessageBytes > readAll
	case headers:
		f = src.All()
		headers = f.MessageBytes > readAll
	}
	more, silent := false, map[session.ConnID]bool{}
	var forgotten *uint64
	switch {
	case headers && src.File:
		more, err = src.Clients(ctx, meet)
		more = more || f.Connections > uint64(len(clients))
	case headers:
		more = true // it would all have to come over here
	default:
		account := check.NewChecker(follow)
		err = o.Each(ctx, src, account, func(e *session.Entry, c *check.Change) error {
			meet(c.Client)
			switch {
			case c.Client != "":
				delete(silent, e.Conn)
			case e.Kind == session.KindOpen && len(silent) < maxClients:
				silent[e.Conn] = true
			}
			return nil
		})
		more = len(silent) > 0 // somebody who never said who it is
		forgotten = new(account.Memory().Forgotten)
		held, upTo := f.Writing, f.UpTo
		f = src.Facts()
		if src.Viewer != nil {
			f = src.All()
		}
		f.Writing, f.UpTo = held && !f.Complete, upTo
	}
	if err != nil && !f.Damaged {
		return nil, err
	}
	i := InfoOf(src.Name, f)
	if src.Viewer != nil {
		i.Live, i.Recording = true, f.Path
		forgotten = src.Viewer.Info().PastForgotten
		for _, p := range src.Viewer.Info().Pairs {
			i.Pairs = append(i.Pairs, facts.InfoPair(p))
		}
	}
	i.MoreClients, i.Unread, i.PastForgotten = more, headers, forgotten
	if len(clients) > 0 || f.Connections == 0 {
		i.Clients = new(len(clients)) // else somebody was there, but nobody read who
	}
	return i, err
}

// maxClients bounds the node ids that are told apart.
const maxClients = 1 << 20

// InfoOf is the machine-readable form of facts.
func InfoOf(name string, f recorder.Facts) *facts.Info {
	return &facts.Info{
		Schema: render.Schema, Format: "xdsp", Version: f.Version, Complete: f.Complete, Damaged: f.Damaged, Writing: f.Writing, UpToSegment: f.UpTo,
		Entries: f.Entries, Messages: f.Messages, Streams: f.Streams, Connections: f.Connections,
		Gaps: f.Gaps, Lost: f.Lost, First: render.Timestamp(f.First), Last: render.Timestamp(f.Last),
		Descriptors: f.Descriptors != "" || f.BadDescriptors, Bytes: f.Bytes, MessageBytes: f.MessageBytes, Masked: f.Masked,
		Program: f.Program, Name: name, From: f.First, To: f.Last,
	}
}
