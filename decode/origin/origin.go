package origin

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Most bounds the sources that are told of one resource.
const Most = 32

// Of lists the sources of a resource, of which there are the type and the value of
// its Any, or the JSON object of a REST message: each once, in the order in which
// they stand there, and at most so many. More says that there are more.
func Of(typeURL string, body []byte, most int) (list []Source, more bool) {
	if len(body) > 0 && body[0] == '{' { // in protobuf the start of a group, which no type has
		var a anypb.Any
		if _, err := lenient.JSON(body).Into(&a, protoregistry.GlobalTypes); err != nil {
			return nil, false
		}
		body = a.Value
	}
	w := walker{most: most}
	if anySystem(body) { // few have, and this is cheaper than to walk
		w.walk(shapeOf(xds.TypeName(typeURL)), body)
	}
	if len(w.found) == 0 {
		if s, is := Named(xds.ShortType(typeURL), string(protoscan.Last(body, 1))); is {
			return []Source{s}, false
		}
	}
	return w.found, w.more
}

// shape is where a message has its name, its metadata, and parts that have
// metadata of their own.
type shape struct {
	name, metadata protowire.Number
	parts          []part
	// any says that it is an Any, of which only that type is looked into, as what
	// its part 2 says.
	any string
}

type part struct {
	num protowire.Number
	of  *shape
}

// The shapes of the types of xDS. The numbers are those of envoy.config.*.v3;
// version 2 has the same.
var (
	endpoint   = &shape{metadata: 3}
	locality   = &shape{metadata: 9, parts: []part{{2, endpoint}}}
	assignment = &shape{name: 1, parts: []part{{2, locality}}}
	cluster    = &shape{name: 1, metadata: 25, parts: []part{{33, assignment}}}
	route      = &shape{name: 14, metadata: 4}
	host       = &shape{name: 1, metadata: 24, parts: []part{{3, route}}}
	routes     = &shape{name: 1, metadata: 17, parts: []part{{2, host}}}
	scope      = &shape{name: 1, parts: []part{{5, routes}}}
	manager    = &shape{parts: []part{{4, routes}}}
	anyManager = &shape{any: "HttpConnectionManager", parts: []part{{2, manager}}}
	filter     = &shape{parts: []part{{4, anyManager}}}
	chain      = &shape{name: 7, metadata: 5, parts: []part{{3, filter}}}
	apiOf      = &shape{parts: []part{{1, anyManager}}}
	listener   = &shape{name: 1, metadata: 6, parts: []part{{3, chain}, {25, chain}, {19, apiOf}}}
)

func shapeOf(typ string) *shape {
	if !strings.HasPrefix(typ, "envoy.") {
		return nil
	}
	switch last(typ) {
	case "Cluster":
		return cluster
	case "ClusterLoadAssignment":
		return assignment
	case "LbEndpoint":
		return endpoint
	case "Listener":
		return listener
	case "RouteConfiguration":
		return routes
	case "VirtualHost":
		return host
	case "ScopedRouteConfiguration":
		return scope
	}
	return nil
}

// last is the name of a type without its package.
func last(typ string) string { return typ[strings.LastIndexByte(typ, '.')+1:] }

// walker collects sources.
type walker struct {
	most  int
	found []Source
	more  bool
}

func (w *walker) walk(s *shape, b []byte) {
	if s == nil || w.more {
		return
	}
	if s.any != "" && last(string(protoscan.Last(b, 1))) != s.any {
		return
	}
	if s.metadata != 0 {
		if m := protoscan.Last(b, s.metadata); m != nil {
			at := place{}
			if s.name != 0 {
				at.name = protoscan.Last(b, s.name)
			}
			w.metadata(&at, m)
		}
	}
	if s.parts == nil {
		return
	}
	for m := protoscan.Of(b); m.Next() && !w.more; {
		for _, p := range s.parts {
			if body, ok := m.Bytes(); ok && p.num == m.Num {
				w.walk(p.of, body)
			}
		}
	}
}

// metadata reads an envoy.config.core.v3.Metadata: its filter_metadata.
func (w *walker) metadata(at *place, b []byte) {
	for m := protoscan.Of(b); m.Next(); {
		entry, ok := m.Bytes()
		if !ok || m.Num != 1 {
			continue
		}
		key, body := protoscan.Last(entry, 1), protoscan.Last(entry, 2)
		for i := range systems {
			s := &systems[i]
			if s.key != string(key) && (s.prefix == "" || !strings.HasPrefix(string(key), s.prefix)) {
				continue
			}
			s.read(at, string(key), body, func(found Source) {
				found.System = s.name
				w.add(found)
			})
		}
	}
}

func (w *walker) add(s Source) {
	switch {
	case s.Name == "" || w.more || slices.Contains(w.found, s):
	case len(w.found) >= w.most:
		w.more = true
	default:
		w.found = append(w.found, s)
	}
}
