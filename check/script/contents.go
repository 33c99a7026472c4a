package script

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// contents gives the payloads of resources their descriptions.
type contents struct {
	inspector *inspect.Inspector
	// seen are the descriptions of payloads by their bytes. It is emptied when
	// it is full, and then filled anew.
	seen map[[16]byte]*described
	// labels are the hashes of the contents of a resource, and used the other way
	// round.
	labels map[contentKey]string
	used   map[labelKey]struct{}
	// clusters are what made says of clusters that differ in their names alone.
	clusters map[clusterKey]*inspect.Facts
}

// clusterKey is a cluster that refers to its endpoints and to nothing else.
type clusterKey struct {
	typeURL, source string
	service         bool // endpoints have a name of their own
}

type contentKey struct {
	resource [16]byte // type and name
	content  [16]byte
}

type labelKey struct {
	resource [16]byte
	label    string
}

const (
	maxSeen   = 1 << 16
	maxLabels = 1 << 18
	// maxClusters is beyond what there can be: type URLs, but for the version in
	// them, times config sources.
	maxClusters = 1 << 10
)

func newContents() *contents {
	return &contents{
		inspector: inspect.New(nil), seen: make(map[[16]byte]*described),
		labels: make(map[contentKey]string), used: make(map[labelKey]struct{}),
		clusters: make(map[clusterKey]*inspect.Facts),
	}
}

// described is what a script says of a payload, but for its label.
type described struct {
	resource   synth.Resource
	facts      *inspect.Facts
	refs       int64 // references that are left out
	faults     int64
	noContents bool // everything that may differ is in the references
}

func hash16(parts ...string) (out [16]byte) {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	copy(out[:], h.Sum(nil))
	return out
}

// describe looks into a payload.
func (c *contents) describe(typeURL string, body []byte, masked bool) *described {
	key := hash16(typeURL, string(body), strconv.FormatBool(masked))
	if d := c.seen[key]; d != nil {
		return d
	}
	f := c.inspector.Inspect(typeURL, body, masked)
	d := &described{facts: f, resource: synth.Resource{TypeURL: typeURL, Name: f.Name}}
	if d.resource.Corrupt = f.Undecodable != ""; !d.resource.Corrupt {
		d.refer(f)
		d.scope(f)
		d.fault(c, f)
	}
	if len(c.seen) >= maxSeen {
		clear(c.seen)
	}
	c.seen[key] = d
	return d
}

// try changes the resource if the change can be made.
func (d *described) try(change func(*synth.Resource)) bool {
	next := d.resource
	next.Refs.Clusters = slices.Clip(next.Refs.Clusters)
	change(&next)
	if next.Check() != nil {
		return false
	}
	d.resource = next
	return true
}

// refer writes down the references that a script can carry.
func (d *described) refer(f *inspect.Facts) {
	source := inspect.SourceNone
	for _, ref := range f.Refs {
		ok := false
		switch {
		case ref.Use == inspect.UseService, ref.Source != inspect.SourceNone && source != inspect.SourceNone && ref.Source != source:
		default:
			ok = d.try(func(r *synth.Resource) { refer(&r.Refs, ref, r.Name) })
		}
		if ok && source == inspect.SourceNone && ref.Source != inspect.SourceNone {
			source = ref.Source
			word := map[inspect.Source]string{inspect.SourceSelf: "self", inspect.SourceOther: "grpc", inspect.SourceFile: "grpc"}[source]
			d.try(func(r *synth.Resource) { r.Refs.Source = word })
		}
	}
	d.noContents = xds.ShortType(d.resource.TypeURL) == "SRDS" && len(d.resource.Refs.Routes) > 0
}

func refer(refs *synth.Refs, ref inspect.Ref, name string) {
	if ref.Type == "CDS" {
		refs.Clusters = append(refs.Clusters, ref.Name)
		return
	}
	i := slices.IndexFunc(references, func(of reference) bool { return of.typ != "" && of.typ == ref.Type })
	switch {
	case i < 0:
		return
	case references[i].flag != nil:
		*references[i].flag(refs) = true
	default:
		names := references[i].names(refs)
		*names = append(slices.Clip(*names), ref.Name)
	}
	switch {
	case ref.Type == "EDS" && ref.Name != name:
		refs.EDSName = ref.Name
	case ref.Type == "ECDS":
		refs.Default = ref.Default
	}
}

// scope writes down the scope key. One of several fragments becomes one fragment
// with all of it.
func (d *described) scope(f *inspect.Facts) {
	if f.ScopeKey == "" {
		return
	}
	key, err := strconv.Unquote(f.ScopeKey)
	if err != nil {
		key = f.ScopeKey
	}
	if key != d.resource.Name && !d.try(func(r *synth.Resource) { r.ScopeKey = key }) {
		d.faults++
	}
}

// fault adds the markers of faults that the resource would not have without
// them, and counts the references that it lacks.
func (d *described) fault(c *contents, f *inspect.Facts) {
	if len(f.Refs)+len(f.Unknown)+len(f.Deprecated)+len(f.Invalid) == 0 {
		return
	}
	made := c.made(&d.resource)
	for _, ref := range f.Refs {
		if !slices.Contains(made.Refs, ref) {
			d.refs++
		}
	}
	for _, m := range []struct {
		has, had bool
		mark     func(*synth.Resource)
	}{
		{len(f.Unknown) > 0, len(made.Unknown) > 0, func(r *synth.Resource) { r.Unknown = true }},
		{len(f.Deprecated) > 0, len(made.Deprecated) > 0, func(r *synth.Resource) { r.Dated = true }},
		{len(f.Invalid) > 0, len(made.Invalid) > 0, func(r *synth.Resource) { r.Invalid = true }},
	} {
		if m.has && !m.had && !d.try(m.mark) {
			d.faults++
		}
	}
}

// made looks into the payload that is made of a description. Large responses are
// mostly clusters that refer to their endpoints alone: of these, one is made, and
// the others say the same with another name.
func (c *contents) made(r *synth.Resource) *inspect.Facts {
	refs := &r.Refs
	key := clusterKey{r.TypeURL, refs.Source, refs.EDSName != ""}
	alike := refs.EDS && r.Name != "" && r.ScopeKey == "" &&
		len(refs.Clusters)+len(refs.Routes)+len(refs.Secrets)+len(refs.Filters)+len(refs.Groups) == 0
	name := cmp.Or(refs.EDSName, r.Name)
	if known := c.clusters[key]; alike && known != nil {
		f := *known
		f.Refs = slices.Clone(f.Refs)
		for i := range f.Refs {
			f.Refs[i].Name = name
		}
		return &f
	}
	f := c.inspector.Inspect(r.TypeURL, r.Body(), false)
	if alike && len(c.clusters) < maxClusters && !slices.ContainsFunc(f.Refs, func(ref inspect.Ref) bool { return ref.Name != name }) {
		c.clusters[key] = f
	}
	return f
}

// notGRPC says whether a gRPC client would refuse the resource for a reason that
// the references do not show.
func (c *contents) notGRPC(d *described) bool {
	if len(d.facts.GRPCProblems) == 0 {
		return false
	}
	return len(c.inspector.Inspect(d.resource.TypeURL, d.resource.Body(), false).GRPCProblems) == 0
}

// label is the short name of a content. In delta the version is preferred, in
// the state of the world nothing at all.
func (c *contents) label(d *described, name, prefer string) string {
	if d.noContents {
		return prefer
	}
	id := hash16(d.resource.TypeURL, name)
	key := contentKey{id, d.facts.Hash}
	if l, ok := c.labels[key]; ok {
		return l
	}
	if len(c.labels) >= maxLabels {
		return hex.EncodeToString(d.facts.Hash[:8])
	}
	l := prefer
	for n := 2; ; n++ {
		if _, taken := c.used[labelKey{id, l}]; !taken {
			break
		}
		l = strconv.Itoa(n)
	}
	c.labels[key] = l
	c.used[labelKey{id, l}] = struct{}{}
	return l
}

// refsText is what stands in curly brackets.
func (w *writer) refsText(refs *synth.Refs) string {
	var out []string
	for _, n := range refs.Clusters {
		t := w.text(n)
		if wordOf(references, n) != nil {
			t = strconv.Quote(n)
		}
		out = append(out, t)
	}
	for _, of := range references {
		switch {
		case of.names != nil:
			for _, n := range *of.names(refs) {
				out = append(out, of.word+"="+w.value(n))
			}
		case of.word == "eds" && refs.EDSName != "":
			out = append(out, "eds="+w.value(refs.EDSName))
		case of.flag == nil && refs.Source != "":
			out = append(out, of.word+"="+w.value(refs.Source))
		case of.flag != nil && *of.flag(refs):
			out = append(out, of.word)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "{" + strings.Join(out, ",") + "}"
}
