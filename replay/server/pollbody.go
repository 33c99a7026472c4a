package server

import (
	"bytes"
	"context"

	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/edit"
)

// said is the body of a reply as it is said again: byte for byte, unless something
// in it has to be another.
func (p *polling) said(ctx context.Context, turn *replay.Turn) ([]byte, error) {
	s, reply := p.server, &turn.Reply
	moves := s.o.Local && p.Method.Type == "LDS"
	body, err := s.plan.Body(ctx, reply.Body)
	if err != nil || !reply.Content() || !reply.Masked && !moves {
		return body, err
	}
	wire, err := edit.FromJSON(p.Method.Response, body)
	if err != nil {
		s.ledger.Note("entry %d is sent as it was recorded, with masks and addresses: %v", reply.Body, err)
		return body, nil
	}
	out, notes := wire, []string(nil)
	if reply.Masked {
		out, notes = s.keys.Renew(out, false)
		for _, n := range notes {
			s.ledger.Note("entry %d: %s", reply.Body, n)
		}
	}
	if moves {
		out, notes = s.book.Move(p.Client, "", out, false)
		for _, n := range notes {
			s.ledger.Note("%s", n)
		}
	}
	if bytes.Equal(out, wire) {
		return body, nil
	}
	return edit.ToJSON(p.Method.Response, out)
}
