package xds

import "strings"

// TypePrefix is what xDS puts before the name of a message to make it a type
// URL.
const TypePrefix = "type.googleapis.com/"

// PackageV3 and PackageV2 begin the full names of the discovery messages.
const (
	PackageV3 = "envoy.service.discovery.v3."
	PackageV2 = "envoy.api.v2."
)

// ResourceV3 and ResourceV2 are the envelope that carries one resource with its
// version and name.
const (
	ResourceV3 = PackageV3 + "Resource"
	ResourceV2 = PackageV2 + "Resource"
)

// TypeName is the full message name in a type URL: what follows the last
// slash.
func TypeName(typeURL string) string {
	return typeURL[strings.LastIndexByte(typeURL, '/')+1:]
}

// IsWrapper says whether a type URL names the envelope of a resource.
func IsWrapper(typeURL string) bool {
	name := TypeName(typeURL)
	return name == ResourceV3 || name == ResourceV2
}
