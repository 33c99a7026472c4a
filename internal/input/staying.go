package input

import (
	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

// Staying holds back how streams end until somebody speaks again. What a
// client had while it was there is known; how it left at the end of the session does
// not count.
type Staying struct {
	Stepper
	ends []session.Entry
}

// maxEnds bounds what is held back.
const maxEnds = 1 << 16

func (s *Staying) Step(e *session.Entry) check.Change {
	switch e.Kind {
	case session.KindTrailer, session.KindCancel, session.KindHalfClose, session.KindGoAway, session.KindDisconnect:
		if len(s.ends) < maxEnds {
			s.ends = append(s.ends, *e)
			return check.Change{}
		}
	case session.KindConnect, session.KindOpen, session.KindMessage:
	default:
		return s.Stepper.Step(e)
	}
	for i := range s.ends {
		s.Stepper.Step(&s.ends[i])
	}
	s.ends = s.ends[:0]
	return s.Stepper.Step(e)
}
