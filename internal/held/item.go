package held

import (
	"crypto/sha256"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// States of envoy.admin.v3.ClientResourceStatus.
const (
	unknown      = 0
	requested    = 1
	doesNotExist = 2
	acked        = 3
	nacked       = 4
	timeout      = 6
)

// Fields of ClientConfig.GenericXdsConfig.
const (
	typeField, nameField, versionField, configField, updatedField = 1, 2, 3, 4, 5
	clientField, errorField, staticField                          = 7, 8, 9
)

// Fields of UpdateFailureState.
const failedField, attemptField, detailsField, failedVersionField = 1, 2, 3, 4

// key tells the resources of a client apart.
type key struct{ typeURL, name string }

// item is a GenericXdsConfig: what is said of a resource in one state. There may be
// several of one key.
type item struct {
	key
	raw []byte
	sum [sha256.Size]byte // equal where the same is said, at whatever time
	// waits says that it is not in use yet.
	waits bool
}

func newItem(k key, state uint64, raw []byte) item {
	return item{key: k, raw: raw, sum: sumOf(raw), waits: state == requested}
}

// sumOf leaves out when something was said, so that it is no change to say it again.
func sumOf(raw []byte) [sha256.Size]byte {
	var rest []byte
	for s := protoscan.Of(raw); s.Next(); {
		switch s.Num {
		case updatedField:
		case errorField:
			for e := protoscan.Of(s.Body); e.Next(); {
				if e.Num != attemptField {
					rest = append(rest, e.Raw()...)
				}
			}
		default:
			rest = append(rest, s.Raw()...)
		}
	}
	return sha256.Sum256(rest)
}

// generic is an item in the making.
type generic struct {
	key
	version   string
	configURL string // of xds_config; "": there is none
	config    []byte
	updated   time.Time
	state     uint64
	static    bool
	failure   []byte // an UpdateFailureState
}

func (g *generic) item() item {
	b := appendText(nil, typeField, g.typeURL)
	b = appendText(b, nameField, g.name)
	b = appendText(b, versionField, g.version)
	if g.configURL != "" {
		b = appendBytes(b, configField, anyOf(g.configURL, g.config))
	}
	b = appendTime(b, updatedField, g.updated)
	b = protowire.AppendTag(b, clientField, protowire.VarintType)
	b = protowire.AppendVarint(b, g.state)
	if len(g.failure) > 0 {
		b = appendBytes(b, errorField, g.failure)
	}
	if g.static {
		b = protowire.AppendTag(b, staticField, protowire.VarintType)
		b = protowire.AppendVarint(b, 1)
	}
	return newItem(g.key, g.state, b)
}

func anyOf(url string, value []byte) []byte {
	b := appendText(nil, 1, url)
	if len(value) > 0 {
		b = appendBytes(b, 2, value)
	}
	return b
}

func appendText(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
}

func appendBytes(b []byte, num protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}

// appendTime appends a Timestamp.
func appendTime(b []byte, num protowire.Number, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	var in []byte
	if s := t.Unix(); s != 0 {
		in = protowire.AppendVarint(protowire.AppendTag(in, 1, protowire.VarintType), uint64(s))
	}
	if n := t.Nanosecond(); n != 0 {
		in = protowire.AppendVarint(protowire.AppendTag(in, 2, protowire.VarintType), uint64(n))
	}
	return appendBytes(b, num, in)
}

// answer is what a client says that it holds.
type answer struct {
	id    string // of its node; "" if it does not say
	node  []byte // a Node, nil if it does not say
	items []item
	notes []string // what of it could not be read

	seen map[[sha256.Size]byte]bool // of items; nil: they are told apart by their source
}

// response is a ClientStatusResponse of one client.
func response(node []byte, items [][]byte) []byte {
	size := len(node) + 16
	for _, raw := range items {
		size += len(raw) + 8
	}
	config := make([]byte, 0, size)
	if len(node) > 0 {
		config = appendBytes(config, 1, node)
	}
	for _, raw := range items {
		config = appendBytes(config, 3, raw)
	}
	return appendBytes(make([]byte, 0, len(config)+8), 1, config)
}
