package synth

import (
	"bytes"
	"cmp"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/unmarshal"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// JSON returns the message as Envoy sends it in a poll: with the field names of
// the proto.
func (q *Request) JSON() []byte { return jsonOf(q.message()) }

// jsonResponse has the fields of a DiscoveryResponse.
type jsonResponse struct {
	VersionInfo    string            `json:"version_info,omitempty"`
	Resources      []json.RawMessage `json:"resources,omitempty"`
	TypeURL        string            `json:"type_url,omitempty"`
	Nonce          string            `json:"nonce,omitempty"`
	ControlPlane   json.RawMessage   `json:"control_plane,omitempty"`
	ResourceErrors []json.RawMessage `json:"resource_errors,omitempty"`
}

// JSON returns the message in the form that REST has. It has no padding.
func (p *Response) JSON() []byte {
	out := jsonResponse{VersionInfo: p.Version, TypeURL: p.TypeURL, Nonce: p.Nonce}
	for i := range p.Resources {
		r := &p.Resources[i]
		if r.Wrapped || r.Empty {
			out.Resources = append(out.Resources, r.wrapperJSON(wrapperURL(p.V2)))
		} else {
			out.Resources = append(out.Resources, r.json())
		}
	}
	if p.ControlPlane != "" {
		out.ControlPlane = jsonOf(controlPlane(p.ControlPlane))
	}
	for _, e := range resourceErrors(p.Errors) {
		out.ResourceErrors = append(out.ResourceErrors, jsonOf(e))
	}
	b, _ := json.Marshal(out)
	return b
}

// member is one field of a JSON object.
type member struct {
	name  string
	value any
}

// object is a JSON object with its members in this order.
func object(members ...member) json.RawMessage {
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(m.name)
		value, _ := json.Marshal(m.value)
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}')
}

func (r *Resource) wrapperJSON(url string) json.RawMessage {
	all := []member{{"@type", url}, {"version", r.Version}}
	if r.Variant == "" || r.BothNames {
		all = append(all, member{"name", r.Name})
	}
	if w := wrapper(r); w.ResourceName != nil {
		all = append(all, member{"resource_name", json.RawMessage(jsonOf(w.ResourceName))})
	}
	if len(r.Aliases) > 0 {
		all = append(all, member{"aliases", r.Aliases})
	}
	if r.HasTTL {
		all = append(all, member{"ttl", r.TTL.String()})
		if b, err := protojson.Marshal(wrapper(&Resource{HasTTL: true, TTL: r.TTL, Empty: true}).Ttl); err == nil {
			all[len(all)-1].value = json.RawMessage(b)
		}
	}
	if !r.Empty {
		all = append(all, member{"resource", r.json()})
	}
	return object(all...)
}

// wrong is a field of each type that true is no value for.
var wrong = map[string]string{
	"CDS": "connect_timeout", "LDS": "address", "RDS": "virtual_hosts", "VHDS": "domains", "EDS": "endpoints",
	"LEDS": "endpoint", "SDS": "tls_certificate", "RTDS": "layer", "ECDS": "typed_config", "SRDS": "key",
}

// json is the payload with its type. Types that are not linked, and their like,
// get an object with the same texts as in protobuf.
func (r *Resource) json() json.RawMessage {
	name := cmp.Or(xds.ByURL(r.TypeURL).NameField, "name")
	k := kind(r.TypeURL)
	if k != "" && !r.Corrupt {
		if b := jsonOf(&anypb.Any{TypeUrl: r.TypeURL, Value: r.Body()}); b != nil {
			if r.Unknown {
				b = append(bytes.TrimSuffix(b, []byte("}")), `,"unknown_field":"unknown"}`...)
			}
			return b
		}
	}
	all := []member{{"@type", r.TypeURL}, {name, r.payloadName()}, {"content", label(r.Content)}}
	if r.Corrupt {
		all[2] = member{wrong[k], true}
		all = append(all, member{"content", label(r.Content)})
	}
	return object(all...)
}

// jsonOf is a message without the spaces that protojson scatters, or nil if it
// holds a type that is not linked.
func jsonOf(m proto.Message) []byte {
	b, err := unmarshal.ToJSON(protojson.MarshalOptions{UseProtoNames: true}, m)
	if err != nil {
		return nil
	}
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return nil
	}
	return out.Bytes()
}
