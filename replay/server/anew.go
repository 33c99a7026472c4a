package server

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/replay"
)

// anew looks whether the recorded client went away by itself with the end of p,
// when it had no other stream left, and came again: the live one stays, and has
// to be started again. Nobody is told to who has ended the live stream already.
// A command is started only for a client that came as one that has nothing.
func (s *server) anew(p *part, stays bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.over = true
	var next, last *part
	for _, o := range s.parts {
		switch {
		case o.Client != p.Client:
		case !o.taken && next == nil: // they are in the order in which they began
			next = o
		case o.taken && (!o.over || o.End == nil):
			return
		case o.taken && (last == nil || o.End.Seq > last.End.Seq):
			last = o
		}
	}
	if s.closing || next == nil || last.End.ByServer() || last.End.Seq > next.Opened {
		return
	}
	if s.o.Anew == nil {
		if stays {
			s.ledger.Note("the recorded client %s went away here, and came again in entry %d: restart the live one within %s, or the replay ends",
				replay.ClientName(p.Client), next.Opened, s.o.Idle)
		}
		return
	}
	if slices.ContainsFunc(next.Steps, func(st replay.Step) bool { return st.Resumes }) {
		return
	}
	s.ledger.Say("the recorded client went away here and came again, and so does the live one")
	s.touch()
	s.starts.Go(s.o.Anew)
}
