package index

import (
	"context"
	"fmt"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/session"
)

// Edition is a content as it came with a response.
type Edition struct {
	Seq     session.Seq // 0: there is none
	Version string
	Verdict What // ACK, NACK, or Nothing if there is no answer
}

// Compared is a resource of a response beside the one that the client had
// before.
type Compared struct {
	Name string
	Kind diff.Kind // Same, Added, Removed or Changed
	Old  Edition
	New  Edition
	// Result is what differs; nil if it was not looked into, because only one of
	// the two is there, or because there are too many.
	Result *diff.Result
	// Only is the content where only one of the two has any, if it was asked for.
	Only *document.Tree
	// Lost says why it is not known whether the client had a version before.
	Lost Knowledge
}

// Against is a response beside what the client had before it.
type Against struct {
	Seq       session.Seq
	Type      string
	Resources []Compared // those of the response in their order, then those that are gone
	Count     [diff.Moved + 1]int
}

const (
	// maxCompared is how many resources are compared in depth, and maxWeighed
	// how many bytes.
	maxCompared = 500
	maxWeighed  = 16 << 20
)

// Against compares a response with what its client had accepted before, or, of
// what it had accepted nothing, with what it was sent before. content asks for the
// contents of what only one of the two has.
func (f *Fetcher) Against(ctx context.Context, seq session.Seq, content bool) (*Against, error) {
	got, err := f.fetchOne(ctx, seq)
	if err != nil {
		return nil, err
	}
	if m := got.Entry.Message; m != nil && m.Unread() != "" {
		return nil, fmt.Errorf("%d cannot be compared: %s", seq, m.Unread())
	}
	m := got.Change.Message
	if m == nil || !m.Response() {
		return nil, fmt.Errorf("%d is no response", seq)
	}
	v := versus{f: f, of: got, had: make(map[string]found), whole: content}
	if r, ok := f.index.BySeq(seq); ok {
		names := make([]uint64, 0, len(m.Resources)+len(m.Removed))
		for i := range m.Resources {
			names = append(names, f.index.carried.hash(m.Resources[i].Name))
		}
		for _, n := range m.Removed {
			names = append(names, f.index.carried.hash(n))
		}
		v.from = f.index.origins(ctx, r, names, whole(m, got.Change.Type))
		if err := v.read(ctx); err != nil {
			return nil, err
		}
	} else {
		v.from.accepted = Unseen // nobody has got to it
	}
	return v.compare(), nil
}

func (f *Fetcher) fetchOne(ctx context.Context, seq session.Seq) (*Fetched, error) {
	all, err := f.Fetch(ctx, seq)
	if got := all[seq]; got != nil {
		return got, nil
	}
	if err == nil {
		err = errAbsent
	}
	return nil, fmt.Errorf("cannot show %d: %w", seq, err)
}

// Messages compares two messages as a whole. Versions and nonces make no
// difference.
func (f *Fetcher) Messages(ctx context.Context, old, new session.Seq) (*Compared, error) {
	got, err := f.fetchOne(ctx, old)
	if err != nil {
		return nil, err
	}
	now, err := f.fetchOne(ctx, new)
	if err != nil {
		return nil, err
	}
	for _, one := range []*Fetched{got, now} {
		if one.Entry.Message == nil {
			return nil, fmt.Errorf("%d is no message: there is nothing to compare", one.Entry.Seq)
		}
		if why := one.Entry.Message.Unread(); why != "" {
			return nil, fmt.Errorf("%d cannot be compared: %s", one.Entry.Seq, why)
		}
	}
	a, b := got.Decoded(), now.Decoded()
	c := &Compared{Kind: diff.Changed, Old: f.edition(got), New: f.edition(now)}
	c.Result = diff.Compare(&a.Root, &b.Root, diff.Options{Type: now.Change.Method.Message(now.Entry.Side), Ignore: diff.Envelope(), Types: now.Change.Types})
	if c.Result.Same() {
		c.Kind = diff.Same
		for _, one := range []*Fetched{got, now} {
			if one.Entry.Message.Truncated {
				return nil, fmt.Errorf("%d was not recorded whole: what is there of it does not differ", one.Entry.Seq)
			}
		}
	}
	return c, nil
}

func (f *Fetcher) edition(got *Fetched) Edition {
	e := Edition{Seq: got.Entry.Seq}
	if m := got.Change.Message; m != nil {
		e.Version = m.Version
	}
	if r, ok := f.index.BySeq(e.Seq); ok {
		e.Verdict = f.index.Verdict(&r)
	}
	return e
}

// Resources compares the resource of this name in two responses. One of them
// may be 0.
func (f *Fetcher) Resources(ctx context.Context, name string, old, new session.Seq) (*Compared, error) {
	c := &Compared{Name: name, Kind: diff.Changed}
	var trees [2]*document.Tree
	for i, seq := range []session.Seq{old, new} {
		if seq == 0 {
			continue
		}
		got, err := f.fetchOne(ctx, seq)
		if err != nil {
			return nil, err
		}
		e := f.edition(got)
		if r := got.Change.Resource(name); r != nil && !r.Empty {
			doc := decode.Decoder{Types: got.Change.Types}.Resource(r)
			trees[i] = &doc.Root
			if r.Version != "" {
				e.Version = r.Version
			}
		}
		*[]*Edition{&c.Old, &c.New}[i] = e
	}
	switch {
	case trees[0] == nil && trees[1] == nil:
		c.Kind = diff.Same
	case trees[0] == nil:
		c.Kind, c.Only = diff.Added, trees[1]
	case trees[1] == nil:
		c.Kind, c.Only = diff.Removed, trees[0]
	default:
		if c.Result = diff.Compare(trees[0], trees[1], diff.Options{Types: f.index.types}); c.Result.Same() {
			c.Kind = diff.Same
		}
	}
	return c, nil
}
