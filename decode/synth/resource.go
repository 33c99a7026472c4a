package synth

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Resource describes one resource of a response.
type Resource struct {
	// TypeURL is that of the payload. Types that are no discovery types of
	// Envoy get a message with the name in field 1 and the content in field 2.
	TypeURL string
	// Name is that of the wrapper, if there is one. It is also the payload's
	// own name, unless OwnName says that Payload is.
	Name    string
	Payload string
	OwnName bool

	Version string // of the wrapper
	// Content stands for everything in the payload that has no field here:
	// equal texts give equal bytes, different texts different ones.
	Content string
	Refs    Refs
	// ScopeKey is the scope key of a ScopedRouteConfiguration; its name where
	// this is empty.
	ScopeKey string

	Corrupt bool // the payload does not parse
	Unknown bool // it has a field that its type does not know
	Invalid bool // it violates a constraint of its type
	Dated   bool // it has a field that is deprecated
	NotGRPC bool // gRPC clients refuse it: a static cluster, an original destination

	// Wrapped puts a Resource envelope around the payload in a response of the
	// state of the world. In delta there always is one.
	Wrapped bool
	Empty   bool // there is no payload
	TTL     time.Duration
	HasTTL  bool
	Aliases []string
	// Variant, if not empty, is a constraint on dynamic parameters. The name
	// then stands in resource_name, and in name too if BothNames.
	Variant   string
	BothNames bool

	// Pad is how many bytes of padding the payload holds, about.
	Pad int
}

// Refs are the resources that a resource refers to.
type Refs struct {
	// Clusters are those that routes lead to, or, in a cluster, the members of
	// an aggregate.
	Clusters []string
	EDS      bool   // a cluster gets its endpoints by EDS
	EDSName  string // under this name, if not under the cluster's
	Routes   []string
	Secrets  []string
	Filters  []string // HTTP filters, by ECDS
	Default  bool     // filters have a default configuration
	VHDS     bool     // virtual hosts come on demand
	SRDS     bool     // scopes come by SRDS
	Groups   []string // of endpoints, by LEDS
	// Source is where all of this comes from: one of Sources, ADS if empty.
	Source string
}

// Sources are the words for config sources.
var sources = []string{"ads", "self", "grpc", "delta-grpc", "rest", "path"}

// Sources lists the words for config sources.
func Sources() []string { return append([]string(nil), sources...) }

// sourced says whether anything in r has a config source.
func (r *Refs) sourced() bool {
	return r.EDS || len(r.Routes)+len(r.Secrets)+len(r.Filters)+len(r.Groups) > 0 || r.VHDS || r.SRDS
}

func (r *Refs) any() bool { return r.sourced() || len(r.Clusters) > 0 }

// v2 says whether a type URL is of version 2.
func v2(typeURL string) bool {
	return typeURL != "" && xds.TypeWord(typeURL) == "v2."+xds.ShortType(typeURL)
}

// kind is the short type of discovery types of Envoy, else "".
func kind(typeURL string) string {
	if w := xds.TypeWord(typeURL); w != "" {
		if short := xds.ShortType(typeURL); makers[short] != nil {
			return short
		}
	}
	return ""
}

// Named says whether payloads of a type have a name of their own.
func Named(typeURL string) bool { return kind(typeURL) != "LEDS" }

// payloadName is what the payload calls itself.
func (r *Resource) payloadName() string {
	if r.OwnName {
		return r.Payload
	}
	return r.Name
}

// can lists what each type can refer to.
var can = map[string]Refs{
	"CDS":  {Clusters: yes, EDS: true, EDSName: "yes", Secrets: yes, Source: "yes"},
	"LDS":  {Clusters: yes, Routes: yes, Secrets: yes, Filters: yes, Default: true, SRDS: true, Source: "yes"},
	"RDS":  {Clusters: yes, VHDS: true, Source: "yes"},
	"VHDS": {Clusters: yes},
	"SRDS": {Routes: yes},
	"EDS":  {Groups: yes, Source: "yes"},
}

var yes = []string{"yes"}

// Check says why a resource cannot be made as described, or returns nil.
func (r *Resource) Check() error {
	k := kind(r.TypeURL)
	short := xds.ShortType(r.TypeURL)
	may := can[k]
	for _, c := range []struct {
		asked bool
		may   bool
		what  string
	}{
		{len(r.Refs.Clusters) > 0, may.Clusters != nil, "clusters"},
		{r.Refs.EDS, may.EDS, "endpoints"},
		{len(r.Refs.Routes) > 0, may.Routes != nil, "route configurations"},
		{len(r.Refs.Secrets) > 0, may.Secrets != nil, "secrets"},
		{len(r.Refs.Filters) > 0, may.Filters != nil, "extension configurations"},
		{r.Refs.VHDS, may.VHDS, "virtual hosts on demand"},
		{r.Refs.SRDS, may.SRDS, "scopes"},
		{len(r.Refs.Groups) > 0, may.Groups != nil, "groups of endpoints"},
	} {
		if c.asked && !c.may {
			return fmt.Errorf("a resource of type %s does not refer to %s", short, c.what)
		}
	}
	for _, names := range [][]string{r.Refs.Clusters, r.Refs.Routes, r.Refs.Secrets, r.Refs.Filters, r.Refs.Groups} {
		if slices.Contains(names, "") {
			return fmt.Errorf("a reference has no name")
		}
	}
	switch {
	case r.Empty && (r.faulty() || r.Content != "" || r.OwnName || r.Refs.any()):
		return fmt.Errorf("a resource without payload has no content")
	case r.Refs.Source != "" && (!r.Refs.sourced() || k == "SRDS"):
		return fmt.Errorf("there is no reference that the config source would be for")
	case r.Refs.Default && len(r.Refs.Filters) == 0:
		return fmt.Errorf("there is no extension configuration that the default would be for")
	case r.Refs.EDS && len(r.Refs.Clusters) > 0:
		return fmt.Errorf("a cluster is either an aggregate of others or has endpoints by EDS")
	case k == "SRDS" && len(r.Refs.Routes) > 1:
		return fmt.Errorf("a scope has one route configuration")
	case k == "SRDS" && len(r.Refs.Routes) > 0 && r.Content != "":
		return fmt.Errorf("the content of a scope is its key and its route configuration")
	case r.ScopeKey != "" && k != "SRDS":
		return fmt.Errorf("a resource of type %s has no scope key", short)
	case r.NotGRPC && (k != "CDS" && k != "LDS" || k == "CDS" && (r.Refs.EDS || len(r.Refs.Clusters) > 0)):
		return fmt.Errorf("only a listener, or a cluster without references, can be made so that gRPC refuses it")
	case r.Invalid && (k == "" || k == "RTDS"):
		return fmt.Errorf("type %s has no constraint that a named resource can violate", short)
	case r.Dated && (dated[k] == "" || v2(r.TypeURL)):
		return fmt.Errorf("type %s has no deprecated field to set", short)
	case v2(r.TypeURL) && (len(r.Refs.Filters) > 0 || len(r.Refs.Groups) > 0):
		return fmt.Errorf("version 2 does not have this kind of reference")
	case v2(r.TypeURL) && len(r.Refs.Secrets) > 1:
		return fmt.Errorf("version 2 has one certificate only")
	case r.OwnName && k == "LEDS":
		return fmt.Errorf("a resource of type %s has no name of its own", short)
	}
	return nil
}

// roomy says whether the payload can hold padding.
func (r *Resource) roomy() bool {
	return !r.Empty && !(kind(r.TypeURL) == "SRDS" && len(r.Refs.Routes) > 0 && !r.Corrupt)
}

func (r *Resource) faulty() bool { return r.Corrupt || r.Unknown || r.Invalid || r.Dated || r.NotGRPC }

// label turns a content into a text that every field accepts. Different
// contents have different labels.
func label(content string) string {
	if len(content) <= 64 {
		plain := true
		for i := 0; i < len(content); i++ {
			c := content[i]
			plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_')
		}
		if plain {
			return content
		}
	}
	sum := sha256.Sum256([]byte(content))
	return "sha256=" + hex.EncodeToString(sum[:16])
}
