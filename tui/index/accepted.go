package index

import "github.com/xdsproxy/xdsproxy/session"

// Accepted is the response that a client had accepted last before an answer of
// its own; of a response, before the client answered that, or before it came if
// there is no answer. Where it is 0, none says that the client had accepted
// nothing; else that is not known.
func (x *Index) Accepted(r *Row) (last session.Seq, none bool) {
	if r.What.Response() {
		if answer, ok := x.BySeq(r.Partner()); ok {
			r = &answer
		}
	}
	return r.had()
}

func (r *Row) had() (last session.Seq, none bool) {
	if r.accepted == 0 {
		return 0, r.Flags&Bare != 0
	}
	return r.Seq - session.Seq(r.accepted), false
}

// AcceptedBefore is the response that was accepted before one that was, and so
// on to the first. One that a client of the state of the world passed over on
// its way to a newer one counts as accepted.
func (x *Index) AcceptedBefore(r Row) (last session.Seq, none bool) {
	for range maxSteps {
		last, none = r.had()
		if r.before == 0 || last == 0 && !none {
			return last, none
		}
		var ok bool
		if r, ok = x.BySeq(r.Before()); !ok {
			return 0, false
		}
		if v := x.Verdict(&r); v == ACK || v == Nothing && r.What == RESP {
			return r.Seq, false
		}
	}
	return 0, false
}

// Before is the response of its type before a response, on its stream; 0 if
// there is none.
func (r *Row) Before() session.Seq {
	if r.before == 0 {
		return 0
	}
	return r.Seq - session.Seq(r.before)
}

// maxSteps bounds how many rejections in a row are passed.
const maxSteps = 1 << 16
