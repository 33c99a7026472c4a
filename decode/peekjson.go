package decode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// peekJSON reads the envelope of a REST message. Both spellings of a field
// name that proto3 JSON allows are understood.
func peekJSON(m xds.Method, side session.Side, data []byte) Message {
	kind, sure := kindOf(m, side)
	if !sure {
		kind = jsonKind(side)
	}
	p := peeker{Kind: kind}
	if !sure {
		p.problem("the method is not known: read as JSON of a %s", kind)
	}
	if kind == Other || len(bytes.TrimSpace(data)) == 0 {
		return Message(p)
	}
	o, err := object(data)
	if err != nil {
		p.problem("not a JSON object: %v", err)
		return Message(p)
	}
	p.TypeURL = p.jsonString(o, "type_url")
	p.Version = p.jsonString(o, "version_info")
	switch kind {
	case SotwRequest:
		p.Nonce = p.jsonString(o, "response_nonce")
		p.jsonNode(o)
		for _, raw := range p.jsonList(o, "resource_names") {
			p.add(&p.Names, p.jsonText(raw, "resource_names"))
		}
		for _, raw := range p.jsonList(o, "resource_locators") {
			name := p.jsonString(p.jsonObject(raw, "resource_locators"), "name")
			p.Locators.Names += p.addAll(&p.Names, []string{name})
		}
		p.Error = p.jsonStatus(o, "error_detail")
	case SotwResponse:
		p.Nonce = p.jsonString(o, "nonce")
		p.ControlPlane = p.jsonString(p.jsonObject(field(o, "control_plane"), "control_plane"), "identifier")
		list := p.jsonList(o, "resources")
		p.Resources = slices.Grow(p.Resources, min(len(list), maxItems))
		for _, raw := range list {
			r := p.resource()
			if r == nil {
				break
			}
			p.jsonResource(r, raw)
		}
		for _, raw := range p.jsonList(o, "resource_errors") {
			e := p.jsonObject(raw, "resource_errors")
			re := ResourceError{Name: p.jsonString(p.jsonObject(field(e, "resource_name"), "resource_name"), "name")}
			if st := p.jsonStatus(e, "error_detail"); st != nil {
				re.Error = *st
			}
			p.ResourceErrors = append(p.ResourceErrors, re)
		}
	}
	return Message(p)
}

// jsonKind is what a side sends in JSON: REST has no delta.
func jsonKind(side session.Side) Kind {
	switch side {
	case session.Client:
		return SotwRequest
	case session.Server:
		return SotwResponse
	}
	return Other
}

type jsonFields map[string]json.RawMessage

func object(raw []byte) (jsonFields, error) {
	var o jsonFields
	err := json.Unmarshal(raw, &o)
	return o, err
}

// field finds a field by its proto name or by its JSON name.
func field(o jsonFields, name string) json.RawMessage {
	if raw, ok := o[name]; ok {
		return raw
	}
	return o[lenient.JSONName(name)]
}

func (p *peeker) jsonObject(raw json.RawMessage, what string) jsonFields {
	if raw == nil {
		return nil
	}
	o, err := object(raw)
	if err != nil {
		p.problem("%s: not a JSON object", what)
	}
	return o
}

func (p *peeker) jsonList(o jsonFields, name string) []json.RawMessage {
	raw := field(o, name)
	if raw == nil {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil { // as in Envoy, one element may stand for a list of it
		list = []json.RawMessage{raw}
	}
	return list
}

func (p *peeker) jsonString(o jsonFields, name string) string {
	return p.jsonText(field(o, name), name)
}

func (p *peeker) jsonText(raw json.RawMessage, what string) string {
	if raw == nil {
		return ""
	}
	var v string
	if json.Unmarshal(raw, &v) != nil {
		p.problem("%s: not a JSON string", what)
	}
	return v
}

func (p *peeker) jsonStatus(o jsonFields, name string) *Error {
	raw := field(o, name)
	if raw == nil || string(raw) == "null" {
		return nil
	}
	st := p.jsonObject(raw, name)
	e := &Error{Message: p.jsonString(st, "message")}
	if code := st["code"]; code != nil && json.Unmarshal(code, &e.Code) != nil {
		p.problem("%s: code is not a number", name)
	}
	return e
}

func (p *peeker) jsonNode(o jsonFields) {
	raw := field(o, "node")
	if raw == nil || string(raw) == "null" {
		return
	}
	node := p.jsonObject(raw, "node")
	n := &Node{
		ID: p.jsonString(node, "id"), Cluster: p.jsonString(node, "cluster"),
		UserAgent: p.jsonString(node, "user_agent_name"), UserAgentVersion: p.jsonString(node, "user_agent_version"),
	}
	locality := p.jsonObject(node["locality"], "locality")
	n.Region, n.Zone = p.jsonString(locality, "region"), p.jsonString(locality, "zone")
	if build := field(node, "user_agent_build_version"); build != nil {
		var v struct {
			Version struct {
				Major json.Number `json:"major_number"`
				Minor json.Number `json:"minor_number"`
				Patch json.Number `json:"patch"`
				JMaj  json.Number `json:"majorNumber"`
				JMin  json.Number `json:"minorNumber"`
			} `json:"version"`
		}
		if json.Unmarshal(build, &v) == nil {
			n.UserAgentVersion = orZero(v.Version.Major+v.Version.JMaj) + "." + orZero(v.Version.Minor+v.Version.JMin) + "." + orZero(v.Version.Patch)
		}
	}
	for _, f := range p.jsonList(node, "client_features") {
		p.add(&n.ClientFeatures, p.jsonText(f, "client_features"))
	}
	p.Node = n
}

func orZero(n json.Number) string {
	if n == "" {
		return "0"
	}
	return n.String()
}

func (p *peeker) jsonResource(r *Resource, raw json.RawMessage) {
	o := p.jsonObject(raw, "resources")
	r.TypeURL = p.jsonString(o, "@type")
	r.Body = raw
	if xds.IsWrapper(r.TypeURL) {
		r.Wrapped, r.Empty = true, true
		r.Version, r.Name = p.jsonString(o, "version"), p.jsonString(o, "name")
		for _, a := range p.jsonList(o, "aliases") {
			p.add(&r.Aliases, p.jsonText(a, "aliases"))
		}
		if ttl := p.jsonString(o, "ttl"); ttl != "" {
			d, err := time.ParseDuration(ttl)
			if err != nil {
				p.problem("ttl: %q is not a duration", ttl)
			}
			r.TTL, r.HasTTL = d, true
		}
		resourceName := p.jsonObject(field(o, "resource_name"), "resource_name")
		name := p.jsonString(resourceName, "name")
		r.Constraints = string(field(resourceName, "dynamic_parameter_constraints"))
		if r.BothNames = r.Name != "" && name != ""; r.Name == "" {
			r.Name = name
		}
		r.TypeURL, r.Body = "", nil
		if inner := field(o, "resource"); inner != nil && string(inner) != "null" {
			o, r.Empty, r.Body = p.jsonObject(inner, "resource"), false, inner
			r.TypeURL = p.jsonString(o, "@type")
		}
	}
	if r.Name == "" && !r.Empty {
		r.Name, r.Unnamed = p.jsonString(o, cmp.Or(xds.ByURL(r.TypeURL).NameField, "name")), r.Wrapped
	}
}
