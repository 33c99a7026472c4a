package decode

import (
	"slices"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

func (p *peeker) response(data []byte) {
	p.makeRoom(data)
	delta := p.Kind == DeltaResponse
	s := protoscan.Of(data)
	for s.Next() {
		switch {
		case s.Num == 2:
			if r := p.resource(); r != nil && delta {
				p.wrapper(r, p.bytes(s))
			} else if r != nil {
				p.sotwResource(r, p.bytes(s))
			}
		case s.Num == 1:
			p.Version = p.str(s)
		case s.Num == 4:
			p.TypeURL = p.str(s)
		case s.Num == 5:
			p.Nonce = p.str(s)
		case s.Num == 6 && delta:
			p.add(&p.Removed, p.str(s))
		case s.Num == 8 && delta:
			p.add(&p.Removed, p.first(p.bytes(s), 1))
		case s.Num == 6, s.Num == 7 && delta:
			p.ControlPlane = p.first(p.bytes(s), 1)
		case s.Num == 7, s.Num == 9 && delta:
			p.resourceError(p.bytes(s))
		}
	}
	p.ended(p.Kind.String(), s)
}

// sotwResource reads an Any, which may hold a Resource envelope.
func (p *peeker) sotwResource(r *Resource, b []byte) {
	p.any(r, b)
	if r.TypeURL != "" && xds.IsWrapper(r.TypeURL) {
		body := r.Body
		*r = Resource{}
		p.wrapper(r, body)
	} else if r.Name == "" {
		r.Name = payloadName(r.TypeURL, r.Body)
	}
}

// makeRoom counts the resources first, so that their list grows once.
func (p *peeker) makeRoom(data []byte) {
	n := 0
	for s := protoscan.Of(data); s.Next(); {
		if s.Num == 2 {
			n++
		}
	}
	p.Resources = slices.Grow(p.Resources, min(n, maxItems))
}

func (p *peeker) resource() *Resource {
	if len(p.Resources) >= maxItems {
		p.cut()
		return nil
	}
	p.Resources = append(p.Resources, Resource{})
	return &p.Resources[len(p.Resources)-1]
}

// any reads type URL and value of an Any. Resources of one response share one
// copy of their type URL.
func (p *peeker) any(r *Resource, b []byte) {
	s := protoscan.Of(b)
	for s.Next() {
		switch s.Num {
		case 1:
			r.TypeURL = p.sharedType(p.bytes(s))
		case 2:
			r.Body = p.bytes(s)
		}
	}
	if s.Err != "" {
		p.problem("resource %d: %s", len(p.Resources)-1, s.Err)
	}
}

func (p *peeker) sharedType(b []byte) string {
	if n := len(p.Resources); n > 1 && string(b) == p.Resources[n-2].TypeURL {
		return p.Resources[n-2].TypeURL
	}
	return string(b)
}

// wrapper reads a Resource envelope.
func (p *peeker) wrapper(r *Resource, b []byte) {
	r.Wrapped, r.Empty = true, true
	name := "" // of resource_name
	s := protoscan.Of(b)
	for s.Next() {
		switch s.Num {
		case 1:
			r.Version = p.str(s)
		case 2:
			r.Empty = false
			p.any(r, p.bytes(s))
		case 3:
			r.Name = p.str(s)
		case 4:
			p.add(&r.Aliases, p.str(s))
		case 6:
			r.TTL, r.HasTTL = p.duration(p.bytes(s)), true
		case 8:
			b := p.bytes(s)
			name, r.Constraints = p.first(b, 1), string(protoscan.Last(b, 2))
		}
	}
	if s.Err != "" {
		p.problem("resource %d: %s", len(p.Resources)-1, s.Err)
	}
	if r.BothNames = r.Name != "" && name != ""; r.Name == "" {
		r.Name = name
	}
	if r.Name == "" && !r.Empty {
		r.Name, r.Unnamed = payloadName(r.TypeURL, r.Body), true
	}
}

// payloadName is the name that a resource gives itself. In every resource type
// of xDS that has one it is field 1, a string, and may hold anything. Of a type
// that is not known, what does not look like text may be a message, and is no name.
func payloadName(typeURL string, b []byte) string {
	for s := protoscan.Of(b); s.Next(); {
		if s.Num != 1 {
			continue
		}
		v, ok := s.Bytes()
		if ok && (protoscan.IsPrintable(v) || utf8.Valid(v) && xds.ByURL(typeURL).NameField != "") {
			return string(v)
		}
		return ""
	}
	return ""
}

func (p *peeker) resourceError(b []byte) {
	if len(p.ResourceErrors) >= maxItems {
		p.cut()
		return
	}
	var e ResourceError
	p.each("resource_errors", b, func(s *protoscan.Scanner) {
		switch s.Num {
		case 1:
			e.Name = p.first(p.bytes(s), 1)
		case 2:
			e.Error = p.rpcStatus(p.bytes(s))
		}
	})
	p.ResourceErrors = append(p.ResourceErrors, e)
}
