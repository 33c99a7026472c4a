package decode

import "strings"

// filePrefix begins the Method of a stream that stands for a watched file:
// "file:" and the name of the file.
const filePrefix = "file:"

// fileMethod describes a watched file: what is read from it is a
// DiscoveryResponse in protobuf, whatever the format of the file.
func fileMethod(path string) Method {
	const prefix = "envoy.service.discovery.v3."
	return Method{
		Path: path, Name: strings.TrimPrefix(path, filePrefix), Variant: VariantFile,
		Request: prefix + "DiscoveryRequest", Response: prefix + "DiscoveryResponse",
	}
}

// MethodNamed finds a method by its bare name, such as "StreamClusters". It is
// that of version 3, or of version 2 if the name begins with "v2.". False if no
// service has it.
func MethodNamed(name string) (Method, bool) {
	bare, v2 := strings.CutPrefix(name, "v2.")
	if !v2 {
		bare = strings.TrimPrefix(name, "v3.")
	}
	for _, m := range methods {
		if m.Name == bare && m.V2 == v2 && bare != "" {
			return m, true
		}
	}
	return Method{}, false
}
