package synth

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Request is a DiscoveryRequest. Version 2 has the same bytes.
type Request struct {
	TypeURL, Version, Nonce string
	Node                    *decode.Node
	Names                   []string
	Locators                []string // more names, in resource_locators
	Error                   *decode.Error
	// Size is how many bytes the message has at least.
	Size int
}

// DeltaRequest is a DeltaDiscoveryRequest. Version 2 has the same bytes.
type DeltaRequest struct {
	TypeURL, Nonce         string
	Node                   *decode.Node
	Subscribe, Unsubscribe []string
	// More names, in resource_locators_subscribe and -unsubscribe.
	SubscribeLocators, UnsubscribeLocators []string
	Initial                                []decode.NameVersion
	Error                                  *decode.Error
	Size                                   int
}

// Response is a DiscoveryResponse, or the content of a file.
type Response struct {
	TypeURL, Version, Nonce string
	Resources               []Resource
	Errors                  []decode.ResourceError
	ControlPlane            string
	V2                      bool // wrappers are those of version 2
	Size                    int
}

// DeltaResponse is a DeltaDiscoveryResponse. Version 2 has the same bytes.
type DeltaResponse struct {
	TypeURL, Version, Nonce string
	Resources               []Resource
	Removed                 []string
	Errors                  []decode.ResourceError
	ControlPlane            string
	Size                    int
}

// Marshal returns the message in protobuf.
func (q *Request) Marshal() []byte {
	return padRequest(q.message(), q.Node, q.Size)
}

func (q *Request) message() *discoveryv3.DiscoveryRequest {
	return &discoveryv3.DiscoveryRequest{
		VersionInfo: q.Version, Node: node(q.Node), ResourceNames: q.Names,
		TypeUrl: q.TypeURL, ResponseNonce: q.Nonce, ErrorDetail: errorOf(q.Error), ResourceLocators: locators(q.Locators),
	}
}

// Marshal returns the message in protobuf.
func (q *DeltaRequest) Marshal() []byte {
	m := &discoveryv3.DeltaDiscoveryRequest{
		Node: node(q.Node), TypeUrl: q.TypeURL, ResourceNamesSubscribe: q.Subscribe, ResourceNamesUnsubscribe: q.Unsubscribe,
		ResponseNonce: q.Nonce, ErrorDetail: errorOf(q.Error),
		ResourceLocatorsSubscribe: locators(q.SubscribeLocators), ResourceLocatorsUnsubscribe: locators(q.UnsubscribeLocators),
	}
	for _, v := range q.Initial {
		if m.InitialResourceVersions == nil {
			m.InitialResourceVersions = make(map[string]string)
		}
		m.InitialResourceVersions[v.Name] = v.Version
	}
	return padRequest(m, q.Node, q.Size)
}

// padRequest makes a request larger: there is room in the node's metadata, else
// in a field that nobody knows.
func padRequest(m proto.Message, n *decode.Node, size int) []byte {
	return fill(size, func(pad int) []byte {
		if pad == 0 {
			return marshal(m)
		}
		if n == nil {
			return appendText(marshal(m), unknownField, padding(pad))
		}
		full := node(n)
		full.Metadata = paddingStruct(pad)
		switch m := m.(type) {
		case *discoveryv3.DiscoveryRequest:
			m.Node = full
		case *discoveryv3.DeltaDiscoveryRequest:
			m.Node = full
		}
		return marshal(m)
	})
}

// Marshal returns the message in protobuf.
func (p *Response) Marshal() []byte {
	m := &discoveryv3.DiscoveryResponse{
		VersionInfo: p.Version, TypeUrl: p.TypeURL, Nonce: p.Nonce,
		ControlPlane: controlPlane(p.ControlPlane), ResourceErrors: resourceErrors(p.Errors),
	}
	return padResponse(m, p.Size, p.Resources, func(all []Resource) {
		m.Resources = m.Resources[:0]
		for i := range all {
			r := &all[i]
			a := &anypb.Any{TypeUrl: r.TypeURL, Value: r.Body()}
			if r.Wrapped || r.Empty {
				a = &anypb.Any{TypeUrl: wrapperURL(p.V2), Value: marshal(wrapper(r))}
			}
			m.Resources = append(m.Resources, a)
		}
	})
}

// Marshal returns the message in protobuf.
func (p *DeltaResponse) Marshal() []byte {
	m := &discoveryv3.DeltaDiscoveryResponse{
		SystemVersionInfo: p.Version, TypeUrl: p.TypeURL, Nonce: p.Nonce, RemovedResources: p.Removed,
		ControlPlane: controlPlane(p.ControlPlane), ResourceErrors: resourceErrors(p.Errors),
	}
	return padResponse(m, p.Size, p.Resources, func(all []Resource) {
		m.Resources = m.Resources[:0]
		for i := range all {
			m.Resources = append(m.Resources, wrapper(&all[i]))
		}
	})
}

// padResponse makes a response larger: the first resource that has room
// holds the padding, else a field that nobody knows.
func padResponse(m proto.Message, size int, all []Resource, put func([]Resource)) []byte {
	at := -1
	for i := range all {
		if all[i].roomy() {
			at = i
			break
		}
	}
	padded := append([]Resource(nil), all...)
	put(padded)
	return fill(size, func(pad int) []byte {
		switch {
		case pad == 0:
		case at < 0:
			return appendText(marshal(m), unknownField, padding(pad))
		default:
			padded[at].Pad = pad
			put(padded)
		}
		return marshal(m)
	})
}

// fill finds the padding with which build returns size bytes, or a few less where
// that cannot be met.
func fill(size int, build func(pad int) []byte) []byte {
	out := build(0)
	pad := size - len(out)
	if pad <= 0 {
		return out
	}
	for range 8 {
		if out = build(pad); len(out) == size {
			return out
		}
		pad = max(1, pad+size-len(out))
	}
	for ; len(out) > size && pad > 0; pad-- {
		out = build(pad)
	}
	return out
}

func wrapper(r *Resource) *discoveryv3.Resource {
	w := &discoveryv3.Resource{Name: r.Name, Version: r.Version, Aliases: r.Aliases}
	if r.Variant != "" || r.BothNames {
		w.ResourceName = &discoveryv3.ResourceName{Name: r.Name, DynamicParameterConstraints: constraints(r.Variant)}
		if !r.BothNames {
			w.Name = ""
		}
	}
	if r.HasTTL {
		w.Ttl = durationpb.New(r.TTL)
	}
	if !r.Empty {
		w.Resource = &anypb.Any{TypeUrl: r.TypeURL, Value: r.Body()}
	}
	return w
}

func wrapperURL(v2 bool) string {
	if v2 {
		return xds.TypePrefix + xds.ResourceV2
	}
	return xds.TypePrefix + xds.ResourceV3
}

func node(n *decode.Node) *corev3.Node {
	if n == nil {
		return nil
	}
	out := &corev3.Node{Id: n.ID, Cluster: n.Cluster, UserAgentName: n.UserAgent, ClientFeatures: n.ClientFeatures}
	if n.UserAgentVersion != "" {
		out.UserAgentVersionType = &corev3.Node_UserAgentVersion{UserAgentVersion: n.UserAgentVersion}
	}
	if n.Region != "" || n.Zone != "" {
		out.Locality = &corev3.Locality{Region: n.Region, Zone: n.Zone}
	}
	return out
}

func errorOf(e *decode.Error) *status.Status {
	if e == nil {
		return nil
	}
	return &status.Status{Code: e.Code, Message: e.Message}
}

func resourceErrors(list []decode.ResourceError) (out []*discoveryv3.ResourceError) {
	for i := range list {
		out = append(out, &discoveryv3.ResourceError{
			ResourceName: &discoveryv3.ResourceName{Name: list[i].Name}, ErrorDetail: errorOf(&list[i].Error),
		})
	}
	return out
}

func locators(names []string) (out []*discoveryv3.ResourceLocator) {
	for _, n := range names {
		out = append(out, &discoveryv3.ResourceLocator{Name: n})
	}
	return out
}

// constraints ask for one value of one parameter.
func constraints(variant string) *discoveryv3.DynamicParameterConstraints {
	if variant == "" {
		return nil
	}
	return &discoveryv3.DynamicParameterConstraints{Type: &discoveryv3.DynamicParameterConstraints_Constraint{
		Constraint: &discoveryv3.DynamicParameterConstraints_SingleConstraint{
			Key:            "variant",
			ConstraintType: &discoveryv3.DynamicParameterConstraints_SingleConstraint_Value{Value: variant},
		},
	}}
}

// Constraints are the bytes of the constraint that a variant stands for.
func Constraints(variant string) []byte { return marshal(constraints(variant)) }

func controlPlane(id string) *corev3.ControlPlane {
	if id == "" {
		return nil
	}
	return &corev3.ControlPlane{Identifier: id}
}

func paddingStruct(n int) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"padding": structpb.NewStringValue(padding(n))}}
}
