package replay

// Cause is what caused a response, as far as the recording tells: what has to
// happen again before it is said again.
type Cause struct {
	// These must have happened.
	Asked    bool // the client has asked for the type
	Answered int  // so many of the type's responses were answered, or passed over

	// These are waited for as long as the client is heard of: real clients do
	// not always say the same things in the same order.
	Verdicts int   // answers to responses of any type
	After    int32 // the type was asked for again since this response; none: it was not
	Added    []string
	Removed  []string
}

// Causes returns the cause of each response of a stream, by its step. Others
// have the zero one.
func Causes(s *Stream) []Cause {
	type state struct {
		asked          bool
		responses      int
		answered       int // the newest response with an answer, counted from 1
		last           int32
		plain          bool // the last request is neither an answer nor about names
		added, removed []string
	}
	out := make([]Cause, len(s.Steps))
	topics := make([]state, len(s.Topics))
	place := make(map[int32]int) // responses that were not answered yet: their number among those of their type
	verdicts := 0
	latest := None // response on the stream
	for i := range s.Steps {
		st := &s.Steps[i]
		t := &topics[st.Topic]
		if !st.Server {
			t.asked = true
			if st.Answers {
				verdicts++
				t.answered = max(t.answered, place[st.Echo])
				delete(place, st.Echo)
			}
			t.added, t.removed = append(t.added, st.Added...), append(t.removed, st.Removed...)
			t.plain, t.last = !st.Answers && len(st.Added) == 0 && len(st.Removed) == 0, latest
			continue
		}
		out[i] = Cause{Asked: t.asked, Answered: t.answered, Verdicts: verdicts, After: None, Added: t.added, Removed: t.removed}
		if t.plain {
			out[i].After = t.last
		}
		t.plain, t.added, t.removed = false, nil, nil
		t.responses++
		if st.Answered != None {
			place[int32(i)] = t.responses
		}
		latest = int32(i)
	}
	return out
}
