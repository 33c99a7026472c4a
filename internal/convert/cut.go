package convert

import (
	"errors"
	"slices"

	"github.com/xdsproxy/xdsproxy/internal/engine"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// CutOptions say how a part of a recording is written.
type CutOptions struct {
	// Bare leaves out what is needed to understand the chosen entries.
	Bare bool
	// Record is how entries are labelled, and masked if they are to be; see
	// recorder.NewCopy.
	Record recorder.Options
}

// Cut writes the chosen entries of a session into a new recording at path,
// with what is needed to understand them, which is marked as carried. Entries
// keep their numbers and times; what was left out between them is explained by
// gaps that say so. of is what is known of the source. The walk is done twice; of
// the second one, only the entries are looked at. If nothing was chosen no file
// is written.
func Cut(path string, of recorder.Facts, walk Walk, o CutOptions) (Result, error) {
	excerpt := engine.NewExcerpt()
	if err := walk(func(e *session.Entry, c *check.Change, chosen bool) error {
		excerpt.Step(e, &c.Change, chosen)
		return nil
	}); err != nil {
		return Result{}, err
	}
	chosen, context := excerpt.Chosen(), excerpt.Context()
	if len(chosen) == 0 {
		return Result{}, nil
	}
	cut := &cutter{chosen: chosen, context: context, hole: hole{cause: session.Cut}}
	if o.Bare {
		cut.context, cut.hole.cause = nil, session.CutBare
	}
	cut.last = chosen[len(chosen)-1]
	if n := len(cut.context); n > 0 {
		cut.last = max(cut.last, cut.context[n-1])
	}
	to, err := recorder.NewCopy(path, of, o.Record)
	if err != nil {
		return Result{}, err
	}
	cut.to = to
	if err := walk(cut.visit); err != nil && !errors.Is(err, errPast) {
		_ = to.Discard()
		return Result{}, err
	}
	cut.done.Masked = to.Masked()
	cut.done.Bytes, err = to.Close()
	return cut.done, err
}

// errPast ends the second walk behind the last entry of the cut.
var errPast = errors.New("past the last entry")

// cutter is the second walk.
type cutter struct {
	to              *recorder.Copy
	chosen, context []session.Seq // ascending; what was passed is cut off
	last            session.Seq   // of both
	hole            hole
	done            Result
}

func (c *cutter) visit(e *session.Entry, _ *check.Change, _ bool) error {
	if e.Seq > c.last {
		return errPast
	}
	chosen, context := passed(&c.chosen, e.Seq), passed(&c.context, e.Seq)
	if !chosen && !context {
		c.hole.add(e)
		return nil
	}
	if c.hole.entry.Gap != nil {
		c.done.LeftOut += c.hole.entry.Gap.Entries
		if err := c.to.Add(c.hole.take()); err != nil {
			return err
		}
	}
	own := *e
	if chosen {
		c.done.Entries++
	} else {
		c.done.Context++
		own.Carried = true
	}
	c.done.count(&own)
	return c.to.Add(&own)
}

// passed cuts off what is up to seq, and says whether that was there.
func passed(seqs *[]session.Seq, seq session.Seq) bool {
	i, found := slices.BinarySearch(*seqs, seq)
	if found {
		i++
	}
	*seqs = (*seqs)[i:]
	return found
}

// hole is what is left out since the last entry that was not.
type hole struct {
	cause session.GapCause
	entry session.Entry // its Gap is nil while there is none
	seen  map[session.StreamID]bool
}

// maxHoleStreams is how many streams a gap names; one that names so many may
// have touched more.
const maxHoleStreams = 1024

func (h *hole) add(e *session.Entry) {
	g := h.entry.Gap
	if g == nil {
		g = &session.Gap{First: e.Seq, Cause: h.cause}
		h.entry = session.Entry{Kind: session.KindGap, Side: session.Proxy, Gap: g}
		h.seen = make(map[session.StreamID]bool)
	}
	h.entry.Seq, h.entry.Time, g.Last = e.Seq, e.Time, e.Seq
	h.touch(e.Stream)
	if e.Message != nil {
		g.Bytes += e.Message.Size
	}
	if in := e.Gap; in != nil {
		g.First, g.Entries, g.Bytes = min(g.First, in.First), g.Entries+in.Entries, g.Bytes+in.Bytes
		for _, id := range in.Streams {
			h.touch(id)
		}
		return
	}
	g.Entries++
}

func (h *hole) touch(id session.StreamID) {
	if g := h.entry.Gap; id != 0 && !h.seen[id] && len(g.Streams) < maxHoleStreams {
		h.seen[id], g.Streams = true, append(g.Streams, id)
	}
}

// take returns the gap and begins anew.
func (h *hole) take() *session.Entry {
	e := h.entry
	h.entry = session.Entry{}
	return &e
}
