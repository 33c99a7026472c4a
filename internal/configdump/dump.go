package configdump

import (
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
)

// Dump is what one client holds.
type Dump struct {
	By Teller
	// Node is the id of its node, "" if the dump does not have the bootstrap.
	Node      string
	Resources []Resource
	// Notes say what of the dump could not be read.
	Notes []string

	types   []string         // that the dump has a section of
	sources map[string]State // by the name of endpoints that a cluster asks for, the best state of such a cluster
}

// Teller is who says what a dump has.
type Teller uint8

// They are an Envoy at its admin endpoint, a client by CSDS, and istiod, which says
// what it would send to a client now, whatever that holds.
const (
	ByEnvoy Teller = iota
	ByCSDS
	ByIstiod
)

// has notes that the dump tells of a type.
func (d *Dump) has(typ string) {
	if !d.Has(typ) {
		d.types = append(d.types, typ)
	}
}

// State is where Envoy stands with a resource.
type State = decode.HeldState

// The states that a dump has. Awaited are secrets only, and Static is also what is
// written in another resource.
const (
	Active   = decode.HeldActive
	Warming  = decode.HeldWarming
	Awaited  = decode.HeldAwaited
	Draining = decode.HeldDraining
	Failed   = decode.HeldFailed
	Static   = decode.HeldStatic
)

// Of CSDS alone there are those, too, that it was told of and has not.
const (
	Gone    = decode.HeldGone
	Timeout = decode.HeldTimeout
	Unknown = decode.HeldUnknown
)

// Resource is one resource in one state. A name may be there in several, and in
// one state more than once: two clusters may have their endpoints by one name.
type Resource struct {
	Type    string // short, such as "CDS"
	TypeURL string
	Name    string
	State   State
	Version string    // "" where Envoy does not say it, as of endpoints
	Updated time.Time // zero where Envoy does not say it
	// Details is why an update failed.
	Details string

	// Body is the resource in protobuf, nil if it cannot be read or is not there.
	Body []byte
	// Hash is equal for equal content, as inspect.Facts have it.
	Hash [16]byte
	// Unread says what of the resource is not known, and so not in Body.
	Unread []string
	// Derived says that these are endpoints that nobody sent: those of a cluster
	// that does not get them by EDS.
	Derived bool
}

// Has says whether the dump tells of all resources of a type. Envoy never dumps
// virtual hosts, runtimes and endpoints of localities on their own; endpoints if
// it was asked for them.
func (d *Dump) Has(typ string) bool { return slices.Contains(d.types, typ) }

// Source is the state of the cluster that gets its endpoints by a name, the best
// of them; "" if there is none. Envoy does not dump the endpoints of a cluster
// that is warming.
func (d *Dump) Source(endpoints string) State { return d.sources[endpoints] }

// Warming says whether anything waits for what it needs.
func (d *Dump) Warming() bool {
	return slices.ContainsFunc(d.Resources, func(r Resource) bool { return r.State == Warming })
}
