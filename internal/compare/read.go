package compare

import (
	"context"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// sent is the versions of a resource that one client was sent of one type.
type sent struct {
	client, typ string
	versions    []history.Version
}

// story is what a recording says of a resource.
type story struct {
	sent      []sent
	contents  contents
	names     survey
	forgotten int
	beyond    int
	passed    []string // types that have a resource of the name, too, and were not chosen
}

// readStory reads a recording for one resource. Damage is an error beside what
// is before it.
func (c *Comparison) readStory(ctx context.Context, src *input.Source, name string) (*story, error) {
	heap.Lean()
	versions := history.New(history.Selection{Name: name}, c.Types)
	st := &story{names: newSurvey(), contents: contents{limit: maxContents}}
	err := c.Each(ctx, src, check.NewTracker(c.Types), func(e *session.Entry, c *check.Change) error {
		versions.Step(e, &c.Change)
		if c.Message == nil || !c.Message.Response() {
			return nil
		}
		st.names.see(c)
		if v, ok := versions.Newest(); ok && v.Seq == e.Seq && !v.Removed {
			st.contents.keep(v.Hash, c.Resource(name))
		}
		return nil
	})
	if err != nil && !input.Damaged(err) {
		return nil, err
	}
	places := make(map[[2]string]int)
	for _, v := range versions.Versions() {
		i, known := places[[2]string{v.Client, v.Type}]
		if !known {
			i = len(st.sent)
			places[[2]string{v.Client, v.Type}] = i
			st.sent = append(st.sent, sent{client: v.Client, typ: v.Type})
		}
		st.sent[i].versions = append(st.sent[i].versions, v)
	}
	st.forgotten, st.beyond = versions.Forgotten(), versions.Beyond()
	return st, err
}

// survey is the names of the resources in a recording.
type survey struct {
	names map[string]struct{}
	seen  map[*decode.Resource]struct{} // lists that come again
}

const maxSurvey = 1 << 18

func newSurvey() survey {
	return survey{names: make(map[string]struct{}), seen: make(map[*decode.Resource]struct{})}
}

func (s *survey) see(c *check.Change) {
	list := c.Message.Resources
	if len(list) == 0 {
		return
	}
	if _, again := s.seen[&list[0]]; again {
		return
	}
	if len(s.seen) > 256 {
		clear(s.seen)
	}
	s.seen[&list[0]] = struct{}{}
	for i := range list {
		if len(s.names) < maxSurvey {
			s.names[list[i].Name] = struct{}{}
		}
	}
}

// missing is the error for a name that no resource has.
func (s *survey) missing(name, source string) error {
	f := console.Failed("no response in %q carries a resource %q", source, name)
	lower := make(map[string]string, len(s.names)) // to the name
	var candidates, parts []string
	for n := range s.names {
		low := strings.ToLower(n)
		lower[low] = n
		candidates = append(candidates, low)
		if strings.Contains(low, strings.ToLower(name)) {
			parts = append(parts, n)
		}
	}
	slices.Sort(candidates)
	slices.Sort(parts)
	for i, n := range parts {
		parts[i] = console.ShellWord(n)
	}
	switch best := lower[nearest.Name(name, candidates)]; {
	case len(parts) > 0:
		f.Hint("names that contain it: %s", render.SomeOf(parts, 8))
	case best != "":
		f.Hint("did you mean %s?", console.ShellWord(best))
	case len(s.names) == 0:
		return f.Hint("there is no resource in it at all")
	}
	return f.Hint("xdsproxy tree %s CLIENT lists the resources of a client", console.ShellWord(source))
}
