package configdump

import (
	"net/netip"
	"slices"

	"github.com/xdsproxy/xdsproxy/decode/document"
)

// Empty says whether these are endpoints, and there are none: so Envoy dumps a
// cluster that came into use before it got any.
func (r *Resource) Empty() bool {
	doc := document.Any(r.TypeURL, r.Body)
	_, any := doc.Root.Get("endpoints")
	return r.Body != nil && r.Type == "EDS" && !any
}

// samePlaces rewrites two ClusterLoadAssignments to what a dump can have of
// them: the places, their addresses, weights and metadata, and how healthy they
// are. Health that is worse in the dump than it was sent is what Envoy found out
// itself; weights of localities are dumped where the cluster uses them.
func samePlaces(sent, held *document.Tree) {
	a, b := places(sent), places(held)
	weighted := slices.ContainsFunc(b.Items, func(l document.Tree) bool { _, is := l.Get("load_balancing_weight"); return is })
	known := map[string]string{}
	each(&a, func(key string, place *document.Tree) { known[key] = health(place) })
	each(&b, func(key string, place *document.Tree) {
		if was, is := known[key]; is && slices.Index(worse, health(place)) > slices.Index(worse, was) {
			at, _ := place.Get("health_status")
			*at = word(was)
		}
	})
	if !weighted {
		for i := range a.Items {
			remove(&a.Items[i], "load_balancing_weight")
		}
	}
	for _, of := range []struct {
		to *document.Tree
		by document.Tree
	}{{sent, a}, {held, b}} {
		var kept []document.Member
		for _, m := range of.to.Members {
			if m.Name == "@type" || m.Name == "cluster_name" {
				kept = append(kept, m)
			}
		}
		of.to.Members = append(kept, document.Member{Name: "endpoints", Value: of.by})
	}
}

// worse are the states of health that Envoy tells apart, the better ones first.
var worse = []string{"HEALTHY", "DEGRADED", "UNHEALTHY"}

func word(s string) document.Tree { return document.Tree{Kind: document.String, Text: s} }

func health(place *document.Tree) string {
	if h, is := place.Get("health_status"); is {
		switch h.Text {
		case "DEGRADED":
			return h.Text
		case "UNHEALTHY", "DRAINING", "TIMEOUT":
			return "UNHEALTHY"
		}
	}
	return "HEALTHY"
}

// each calls f for the places of a list that places made. key tells them apart.
func each(t *document.Tree, f func(key string, place *document.Tree)) {
	for i := range t.Items {
		l := &t.Items[i]
		in, _ := l.Get("lb_endpoints")
		for j := range in.Items {
			f(group(l)+addressOf(&in.Items[j]), &in.Items[j])
		}
	}
}

// addressOf is where a place of places is, as text.
func addressOf(place *document.Tree) string {
	at, _ := place.Get("endpoint")
	address, _ := at.Get("address")
	return compact(address)
}

// places are the localities of an assignment, those of one priority and place
// together. Of endpoints with the same address Envoy takes the first.
func places(t *document.Tree) document.Tree {
	out := document.Tree{Kind: document.Array}
	all, _ := t.Get("endpoints")
	if all == nil {
		return out
	}
	at, met := map[string]int{}, map[string]bool{}
	for i := range all.Items {
		l := pick(&all.Items[i], "locality", "load_balancing_weight", "priority")
		in, _ := all.Items[i].Get("lb_endpoints")
		if in == nil {
			continue
		}
		key := group(&l)
		for j := range in.Items {
			one := place(&in.Items[j])
			if where := addressOf(&one); met[where] {
				continue
			} else if where != "{}" {
				met[where] = true
			}
			n, again := at[key]
			if !again {
				n = len(out.Items)
				at[key] = n
				l.Members = append(l.Members, document.Member{Name: "lb_endpoints", Value: document.Tree{Kind: document.Array}})
				out.Items = append(out.Items, l)
			}
			to, _ := out.Items[n].Get("lb_endpoints")
			to.Items = append(to.Items, one)
		}
	}
	return out
}

// group is the same for localities that Envoy takes for one.
func group(l *document.Tree) string {
	where := pick(l, "locality", "priority")
	return compact(&where)
}

// place is one endpoint as a dump has it.
func place(t *document.Tree) document.Tree {
	out := pick(t, "metadata", "load_balancing_weight")
	if w, is := out.Get("load_balancing_weight"); is && w.Text == "1" {
		remove(&out, "load_balancing_weight")
	}
	at := document.Tree{}
	if e, is := t.Get("endpoint"); is {
		at = pick(e, "hostname", "health_check_config")
		if check, is := at.Get("health_check_config"); is {
			if *check = pick(check, "hostname", "port_value"); len(check.Members) == 0 {
				remove(&at, "health_check_config")
			}
		}
		if a, is := e.Get("address"); is {
			at.Members = append(at.Members, document.Member{Name: "address", Value: address(a)})
		}
	}
	if _, is := at.Get("address"); !is {
		at.Members = append(at.Members, document.Member{Name: "address", Value: document.Tree{}})
	}
	out.Members = append(
		[]document.Member{{Name: "endpoint", Value: at}, {Name: "health_status", Value: word(health(t))}},
		out.Members...,
	)
	return out
}

// address is one with its IP in the one form in which Envoy writes it.
func address(t *document.Tree) document.Tree {
	s, is := t.Get("socket_address")
	if !is {
		return *t
	}
	out := pick(s, "address", "port_value")
	if text, is := out.Get("address"); is {
		if ip, err := netip.ParseAddr(text.Text); err == nil {
			text.Text = ip.String()
		}
	}
	return document.Tree{Members: []document.Member{{Name: "socket_address", Value: out}}}
}

// pick returns those members of an object that have a value other than nothing.
func pick(t *document.Tree, names ...string) document.Tree {
	var out document.Tree
	for _, n := range names {
		v, is := t.Get(n)
		if !is || v.Text == "0" || v.Kind == document.String && v.Text == "" || v.Kind == document.Object && len(v.Members) == 0 {
			continue
		}
		out.Members = append(out.Members, document.Member{Name: n, Value: *v})
	}
	return out
}

func compact(t *document.Tree) string { return string(document.Document{Root: *t}.Compact()) }
