package render

import "strings"

const (
	protocol  = "https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#"
	discovery = "https://www.envoyproxy.io/docs/envoy/latest/api-v3/service/discovery/v3/discovery.proto"
	proposals = "https://github.com/grpc/proposal/blob/master/"
)

// anchors are the sections of the protocol whose anchor is not their title: two
// have titles that are there twice.
func anchors() map[string]string {
	return map[string]string{
		"ACK and NACK, detecting NACK": "nack",
		"Unsubscribing From Resources": "xds-protocol-unsubscribing",
		"Unsubscribing from Resources": "xds-protocol-unsubscribe",
	}
}

// sections are those whose anchor is their title.
func sections() []string {
	return []string{
		"ACK and NACK semantics summary", "ACK/NACK and resource type instance version", "Aggregated Discovery Service",
		"Basic Protocol Overview", "Client Configuration", "Deleting Resources", "Duplicate Resource Names",
		"Eventual consistency considerations", "Filesystem subscriptions", "Four Variants", "Grouping Resources into Responses",
		"How the client specifies what resources to return", "Incremental xDS", "Knowing When a Requested Resource Does Not Exist",
		"NACK", "Protoc-Gen-Validate Annotations", "REST-JSON polling subscriptions", "RPC Services and Methods for Each Variant",
		"Resource Types", "Resource names", "Resource updates", "Resource warming", "SotW TTL", "Subscribing to Resources",
		"TTL", "Transport API version", "When to send an update",
	}
}

// gRFCs are the proposals of gRPC.
func gRFCs() map[string]string {
	return map[string]string{
		"A27": "A27-xds-global-load-balancing.md",
		"A36": "A36-xds-for-servers.md",
		"A40": "A40-csds-support.md",
		"A46": "A46-xds-nack-semantics-improvement.md",
		"A47": "A47-xds-federation.md",
		"A57": "A57-xds-client-failure-mode-behavior.md",
		"A71": "A71-xds-fallback.md",
		"A88": "A88-xds-data-error-handling.md",
	}
}

// specLinks is where the protocol says what a rule is about, with links.
func specLinks(spec string) string {
	parts := strings.Split(strings.TrimSuffix(spec, "."), "; ")
	for i, part := range parts {
		parts[i] = specLink(part)
	}
	return strings.Join(parts, "; ")
}

func specLink(part string) string {
	if numbers, ok := strings.CutPrefix(part, "gRFC "); ok {
		var out []string
		for _, n := range strings.Split(numbers, ", ") {
			text := n
			if file := gRFCs()[n]; file != "" {
				text = "[" + n + "](" + proposals + file + ")"
			}
			out = append(out, text)
		}
		return "gRFC " + strings.Join(out, ", ")
	}
	for title, anchor := range anchors() {
		if strings.HasPrefix(part, title) {
			return "[" + part + "](" + protocol + anchor + ")"
		}
	}
	for _, title := range sections() {
		if strings.HasPrefix(part, title) {
			return "[" + part + "](" + protocol + anchorOf(title) + ")"
		}
	}
	switch {
	case strings.HasSuffix(part, "discovery.proto"):
		return "[" + part + "](" + discovery + ")"
	case part == "xRFC TP1":
		return "[" + part + "](https://github.com/cncf/xds/blob/main/proposals/TP1-xds-transport-next.md)"
	}
	return part
}

// anchorOf is the anchor that the documentation gives a title: what is no
// letter and no digit is a hyphen, and several in a row are one.
func anchorOf(title string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), "-")
}
