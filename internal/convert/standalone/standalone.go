package standalone

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Client is what is known of a client.
type Client struct {
	// Node is its core.v3.Node in JSON; empty: it named none.
	Node []byte
	// Resources are those that it accepted, by their short type.
	Resources map[string][]*decode.Resource
	// Clusters are the names of those that it had from its own bootstrap.
	Clusters []string
	// Pair makes a certificate and its key, in PEM, in the place of one that the
	// client had from elsewhere.
	Pair func(name string) (chain, key []byte, err error)
}

// Types are those that have a place in a bootstrap.
func Types() []string {
	return []string{"LDS", "RDS", "SRDS", "VHDS", "CDS", "EDS", "LEDS", "SDS", "ECDS", "RTDS"}
}

// maxNotes bounds what is said.
const maxNotes = 100

// Make makes the bootstrap, and says what it lacks.
func Make(c *Client) (document.Document, []string) {
	m := &maker{client: c, has: map[string]map[string]*document.Tree{}, needs: map[string]string{}}
	for _, typ := range Types() {
		m.read(typ, c.Resources[typ])
	}
	var static, top document.Tree
	listeners, clusters := m.static("LDS"), m.static("CDS")
	for _, name := range c.Clusters {
		if m.has["CDS"][name] == nil {
			clusters.Items = append(clusters.Items, nowhere(name))
			m.note("cluster %q was in the client's own bootstrap: the one in its place leads nowhere", name)
		}
	}
	for _, list := range []member{{Name: "listeners", Value: listeners}, {Name: "clusters", Value: clusters}, {Name: "secrets", Value: m.secrets()}} {
		if len(list.Value.Items) > 0 {
			static.Members = append(static.Members, list)
		}
	}
	if node := document.JSON("", c.Node).Root; len(node.Members) > 0 {
		top.Members = append(top.Members, member{Name: "node", Value: node})
	}
	top.Members = append(top.Members, member{Name: "static_resources", Value: static})
	if layers := m.layers(); len(layers.Items) > 0 {
		top.Members = append(top.Members, member{Name: "layered_runtime", Value: object(member{Name: "layers", Value: layers})})
	}
	if m.internal {
		const typ = "type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener"
		top.Members = append(top.Members, member{Name: "bootstrap_extensions", Value: list(object(
			member{Name: "name", Value: text("envoy.bootstrap.internal_listener")}, member{Name: "typed_config", Value: object(member{Name: "@type", Value: text(typ)})},
		))})
	}
	// Port 0: whoever wants to know it says --admin-address-path.
	top.Members = append(top.Members, member{Name: "admin", Value: object(member{Name: "address", Value: object(member{Name: "socket_address", Value: object(
		member{Name: "address", Value: text("127.0.0.1")}, member{Name: "port_value", Value: document.Tree{Kind: document.Number, Text: "0"}},
	)})})})
	for _, typ := range []string{"RDS", "EDS", "LEDS", "ECDS", "SRDS", "VHDS"} {
		if names := m.unused(typ); len(names) > 0 {
			m.note("nothing refers to %s of %s, and none is in the bootstrap: %s", count(len(names)), typ, some(names))
		}
	}
	return document.Document{Root: top}, m.notes
}

type member = document.Member

type maker struct {
	client   *Client
	has      map[string]map[string]*document.Tree // by type and name
	used     map[string]bool                      // "TYPE name"
	needs    map[string]string                    // secrets that something uses: by name, the field that does
	internal bool                                 // there is a listener inside Envoy
	regexes  bool
	notes    []string
}

func (m *maker) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); len(m.notes) < maxNotes && !slices.Contains(m.notes, n) {
		m.notes = append(m.notes, n)
	}
}

func (m *maker) read(typ string, all []*decode.Resource) {
	m.has[typ] = map[string]*document.Tree{}
	for _, r := range all {
		doc := r.Decode()
		at := doc.Root
		at.Members = without(at.Members, "@type")
		m.known(&at, typ+" "+r.Name)
		m.has[typ][decode.NormalName(r.Name)] = &at
	}
}

// known takes away what no JSON that Envoy reads has: fields of a newer API, and
// elements of lists whose typed_config is of a type that this program does not know.
func (m *maker) known(t *document.Tree, of string) {
	t.Members = slices.DeleteFunc(t.Members, func(n member) bool {
		lost := n.Name == "@unknown" || n.Name == "@undecoded" || n.Name == "@bytes"
		if lost {
			m.note("%s has fields that this program does not know: they are left out", of)
		}
		return lost
	})
	t.Items = slices.DeleteFunc(t.Items, func(it document.Tree) bool {
		config, is := it.Get("typed_config")
		if !is {
			return false
		}
		url := word(config, "@type")
		lost := url != "" && (*descriptors.Types)(nil).Find(protoreflect.FullName(xds.TypeName(url))) == nil
		if lost {
			m.note("%s: %q is of a type that this program does not know, %s: it is left out", of, word(&it, "name"), xds.TypeName(url))
		}
		return lost
	})
	for i := range t.Members {
		m.known(&t.Members[i].Value, of)
	}
	for i := range t.Items {
		m.known(&t.Items[i], of)
	}
}

// static are all resources of a type, in the order of their names, complete.
func (m *maker) static(typ string) document.Tree {
	out := document.Tree{Kind: document.Array}
	for _, name := range m.names(typ) {
		r := m.copyOf(typ, name)
		m.complete(r, place{of: typ + " " + name})
		if typ == "CDS" {
			m.cluster(r, name)
		}
		out.Items = append(out.Items, *r)
	}
	return out
}

// copyOf is a resource that has its place; nil if there is none.
func (m *maker) copyOf(typ, name string) *document.Tree {
	r := m.has[typ][decode.NormalName(name)]
	if r == nil {
		return nil
	}
	if m.used == nil {
		m.used = map[string]bool{}
	}
	m.used[typ+" "+decode.NormalName(name)] = true
	c := clone(*r)
	return &c
}

func (m *maker) unused(typ string) (names []string) {
	for _, name := range m.names(typ) {
		if !m.used[typ+" "+name] {
			names = append(names, name)
		}
	}
	return names
}

// nowhere is a cluster of which only the name is known.
func nowhere(name string) document.Tree {
	return object(member{Name: "name", Value: text(name)}, member{Name: "type", Value: text("STATIC")}, member{Name: "load_assignment", Value: object(member{Name: "cluster_name", Value: text(name)})})
}
