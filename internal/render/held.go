package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/configdump/compare"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

type (
	// HeldDiff is what a client has accepted against what its Envoy holds.
	HeldDiff struct {
		Schema    string         `json:"schema,omitempty"`
		Session   string         `json:"session,omitempty"`
		Dump      string         `json:"config_dump"`
		By        string         `json:"by,omitempty"` // who says it, if not Envoy: csds, istiod
		Client    string         `json:"client"`
		Same      bool           `json:"same"`
		Types     []HeldType     `json:"types"`
		Resources []HeldResource `json:"resources"` // that are not simply the same
		NotDumped []string       `json:"types_not_dumped,omitempty"`
		Notes     []string       `json:"notes,omitempty"`
	}
	// HeldType counts the resources of one type. Elsewhere are those that the
	// client never asked for in the session.
	HeldType struct {
		Type      string `json:"type"`
		Same      int    `json:"same"`
		Elsewhere int    `json:"not_asked_for,omitempty"`
	}
	// HeldResource is one resource. State is a compare.State.
	HeldResource struct {
		Type       string       `json:"type"`
		Name       string       `json:"name"`
		State      string       `json:"state"`
		Difference bool         `json:"difference"`
		Why        string       `json:"why,omitempty"`
		Accepted   *Accepted    `json:"accepted,omitempty"`
		Held       *HeldAs      `json:"held,omitempty"`
		Changes    []ChangeJSON `json:"changes,omitempty"` // from what was accepted to what is held

		// Sources are the objects of a control plane that it was made of.
		Sources     []Source `json:"sources,omitempty"`
		MoreSources bool     `json:"more_sources,omitempty"`

		changes *diff.Result
	}
	// HeldAs is how an Envoy holds a resource, in the words of its dump.
	HeldAs struct {
		State   string `json:"state"`
		Version string `json:"version,omitempty"`
		Updated string `json:"updated,omitempty"`
	}
)

// NewHeldDiff makes the form that is printed.
func NewHeldDiff(r *compare.Result, d *configdump.Dump, dump, client string) *HeldDiff {
	out := &HeldDiff{
		Dump: dump, Client: client, Same: !r.Differs(), Types: []HeldType{}, Resources: []HeldResource{},
		NotDumped: r.NotDumped, Notes: slices.Clone(d.Notes),
	}
	switch d.By {
	case configdump.ByCSDS:
		out.By = "csds"
	case configdump.ByIstiod:
		out.By = byIstiod
	}
	types := slices.Concat(slices.Collect(maps.Keys(r.Same)), slices.Collect(maps.Keys(r.Elsewhere)))
	slices.SortFunc(types, func(a, b string) int { return cmp.Or(cmp.Compare(xds.Rank(a), xds.Rank(b)), strings.Compare(a, b)) })
	for _, t := range slices.Compact(types) {
		out.Types = append(out.Types, HeldType{t, r.Same[t], r.Elsewhere[t]})
	}
	for i := range r.Items {
		it := &r.Items[i]
		h := HeldResource{Type: it.Type, Name: it.Name, State: string(it.State), Difference: it.State.Difference(), Why: it.Why, changes: it.Changes}
		if it.Accepted != nil {
			h.Accepted = &Accepted{uint64(it.Accepted.Seq), it.Accepted.Version}
		}
		if it.Held != nil {
			h.Held = &HeldAs{State: string(it.Held.State), Version: it.Held.Version}
			if !it.Held.Updated.IsZero() {
				h.Held.Updated = Timestamp(it.Held.Updated)
			}
		}
		if it.Changes != nil {
			h.Changes = NewChanges(it.Changes)
		}
		out.Resources = append(out.Resources, h)
	}
	return out
}

// byIstiod is what istiod says that it would send, which nobody holds.
const byIstiod = "istiod"

// Empty says that nothing was compared.
func (d *HeldDiff) Empty() bool {
	return len(d.Resources) == 0 && !slices.ContainsFunc(d.Types, func(t HeldType) bool { return t.Same > 0 })
}

// maxHeld is how many resources of each kind a text names.
const maxHeld = 100

// Text is what a person reads.
func (d *HeldDiff) Text(s Style, context int) string {
	var b strings.Builder
	name := Safe(d.Client)
	if d.Client == "" {
		name = "a client without a node id"
	}
	from := ""
	if d.Session != "" {
		from = " in " + Safe(d.Session)
	}
	held, differing, alike := "held", [2]string{"resource is not held as it was accepted", "resources are not held as they were accepted"}, [2]string{"resource is held as accepted", "resources are held as accepted"}
	if d.By == byIstiod {
		held = "istiod would send"
		differing = [2]string{"resource is not as istiod would send it", "resources are not as istiod would send them"}
		alike = [2]string{"resource is as istiod would send it", "resources are as istiod would send them"}
	}
	fmt.Fprintf(&b, "%s\n%s\n", s.paint(bad, "- accepted: by "+name+from), s.paint(good, "+ "+held+": "+Safe(d.Dump)))
	same := 0
	for _, t := range d.Types {
		words := []string{}
		if t.Same > 0 {
			words = append(words, Number(t.Same)+" the same")
		}
		if t.Elsewhere > 0 {
			words = append(words, Number(t.Elsewhere)+" that were not asked for in the session")
		}
		same += t.Same
		fmt.Fprintf(&b, "  %s  %s\n", PadRight(Safe(t.Type), typeWidth), strings.Join(words, ", "))
	}
	differ := d.list(&b, s, context, true)
	d.list(&b, s, context, false)
	for _, n := range d.Notes {
		b.WriteString("i " + Safe(n) + "\n")
	}
	if len(d.NotDumped) > 0 {
		b.WriteString("i not in the dump, so not compared: " + Safe(strings.Join(d.NotDumped, ", ")) + "\n")
	}
	switch {
	case differ > 0:
		fmt.Fprintf(&b, "\n%s\n", Count(differ, differing[0], differing[1]))
	case same == 0:
		b.WriteString("\nnothing could be compared\n")
	default:
		fmt.Fprintf(&b, "\n%s\n", Count(same, alike[0], alike[1]))
	}
	return b.String()
}

// list names the resources that are differences, or those that are none.
func (d *HeldDiff) list(b *strings.Builder, s Style, context int, differences bool) (n int) {
	for i := range d.Resources {
		r := &d.Resources[i]
		if r.Difference != differences {
			continue
		}
		if n++; n <= maxHeld {
			r.text(b, s, context, d.By)
		}
	}
	if n > maxHeld {
		fmt.Fprintf(b, "… and %s more; -o json lists all\n", Number(n-maxHeld))
	}
	return n
}

func (r *HeldResource) text(b *strings.Builder, s Style, context int, by string) {
	sign, look := "!", warned
	if !r.Difference {
		sign, look = "i", plain
	}
	words := map[string]string{
		string(compare.NotSent): "held, and never sent", string(compare.NotHeld): "accepted, and not held",
		string(compare.Removed): "taken back, and still held", string(compare.Kept): "taken back, and kept while something refers to it",
		string(compare.Warming): "accepted, and still warming", string(compare.Differs): "held in another content than was accepted",
		string(compare.Rejected): "rejected", string(compare.Partial): "held, though the response was rejected",
		string(compare.Unknown): "not known", string(compare.Awaited): "asked for, and not received",
	}
	if by == byIstiod {
		words[string(compare.NotSent)], words[string(compare.NotHeld)] = "istiod would send it, and never did", "accepted, and istiod would not send it"
		words[string(compare.Removed)], words[string(compare.Kept)] = "taken back, and istiod would send it", "taken back, and istiod would send it"
		words[string(compare.Differs)], words[string(compare.Partial)] = "istiod would send another content than was accepted", "rejected, and istiod would send the same"
	}
	where := ""
	switch {
	case r.Accepted != nil:
		where = " [" + r.Accepted.text() + "]"
	case r.Held != nil && r.Held.Version != "" && r.Difference:
		where = " [" + Safe(r.Held.Version) + "]"
	}
	line := sign + " " + Safe(r.Type) + " " + Safe(r.Name) + ": " + words[r.State]
	if r.Why != "" {
		line += ": " + Safe(r.Why)
	}
	if from := MadeFrom(r.Sources, r.MoreSources, 2); from != "" && r.Difference {
		where += ", " + from
	}
	b.WriteString(s.paint(look, line+where) + "\n")
	if r.changes != nil {
		for l := range DiffLines(r.changes, context) {
			b.WriteString("    " + l.Line(s, 0) + "\n")
		}
	}
}
