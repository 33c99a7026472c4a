package decode

import "time"

// Kind is which of the four discovery messages it is.
type Kind uint8

// Other is everything that is no discovery message: load reports, client
// status, health discovery, and whatever else passes.
const (
	Other Kind = iota
	SotwRequest
	SotwResponse
	DeltaRequest
	DeltaResponse
)

// String is the name of the protobuf message.
func (k Kind) String() string {
	switch k {
	case SotwRequest:
		return "DiscoveryRequest"
	case SotwResponse:
		return "DiscoveryResponse"
	case DeltaRequest:
		return "DeltaDiscoveryRequest"
	case DeltaResponse:
		return "DeltaDiscoveryResponse"
	}
	return "other"
}

// Message is the envelope of a discovery message.
type Message struct {
	Kind    Kind
	TypeURL string
	Version string // version_info, or system_version_info of a delta response
	Nonce   string // nonce, or response_nonce of a request
	Node    *Node  // of a request that names one, load reports included

	Names           []string // resource_names, then the names of resource_locators
	Subscribe       []string // resource_names_subscribe, then the locators'
	Unsubscribe     []string
	InitialVersions []NameVersion // initial_resource_versions, as sent
	// Locators says how many at the end of each of these lists are from
	// resource_locators.
	Locators Locators

	Resources      []Resource
	Removed        []string // removed_resources, then removed_resource_names
	ResourceErrors []ResourceError

	Error        *Error // error_detail
	ControlPlane string // control_plane.identifier

	// Problems says in words what could not be read, and what was guessed.
	Problems []string
	// Unread says that nothing was read, but for the kind: it is compressed, or too
	// large.
	Unread bool
}

// Request says whether a client sends messages of this kind.
func (m *Message) Request() bool { return m.Kind == SotwRequest || m.Kind == DeltaRequest }

// Response says whether a server sends messages of this kind.
func (m *Message) Response() bool { return m.Kind == SotwResponse || m.Kind == DeltaResponse }

// ResourceNames lists the names of the resources, in order, without those that
// have none.
func (m *Message) ResourceNames() []string {
	if len(m.Resources) == 0 {
		return nil
	}
	names := make([]string, 0, len(m.Resources))
	for i := range m.Resources {
		if n := m.Resources[i].Name; n != "" {
			names = append(names, n)
		}
	}
	return names
}

// Node is who the client says it is.
type Node struct {
	ID, Cluster      string
	UserAgent        string // user_agent_name
	UserAgentVersion string // user_agent_version, or user_agent_build_version as "1.40.0"
	Region, Zone     string // of locality
	ClientFeatures   []string
}

// Locators counts names that came with a place for dynamic parameters.
type Locators struct{ Names, Subscribe, Unsubscribe int }

// NameVersion is one entry of initial_resource_versions.
type NameVersion struct{ Name, Version string }

// Resource is one resource of a response.
type Resource struct {
	Name    string // of the wrapper, else of the payload
	Version string // of the wrapper
	TypeURL string // of the payload
	// Body is the payload, that is the value of its Any, or the JSON object of
	// a JSON message. It is a part of the message's own bytes.
	Body    []byte
	Aliases []string
	// TTL is what the wrapper says, or 0. HasTTL tells a TTL of 0 from none.
	TTL    time.Duration
	HasTTL bool
	// Wrapped says that a Resource envelope was around the payload, Empty that
	// there was no payload: a heartbeat, or an alias that does not resolve.
	Wrapped, Empty bool
	// Unnamed says that the envelope around the payload gives no name, and
	// that Name is the payload's.
	Unnamed bool
	// BothNames says that the wrapper has a name and a resource_name, of which
	// only one is allowed. Name is then the name.
	BothNames bool
	// Constraints are the bytes of the dynamic_parameter_constraints of
	// resource_name: resources of one name with different constraints are
	// variants of each other.
	Constraints string
}

// Untyped says whether there is a payload that does not say its type.
func (r *Resource) Untyped() bool { return !r.Empty && r.TypeURL == "" }

// ResourceError is why a server cannot give one resource.
type ResourceError struct {
	Name string
	Error
}

// Error is a google.rpc.Status without its details.
type Error struct {
	Code    int32
	Message string
}
