package ports

import (
	"fmt"
	"net/netip"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/clip"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// The numbers of fields of envoy.service.discovery.v3, envoy.config.listener.v3 and
// core.v3; version 2 has the same.
const (
	resourcesOfResponse  = 2 // in both variants
	resourceOfWrapper    = 2
	addressOfListener    = 2
	deprecatedOfListener = 7
	bindOfListener       = 26
	othersOfListener     = 33
	protocolOfSocket     = 1
	addressOfSocket      = 2
	portOfSocket         = 3
	networkOfSocket      = 7
)

// Move returns a response with its listeners at addresses that can be had here,
// and what there is to say of that. reason is why the recorded client rejected the
// response: an address that it could not bind is left for the live one not to
// bind. A response with nothing to be moved keeps its bytes.
func (b *Book) Move(client, reason string, response []byte, delta bool) ([]byte, []string) {
	v := &moving{book: b, client: client, reason: reason}
	out := within(response, resourcesOfResponse, func(resource []byte) []byte {
		if delta {
			return within(resource, resourceOfWrapper, v.any)
		}
		return v.any(resource)
	})
	if len(v.notes) == 0 {
		return response, nil
	}
	return out, v.notes
}

// moving is the moving of the listeners of one response.
type moving struct {
	book           *Book
	client, reason string
	notes          []string
}

// within replaces the bodies of a field. All else stays as it is and where it is.
func within(data []byte, num protowire.Number, change func([]byte) []byte) []byte {
	out := make([]byte, 0, len(data)+16)
	s := protoscan.Of(data)
	for s.Next() {
		if body, is := s.Bytes(); is && s.Num == num {
			out = protowire.AppendBytes(protowire.AppendTag(out, num, protowire.BytesType), change(body))
		} else {
			out = append(out, s.Raw()...)
		}
	}
	if s.Err != "" {
		return data
	}
	return out
}

func fields(data []byte, f func(*protoscan.Field)) {
	for s := protoscan.Of(data); s.Next(); {
		f(&s.Field)
	}
}

func (v *moving) any(b []byte) []byte {
	url := ""
	fields(b, func(f *protoscan.Field) {
		if f.Num == 1 {
			url = string(f.Body)
		}
	})
	switch {
	case xds.IsWrapper(url):
		return within(b, 2, func(w []byte) []byte { return within(w, resourceOfWrapper, v.any) })
	case xds.ShortType(url) == "LDS":
		return within(b, 2, v.listener)
	}
	return b
}

// listener leaves alone what does not listen: Istio's virtual listeners.
func (v *moving) listener(b []byte) []byte {
	name, binds := "", true
	fields(b, func(f *protoscan.Field) {
		switch f.Num {
		case 1:
			name = string(f.Body)
		case bindOfListener:
			binds = binds && isTrue(f.Body)
		case deprecatedOfListener:
			fields(f.Body, func(f *protoscan.Field) { binds = binds && (f.Num != 1 || isTrue(f.Body)) })
		}
	})
	if !binds {
		return b
	}
	address := func(a []byte) []byte {
		return within(a, 1, func(socket []byte) []byte { return v.socket(name, socket) })
	}
	b = within(b, addressOfListener, address)
	return within(b, othersOfListener, func(other []byte) []byte { return within(other, 1, address) })
}

func (v *moving) socket(name string, b []byte) []byte {
	var host string
	var port uint64
	udp, elsewhere := false, false
	fields(b, func(f *protoscan.Field) {
		switch f.Num {
		case protocolOfSocket:
			udp = f.Varint() == 1
		case addressOfSocket:
			host = string(f.Body)
		case portOfSocket:
			port = f.Varint()
		case networkOfSocket:
			elsewhere = true
		}
	})
	ip, err := netip.ParseAddr(host)
	if err != nil || port > 65535 || elsewhere {
		return b
	}
	at := netip.AddrPortFrom(ip, uint16(port))
	if strings.Contains(v.reason, "cannot bind") && strings.Contains(v.reason, at.String()) {
		return b
	}
	to, why := v.book.Place(v.client, udp, at)
	if why == "" {
		return b
	}
	v.notes = append(v.notes, fmt.Sprintf("listener %q is sent with the address %s: %s %s", clip.Text(name, 200), to, at, why))
	out := within(b, addressOfSocket, func([]byte) []byte { return []byte(to.Addr().String()) })
	// Of a field that stands twice the last counts.
	return protowire.AppendVarint(protowire.AppendTag(out, portOfSocket, protowire.VarintType), uint64(to.Port()))
}

// isTrue reads a BoolValue.
func isTrue(b []byte) bool {
	is := false
	fields(b, func(f *protoscan.Field) { is = f.Num == 1 && f.Varint() != 0 })
	return is
}
