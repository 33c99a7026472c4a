package effect

// Standing is how much of what a client was sent is in effect.
type Standing struct {
	// Expected says that there is any word of clients on what they hold. Without,
	// nothing is known of anybody.
	Expected bool
	Counts   map[string]Count // by type
	// Behind are resources that the client was sent, did not reject and does not use,
	// at most MaxBehind, by type and name, and More how many there are beside these.
	Behind []Effect
	More   int
	// Unread is why it is not known what the client holds, "" if it is.
	Unread string
}

// MaxBehind is how many resources a Standing names.
const MaxBehind = 20

// Standing is where a client stands.
func (a *Account) Standing(id string) Standing {
	s := Standing{Expected: a.on}
	cl := a.clients[id]
	if cl == nil {
		return s
	}
	s.Counts, s.Unread = a.Counts(id), cl.several
	read := false
	for i := range cl.asked {
		read = read || cl.asked[i].Failed == "" && cl.asked[i].Read.Known()
	}
	for i := range cl.asked {
		if f := cl.asked[i].Failed; f != "" && !read && s.Unread == "" {
			s.Unread = f
		}
	}
	for _, at := range sorted(cl.open) {
		r := cl.resources[at]
		if r == nil || r.sent == nil || r.now.state.Answer() != "no" || r.now.state == Failed {
			continue
		}
		if len(s.Behind) < MaxBehind {
			s.Behind = append(s.Behind, r.effect(cl, at))
		} else {
			s.More++
		}
	}
	return s
}

// Answer is yes, no or unknown: whether all of a type that the client was sent is in
// effect.
func (c Count) Answer() string {
	switch {
	case c.Known > c.InEffect:
		return "no"
	case c.All > 0 && c.InEffect == c.All:
		return "yes"
	}
	return "unknown"
}

// Answer is yes, no or unknown: whether all that the client was sent is in effect.
func (s *Standing) Answer() string {
	all := Count{}
	for _, c := range s.Counts {
		all.InEffect, all.Known, all.All = all.InEffect+c.InEffect, all.Known+c.Known, all.All+c.All
	}
	if len(s.Behind) > 0 {
		return "no"
	}
	return all.Answer()
}

// Worst is the type of which the least is in effect, "" where all that is known is.
func (s *Standing) Worst() (worst string) {
	most := 0
	for typ, c := range s.Counts {
		if n := c.Known - c.InEffect; n > most || n == most && n > 0 && typ < worst {
			worst, most = typ, n
		}
	}
	if worst == "" && len(s.Behind) > 0 {
		return s.Behind[0].Type
	}
	return worst
}
