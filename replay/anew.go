package replay

import "slices"

// anew looks whether the recorded client went away by itself after what it had on
// a stream that is over, and came again as one that has nothing: the live one
// stays, and has to be started again.
func (s *server) anew(p *part) {
	if s.o.Anew == nil {
		return
	}
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
	if s.closing || next == nil || last.End.byServer() || last.End.Seq > next.Opened || slices.ContainsFunc(next.Steps, func(st Step) bool { return st.Resumes }) {
		return
	}
	s.ledger.say("the recorded client went away here and came again, and so does the live one")
	s.touch()
	s.births.Go(s.o.Anew)
}
