package xds

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/session"
)

// Method is what the path of a request says about the stream.
type Method struct {
	Path    string
	Service string // full name of the service, "" for REST
	Name    string // of the method, such as "StreamClusters"
	Variant Variant
	Type    string // short type of a per-type stream, such as "CDS"; "" for ADS
	V2      bool   // transport version 2
	Unary   bool   // one request, one response: Fetch methods and REST
	// Request and Response are the full names of the message types, "" where
	// they are not known.
	Request, Response string
}

// Message is the full name of the type that side sends, or "".
func (m Method) Message(side session.Side) string {
	switch side {
	case session.Client:
		return m.Request
	case session.Server:
		return m.Response
	}
	return ""
}

// TypeURL is that of the resources of a per-type stream, "" for ADS.
func (m Method) TypeURL() string {
	if m.V2 {
		return TypeURL("v2." + m.Type)
	}
	return TypeURL(m.Type)
}

// The REST paths end with a word for the type.
const (
	restV3 = "/v3/discovery:"
	restV2 = "/v2/discovery:"
)

// LookupMethod says what is known of a :path. It knows every discovery service
// of transport versions 2 and 3, and the REST paths, those of types that it does
// not know included. "file:" and a name is a watched file. Any other path gives
// variant Other, and an empty one the zero Method.
func LookupMethod(path string) Method {
	if path == "" {
		return Method{}
	}
	// What is read from a file is a response in protobuf, whatever the format of
	// the file.
	if name, ok := strings.CutPrefix(path, FilePrefix); ok {
		return Method{Path: path, Name: name, Variant: VariantFile}.discovery("")
	}
	bare, _, _ := strings.Cut(path, "?")
	m, known := methods[bare]
	if !known {
		m = otherMethod(bare)
	}
	m.Path = path
	return m
}

// otherMethod describes a path that is not in the table. A REST path of some
// other type is polled like those that are.
func otherMethod(path string) Method {
	if v2 := strings.HasPrefix(path, restV2); v2 || strings.HasPrefix(path, restV3) {
		return Method{Variant: VariantREST, V2: v2, Unary: true}.discovery("")
	}
	m := Method{Variant: VariantOther}
	if service, name, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/"); ok && !strings.Contains(name, "/") {
		m.Service, m.Name = service, name
	}
	return m
}

// discovery adds the messages of discovery: those of delta if verb says so.
func (m Method) discovery(verb string) Method {
	pkg := PackageV3
	if m.V2 {
		pkg = PackageV2
	}
	if verb == "Delta" {
		pkg += verb
	}
	m.Request, m.Response = pkg+"DiscoveryRequest", pkg+"DiscoveryResponse"
	return m
}

// Methods returns every method of the table, in no order.
func Methods() []Method {
	out := make([]Method, 0, len(methods))
	for _, m := range methods {
		out = append(out, m)
	}
	return out
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
