package standalone

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/document"
)

func (m *maker) names(typ string) []string { return slices.Sorted(maps.Keys(m.has[typ])) }

// secrets are those that were accepted, and what stands for those that are used and
// came from elsewhere.
func (m *maker) secrets() document.Tree {
	out := document.Tree{Kind: document.Array}
	for _, name := range m.names("SDS") {
		out.Items = append(out.Items, *m.copyOf("SDS", name))
	}
	for _, name := range slices.Sorted(maps.Keys(m.needs)) {
		if m.has["SDS"][decode.NormalName(name)] != nil {
			continue
		}
		if of, is := m.standIn(name, m.needs[name]); is {
			out.Items = append(out.Items, object(member{Name: "name", Value: text(name)}, of))
		}
	}
	return out
}

// standIn is a secret that nobody else has.
func (m *maker) standIn(name, field string) (member, bool) {
	chain, key, err := m.client.Pair(name)
	if err != nil {
		m.note("SDS %q was not accepted in the session, and nothing could be made in its place: %v", name, err)
		return member{}, false
	}
	switch {
	case strings.HasPrefix(field, "tls_certificate"):
		m.note("the certificate %q is of no response: a fresh one is in its place", name)
		return member{Name: "tls_certificate", Value: object(inline("certificate_chain", chain), inline("private_key", key))}, true
	case strings.HasPrefix(field, "validation_context"):
		m.note("the validation context %q is of no response: one that trusts nobody else is in its place", name)
		return member{Name: "validation_context", Value: object(inline("trusted_ca", chain))}, true
	case strings.HasPrefix(field, "session_ticket_keys"):
		// RFC 5077 has keys of 80 bytes, and of these only the length is checked.
		m.note("the session ticket keys %q are of no response: others are in their place", name)
		of := text(base64.StdEncoding.EncodeToString(slices.Concat(key, key)[:80]))
		return member{Name: "session_ticket_keys", Value: object(member{Name: "keys", Value: list(object(member{Name: "inline_bytes", Value: of}))})}, true
	}
	m.note("the secret %q is of no response: one that opens nothing is in its place", name)
	return member{Name: "generic_secret", Value: object(inline("secret", []byte("stand-in")))}, true
}

func inline(name string, text []byte) member {
	return member{Name: name, Value: object(member{Name: "inline_string", Value: document.Tree{Kind: document.String, Text: string(text)}})}
}

// layers are those of the runtime.
func (m *maker) layers() document.Tree {
	out := document.Tree{Kind: document.Array}
	if m.regexes {
		// What the client accepted may be longer than an Envoy takes by default.
		out.Items = append(out.Items, object(
			member{Name: "name", Value: text("xdsproxy")},
			member{Name: "static_layer", Value: object(member{Name: "re2.max_program_size.error_level", Value: document.Tree{Kind: document.Number, Text: "4294967295"}})},
		))
	}
	for _, name := range m.names("RTDS") {
		out.Items = append(out.Items, object(member{Name: "name", Value: text(name)}, member{Name: "static_layer", Value: *down(m.copyOf("RTDS", name), "layer")}))
	}
	return out
}
