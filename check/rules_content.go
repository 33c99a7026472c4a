package check

import (
	"fmt"
	"slices"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// content is what rules of this group remember of a type.
type content struct {
	asked   []string        // names that requests added since the last response
	omitted []omission      // oldest first
	gone    nameMemory      // names that were removed
	aliased bool            // a resource had other names, which removals may use
	told    Severity        // of resources without a version, plus one
	seen    engine.Editions // of those that changed
	pushes  pushes
}

// maxContentNames bounds each list of names in a content.
const maxContentNames = 1 << 14

// foreign says whether rules about content pass over a response.
func (x *event) foreign() bool { return x.sub.Exempt() || x.resp.Foreign }

// here says whether the response that is looked at has an item.
func (x *event) here(it *engine.Resource) bool { return it != nil && it.Stamp == x.k.Stamp }

func duplicateResource(x *event) {
	n := x.resp
	if n.Twice == 0 || x.foreign() {
		return
	}
	type identity struct{ name, variant string }
	seen := make(map[identity]int, n.Count)
	sure := make(map[string]bool) // by type, whether payloads have a name of their own
	var names []string
	for i := range n.Message.Resources {
		r := &n.Message.Resources[i]
		name := decode.NormalName(r.Name)
		if name == "" {
			continue
		}
		if !r.Wrapped {
			if _, known := sure[r.TypeURL]; !known {
				f := x.k.Contents.Of(r.TypeURL, r.Body, x.entry.Message.Masked).Facts
				sure[r.TypeURL] = f.Known && f.Named
			}
			if !sure[r.TypeURL] {
				continue // what looks like its name may be anything
			}
		}
		id := identity{name, r.Constraints}
		if seen[id]++; seen[id] == 2 {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		x.report(names, "%s is in the response more than once", words.List(names))
	}
}

func deltaAddedAndRemoved(x *event) {
	n := x.resp
	if n.Message.Kind != decode.DeltaResponse || len(n.Message.Removed) == 0 || x.foreign() {
		return
	}
	times := make(map[string]int, len(n.Message.Removed))
	var both, twice []string
	for _, name := range n.Message.Removed {
		name = decode.NormalName(name)
		times[name]++
		switch {
		case times[name] == 2:
			twice = append(twice, name)
		case times[name] == 1 && x.here(x.sub.Have.Get(name)):
			both = append(both, name)
		}
	}
	for _, i := range n.Heartbeats {
		if name := decode.NormalName(n.Message.Resources[i].Name); times[name] > 0 && !slices.Contains(both, name) {
			both = append(both, name)
		}
	}
	if len(both) > 0 {
		for i := range n.Message.Resources { // a removal names no variant
			if r := &n.Message.Resources[i]; r.Constraints != "" {
				both = without(both, func(name string) bool { return name == decode.NormalName(r.Name) })
			}
		}
	}
	if len(both) > 0 {
		x.report(both, "%s is among the resources and among the removed ones", words.List(both))
	}
	if len(twice) > 0 {
		x.report(twice, "%s is removed more than once", words.List(twice))
	}
}

func emptyNoop(x *event) {
	s, n := x.sub, x.resp
	if n.Count > 0 || n.WasFirst || len(n.Message.Removed) > 0 || len(n.Message.ResourceErrors) > 0 || x.foreign() {
		return
	}
	message := "a response without resources or removals"
	if n.Message.Kind == decode.SotwResponse {
		w := n.Wanted
		switch {
		case !s.Named() || s.Names.Len() == 0 || w == nil:
			return
		case w.Before.Count == 0 && x.now.Sub(w.At) <= x.flight():
			return // it may answer a request without names
		}
		message = fmt.Sprintf("a response without resources, while %s asked for", words.Counted(s.Names.Len(), "name is", "names are"))
	}
	x.prove(proof{severity: Info, cause: "-", message: message})
}

func deltaRemovalOfUnknown(x *event) {
	s, n := x.sub, x.resp
	if n.Message.Kind != decode.DeltaResponse {
		return
	}
	c := contentOf(s)
	c.aliased = c.aliased || n.Aliased
	if len(n.Message.Removed) == 0 || s.Exempt() {
		return
	}
	for _, it := range n.Removed {
		c.gone.add(it.Name)
	}
	if c.aliased || c.gone.full {
		return
	}
	var names []string
	for _, name := range n.Message.Removed {
		name = decode.NormalName(name)
		_, dropped := s.Dropped[name]
		if name != "" && !dropped && !c.gone.has(name) && s.Have.Get(name) == nil && !s.Asks(name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		x.provef(proof{severity: Info, names: names, cause: "-"}, "%s removed, which the client never had and did not ask for", words.List(names))
	}
}

func resourceErrorReported(x *event) {
	n := x.resp
	if len(n.Message.ResourceErrors) == 0 || x.sub.Exempt() {
		return
	}
	removed := make(map[string]struct{}, len(n.Message.Removed))
	for _, name := range n.Message.Removed {
		removed[decode.NormalName(name)] = struct{}{}
	}
	type kind struct {
		code int32
		also string
	}
	var kinds []kind
	names, why := make(map[kind][]string), make(map[kind]string)
	for i := range n.Message.ResourceErrors {
		e := &n.Message.ResourceErrors[i]
		name, k := decode.NormalName(e.Name), kind{code: e.Code}
		if _, gone := removed[name]; gone {
			k.also = ", and among the removed ones"
		} else if x.here(x.sub.Have.Get(name)) {
			k.also = ", and among the resources"
		}
		if e.Code == codeNotFound && k.also == "" {
			continue
		}
		if names[k] == nil {
			kinds, why[k] = append(kinds, k), e.Message
		}
		names[k] = append(names[k], name)
	}
	for _, k := range kinds {
		p := proof{severity: Info, names: names[k], cause: words.Code(k.code) + k.also}
		p.message = fmt.Sprintf("%s for %s%s", words.Code(k.code), words.List(names[k]), k.also)
		if why[k] != "" {
			p.message += fmt.Sprintf(": %q", words.Clip(why[k]))
		}
		if k.also != "" {
			p.severity = Warning
		}
		x.prove(p)
	}
}

// itemNames are the names of items, sorted.
func itemNames(items []*engine.Resource) []string {
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = it.Name
	}
	slices.Sort(names)
	return names
}
