// Package inspect says of one resource what it refers to, whether it is sound, and
// what its content is, whatever the order in which it is encoded. It goes over the
// bytes once, with the types of the global registry, and takes about as long as it
// would to unmarshal them.
package inspect

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/xdsproxy/xdsproxy/decode/constraints"
	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/decode/origin"
	"github.com/xdsproxy/xdsproxy/internal/clip"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Facts are what one resource says, as far as it matters to the conversation.
type Facts struct {
	// Known says that the registry has the type. Of an unknown type there is
	// only the hash.
	Known bool
	// Name is the payload's own name. Named says that payloads of this type have
	// one: all types of xDS but LEDS do.
	Name  string
	Named bool
	// Refs are the resources that it refers to, each once.
	Refs []Ref
	// Undecodable says why the bytes, or those of an Any in them, are no message
	// of their type. It is empty for an unknown type.
	Undecodable string
	// Unknown says what the registry does not know: fields without a name and
	// types of Any. There are at most 8, one of a kind, such as
	// "transport_socket.typed_config: unknown type x.y.Z".
	Unknown []string
	// Deprecated are the fields that are no longer to be used, in the same
	// number: "dns_jitter", or "type: STRICT_DNS" where only the value is.
	Deprecated []string
	// Invalid are violations of protoc-gen-validate's constraints, of every Any
	// too, such as "connect_timeout: value must be greater than 0s". There are
	// at most 4, and none if secrets are masked or the resource is very large.
	// The first InvalidOwn of them are the resource's, the others of an Any in it.
	Invalid    []string
	InvalidOwn int
	// ScopeKey is the key of a scoped route configuration: each fragment as a
	// quoted string. Other types have none.
	ScopeKey string
	// Proven are clusters that the client has if it accepts the resource: it
	// looks them up (validate_clusters). There are at most 64.
	Proven []string
	// OnDemand says that clusters are asked for when a request is for them.
	OnDemand bool
	// EDS says that it is a cluster that gets its endpoints by EDS.
	EDS bool
	// Patient says that it is one for which the client was told to wait for the
	// endpoints without a limit, or longer than the usual 15 seconds.
	Patient bool
	// GRPCProblems are the reasons for which a gRPC client rejects it (gRFC A27,
	// A36, A37).
	GRPCProblems []string
	// Sources are the objects of a control plane that it was made of, as far as
	// it says so; MoreSources says that there are more.
	Sources     []origin.Source
	MoreSources bool
	// Hash is equal for equal content, whatever the order of fields and of map
	// entries in the encoding. If the resource cannot be decoded, it is that of
	// the bytes.
	Hash [16]byte
}

// Inspector finds the Facts of resources. It goes over their wire format with
// what it learned from the type's descriptor when it met the type first, and
// unmarshals only what seems to violate a constraint. One goroutine at a time
// may use it.
type Inspector struct {
	known         *descriptors.Types
	types         map[string]*typeFacts
	fieldRules    protoreflect.ExtensionType // nil: constraints are not known
	oneofRequired protoreflect.ExtensionType
	judge         *constraints.Judge

	// The rest is of the resource at hand.
	facts    *Facts
	top      *typeFacts
	masked   bool
	suspect  bool // the message of the innermost Any may violate a constraint
	muted    int  // > 0: in what counts for nothing
	proving  bool // in routes whose clusters the client looks up
	idle     bool // in what has the weight 0
	anys     int  // how deep in Any
	messages int  // in the innermost Any
	path     []step
	found    []string // what Unknown and Deprecated say, without the paths
	refs     []Ref
	refSet   map[Ref]struct{}  // of refs, if they are many
	sought   map[string]string // see Places

	canon   []byte // see inspectwalk.go
	runs    []run
	entries []mapEntry
	strays  []byte
	spare   []byte
}

const (
	maxProven    = 64
	maxUnknown   = 8
	maxInvalid   = 4
	maxValidated = 1 << 18 // messages within messages that are unmarshalled to be validated
	keepScratch  = 1 << 20 // bytes of working memory that an Inspector holds on to
)

// New returns an Inspector that knows the types of the global
// registry, see package decode/types, and those, which may be nil.
func New(types *descriptors.Types) *Inspector {
	in := &Inspector{known: types, types: make(map[string]*typeFacts), refSet: make(map[Ref]struct{}), judge: constraints.New()}
	in.fieldRules, _ = protoregistry.GlobalTypes.FindExtensionByName("validate.rules")
	in.oneofRequired, _ = protoregistry.GlobalTypes.FindExtensionByName("validate.required")
	return in
}

// Inspect finds the facts of a resource: the type and the value of its Any, or
// the JSON object of a REST message. It keeps nothing of body. In what is
// masked a mask is not taken for damage.
func (in *Inspector) Inspect(typeURL string, body []byte, masked bool) *Facts {
	f := &Facts{}
	t := in.byName([]byte(xds.TypeName(typeURL)))
	f.Known = t != nil
	if t == nil || masked && mask.Looks(body) || len(body) > maxInspect {
		f.Hash = hashOf(body)
		return f
	}
	raw := body
	if len(body) > 0 && body[0] == '{' { // in protobuf the start of a group, which no type has
		wire, ok := in.fromJSON(f, body, masked)
		if !ok {
			f.Hash = hashOf(body)
			return f
		}
		body = wire
	}
	f.Sources, f.MoreSources = origin.Of(typeURL, body, origin.Most)
	in.facts, in.top, in.masked = f, t, masked
	f.Named = xds.ByURL(t.name).NameField != ""
	if f.Named {
		f.Name = string(protoscan.Last(body, 1))
	}
	ok := in.root(t, body)
	if ok {
		f.Hash = hashOf(in.canon)
		f.Refs = append(f.Refs, in.refs...)
	} else {
		f.Hash = hashOf(raw)
		f.Invalid, f.InvalidOwn, f.Proven, f.OnDemand, f.EDS, f.ScopeKey, f.GRPCProblems = nil, 0, nil, false, false, "", nil
	}
	in.reset()
	return f
}

// Places says where a resource names clusters that requests or connections go
// to: of each the first place, such as "virtual_hosts[0].routes[2].route.cluster".
func (in *Inspector) Places(typeURL string, body []byte, masked bool, clusters []string) map[string]string {
	out := make(map[string]string, len(clusters))
	for _, c := range clusters {
		out[c] = ""
	}
	in.sought = out
	in.Inspect(typeURL, body, masked)
	in.sought = nil
	return out
}

func hashOf(b []byte) (h [16]byte) {
	sum := sha256.Sum256(b)
	copy(h[:], sum[:])
	return h
}

func (in *Inspector) reset() {
	in.facts, in.top, in.suspect, in.anys, in.messages, in.muted, in.proving, in.idle = nil, nil, false, 0, 0, 0, false, false
	clear(in.path[:cap(in.path)])
	in.path, in.found, in.runs, in.entries = in.path[:0], in.found[:0], in.runs[:0], in.entries[:0]
	in.canon, in.strays, in.spare = in.canon[:0], in.strays[:0], in.spare[:0]
	clear(in.refs)
	in.refs = in.refs[:0]
	if len(in.refSet) > 0 {
		in.refSet = make(map[Ref]struct{})
	}
	if cap(in.canon)+cap(in.strays)+cap(in.spare) > keepScratch {
		in.canon, in.strays, in.spare = nil, nil, nil
	}
	if cap(in.runs)+cap(in.entries) > keepScratch/32 {
		in.runs, in.entries = nil, nil
	}
}

// broken notes why the resource cannot be decoded: what is wrong with a field,
// if one is named, of the message that the walk is at. It is always false.
func (in *Inspector) broken(field, why string) bool {
	in.facts.Undecodable = in.at(field, why)
	return false
}

func (in *Inspector) unknownField(num protowire.Number) {
	in.finding("", "unknown field "+strconv.Itoa(int(num)))
}

// finding adds to Facts.Unknown.
func (in *Inspector) finding(field, what string) { in.note(&in.facts.Unknown, field, what) }

// deprecated adds a field to Facts.Deprecated, or a value of it.
func (in *Inspector) deprecated(field, value string) { in.note(&in.facts.Deprecated, field, value) }

// note adds to one of the two, unless it has the same of a field of the same
// name.
func (in *Inspector) note(list *[]string, field, what string) {
	if in.muted > 0 || len(*list) == maxUnknown {
		return
	}
	kind := field + ": " + what
	if n := len(in.path); field == "" && n > 0 {
		kind = in.path[n-1].field.name + kind
	}
	if slices.Contains(in.found, kind) {
		return
	}
	in.found = append(in.found, kind)
	*list = append(*list, in.at(field, what))
}

// step is a part of the path to where the walk is.
type step struct {
	field *fieldFacts
	index int    // of a list element, else -1
	entry []byte // of a map
}

// at puts the path to a field before what is said of it.
func (in *Inspector) at(field, what string) string {
	where := in.where()
	if n := len(in.path); field != "" && (n == 0 || in.path[n-1].field.name != field) {
		where = strings.TrimPrefix(where+"."+field, ".")
	}
	if where == "" || what == "" {
		return where + what
	}
	return where + ": " + what
}

// where is such as "filter_chains[0].filters[1].typed_config".
func (in *Inspector) where() string {
	var out strings.Builder
	for i, s := range in.path {
		if i > 0 {
			out.WriteByte('.')
		}
		out.WriteString(s.field.name)
		switch {
		case s.field.class == classMap:
			fmt.Fprintf(&out, "[%q]", short(protoscan.Last(s.entry, 1)))
		case s.index >= 0:
			fmt.Fprintf(&out, "[%d]", s.index)
		}
	}
	return out.String()
}

// short cuts a very long name from outside.
func short(b []byte) string { return clip.Text(b, 200) }
