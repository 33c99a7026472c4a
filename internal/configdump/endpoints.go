package configdump

import (
	"net/netip"
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
)

// Empty says whether these are endpoints, and there are none: so Envoy dumps a
// cluster that came into use before it got any.
func (r *Resource) Empty() bool {
	doc := decode.DecodeAny(r.TypeURL, r.Body)
	_, any := doc.Root.Get("endpoints")
	return r.Body != nil && r.Type == "EDS" && !any
}

// samePlaces rewrites two ClusterLoadAssignments to what a dump can have of
// them: the places, their addresses, weights and metadata, and how healthy they
// are. Health that is worse in the dump than it was sent is what Envoy found out
// itself; weights of localities are dumped where the cluster uses them.
func samePlaces(sent, held *decode.Tree) {
	a, b := places(sent), places(held)
	weighted := slices.ContainsFunc(b.Items, func(l decode.Tree) bool { _, is := l.Get("load_balancing_weight"); return is })
	known := map[string]string{}
	each(&a, func(key string, place *decode.Tree) { known[key] = health(place) })
	each(&b, func(key string, place *decode.Tree) {
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
		to *decode.Tree
		by decode.Tree
	}{{sent, a}, {held, b}} {
		var kept []decode.Member
		for _, m := range of.to.Members {
			if m.Name == "@type" || m.Name == "cluster_name" {
				kept = append(kept, m)
			}
		}
		of.to.Members = append(kept, decode.Member{Name: "endpoints", Value: of.by})
	}
}

// worse are the states of health that Envoy tells apart, the better ones first.
var worse = []string{"HEALTHY", "DEGRADED", "UNHEALTHY"}

func word(s string) decode.Tree { return decode.Tree{Kind: decode.String, Text: s} }

func health(place *decode.Tree) string {
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
func each(t *decode.Tree, f func(key string, place *decode.Tree)) {
	for i := range t.Items {
		l := &t.Items[i]
		in, _ := l.Get("lb_endpoints")
		for j := range in.Items {
			at, _ := in.Items[j].Get("endpoint")
			address, _ := at.Get("address")
			f(group(l)+compact(address), &in.Items[j])
		}
	}
}

// places are the localities of an assignment, those of one priority and place
// together.
func places(t *decode.Tree) decode.Tree {
	out := decode.Tree{Kind: decode.Array}
	all, _ := t.Get("endpoints")
	if all == nil {
		return out
	}
	at := map[string]int{}
	for i := range all.Items {
		l := pick(&all.Items[i], "locality", "load_balancing_weight", "priority")
		in, _ := all.Items[i].Get("lb_endpoints")
		if in == nil || len(in.Items) == 0 {
			continue
		}
		list := decode.Tree{Kind: decode.Array}
		key := group(&l)
		n, again := at[key]
		if !again {
			n = len(out.Items)
			at[key] = n
			l.Members = append(l.Members, decode.Member{Name: "lb_endpoints", Value: list})
			out.Items = append(out.Items, l)
		}
		to, _ := out.Items[n].Get("lb_endpoints")
		for j := range in.Items {
			to.Items = append(to.Items, place(&in.Items[j]))
		}
	}
	return out
}

// group is the same for localities that Envoy takes for one.
func group(l *decode.Tree) string {
	where := pick(l, "locality", "priority")
	return compact(&where)
}

// place is one endpoint as a dump has it.
func place(t *decode.Tree) decode.Tree {
	out := pick(t, "metadata", "load_balancing_weight")
	if w, is := out.Get("load_balancing_weight"); is && w.Text == "1" {
		remove(&out, "load_balancing_weight")
	}
	at := decode.Tree{}
	if e, is := t.Get("endpoint"); is {
		at = pick(e, "hostname", "health_check_config")
		if check, is := at.Get("health_check_config"); is {
			if *check = pick(check, "hostname", "port_value"); len(check.Members) == 0 {
				remove(&at, "health_check_config")
			}
		}
		if a, is := e.Get("address"); is {
			at.Members = append(at.Members, decode.Member{Name: "address", Value: address(a)})
		}
	}
	if _, is := at.Get("address"); !is {
		at.Members = append(at.Members, decode.Member{Name: "address", Value: decode.Tree{}})
	}
	out.Members = append(
		[]decode.Member{{Name: "endpoint", Value: at}, {Name: "health_status", Value: word(health(t))}},
		out.Members...,
	)
	return out
}

// address is one with its IP in the one form in which Envoy writes it.
func address(t *decode.Tree) decode.Tree {
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
	return decode.Tree{Members: []decode.Member{{Name: "socket_address", Value: out}}}
}

// pick returns those members of an object that have a value other than nothing.
func pick(t *decode.Tree, names ...string) decode.Tree {
	var out decode.Tree
	for _, n := range names {
		v, is := t.Get(n)
		if !is || v.Text == "0" || v.Kind == decode.String && v.Text == "" || v.Kind == decode.Object && len(v.Members) == 0 {
			continue
		}
		out.Members = append(out.Members, decode.Member{Name: n, Value: *v})
	}
	return out
}

func compact(t *decode.Tree) string { return string(decode.Document{Root: *t}.Compact()) }
