package script

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// resourceWriter writes the elements of res=, one after the other.
type resourceWriter struct {
	w        *writer
	r        *decode.Resource
	delta    bool
	masked   bool
	grpc     bool   // it matters what gRPC refuses
	expected string // type of a resource that does not name one
	aliases  bool   // they are written here
	nameless bool   // the wrapper has no name, and Peek took the payload's

	out synth.Resource
	b   strings.Builder
}

// write writes the element for r.
func (x *resourceWriter) write() {
	r, w := x.r, x.w
	d := &described{resource: synth.Resource{TypeURL: x.expected}}
	if !r.Empty {
		d = w.contents.describe(r.TypeURL, r.Body, x.masked)
		w.lost[lostRefs] += d.refs
		w.lost[lostFaults] += d.faults
	}
	x.out = d.resource
	o := &x.out
	o.Name, o.Version, o.Aliases, o.TTL, o.HasTTL, o.Empty = r.Name, r.Version, r.Aliases, r.TTL, r.HasTTL, r.Empty
	o.Wrapped, o.BothNames, o.Variant = r.Wrapped || x.delta, r.BothNames, variant(r.Constraints)
	switch {
	case x.nameless:
		o.Name = ""
	case !o.Wrapped && !r.Empty && d.facts.Named:
		o.Name = d.facts.Name // also one that Peek does not take for a name
	}
	var attributes []string
	switch url := o.TypeURL; {
	case r.Empty:
		x.b.WriteString("hb:")
	case r.Wrapped && !x.delta:
		x.b.WriteString("w:")
		fallthrough
	default:
		if word := xds.TypeWord(url); url != x.expected && word != "" {
			x.b.WriteString(word + ":")
		} else if url != x.expected {
			attributes = append(attributes, "type="+w.typeText(url))
		}
	}
	x.b.WriteString(x.name(o.Name))
	switch {
	case x.delta && (!r.Empty || r.Version != ""), r.Version != "":
		x.b.WriteString("@" + w.value(r.Version))
	}
	if !r.Empty {
		attributes = append(attributes, x.payload(d)...)
	}
	if r.HasTTL {
		x.b.WriteString("~" + r.TTL.String())
	}
	if x.aliases {
		for _, a := range r.Aliases {
			attributes = append(attributes, "alias="+w.value(a))
		}
	}
	if o.Variant != "" {
		attributes = append(attributes, "variant="+w.text(o.Variant))
	}
	if o.BothNames {
		attributes = append(attributes, "both-names")
	}
	if len(attributes) > 0 {
		x.b.WriteString("(" + strings.Join(attributes, ",") + ")")
	}
}

// name is the name of a resource, in quotes if it could be taken for more.
func (x *resourceWriter) name(s string) string {
	t := x.w.text(s)
	if prefix, _, ok := strings.Cut(t, ":"); ok && t[0] != '"' && (prefix == "w" || prefix == "hb" || xds.TypeURL(prefix) != "") {
		return strconv.Quote(s)
	}
	return t
}

// payload writes what is known of the payload, and returns what belongs in round
// brackets.
func (x *resourceWriter) payload(d *described) (attributes []string) {
	w, o := x.w, &x.out
	own := o.Name
	if d.facts.Named && d.facts.Name != o.Name && o.Wrapped {
		own, o.OwnName, o.Payload = d.facts.Name, true, d.facts.Name
		attributes = append(attributes, "payload="+w.value(own))
	} else if x.nameless && x.r.Name != "" {
		o.OwnName, o.Payload = true, x.r.Name
		attributes = append(attributes, "payload="+w.value(x.r.Name))
	}
	natural := ""
	if x.delta && !d.noContents {
		natural = x.r.Version
	}
	o.Content = w.contents.label(d, own, natural)
	if d.noContents {
		o.Content = ""
	} else if o.Content != natural {
		x.b.WriteString("#" + x.hash(o.Content))
	}
	if o.ScopeKey != "" {
		if strings.HasPrefix(o.ScopeKey, "key") && w.text(o.ScopeKey) == o.ScopeKey {
			x.b.WriteString("#" + o.ScopeKey)
		} else {
			x.b.WriteString("#key=" + strconv.Quote(o.ScopeKey))
		}
	}
	if x.grpc && w.contents.notGRPC(d) {
		next := *o
		if next.NotGRPC = true; next.Check() == nil && !o.Corrupt {
			*o = next
		}
	}
	for _, m := range markers {
		if *m.of(o) {
			x.b.WriteString("#" + m.word)
		}
	}
	x.b.WriteString(w.refsText(&o.Refs))
	return attributes
}

// hash is the text of a content.
func (x *resourceWriter) hash(label string) string {
	t := x.w.text(label)
	if wordOf(markers, label) != nil || strings.HasPrefix(label, "key") {
		return strconv.Quote(label)
	}
	return t
}

// variant is a text that stands for constraints on dynamic parameters: the value
// asked for, where a script made them.
func variant(constraints string) string {
	if constraints == "" {
		return ""
	}
	// The value is the last text in it.
	for i := len(constraints) - 1; i >= 0; i-- {
		if v := constraints[i:]; string(synth.Constraints(v)) == constraints {
			return v
		}
		if len(constraints)-i > 64 {
			break
		}
	}
	sum := hash16(constraints)
	return hex.EncodeToString(sum[:8])
}
