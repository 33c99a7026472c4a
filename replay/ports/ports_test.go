package ports

import (
	"bytes"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// busy is an address at which somebody listens.
func busy(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).AddrPort()
}

func TestPlace(t *testing.T) {
	var b Book
	taken := busy(t)
	first, why := b.Place("a", false, taken)
	if first == taken || !first.Addr().IsLoopback() || why != "is in use" {
		t.Errorf("of what is in use: %s, %q", first, why)
	}
	if again, why := b.Place("a", false, taken); again != first || why != "is in use" {
		t.Errorf("the second time: %s, %q", again, why)
	}
	if other, _ := b.Place("b", false, taken); other == first {
		t.Errorf("two clients are sent to %s", other)
	}
	six := netip.AddrPortFrom(netip.IPv6Loopback(), 0)
	if to, why := b.Place("a", false, six); to != six || why != "" {
		t.Errorf("of IPv6: %s, %q", to, why)
	}
	if to, why := b.Place("a", false, netip.MustParseAddrPort("10.1.2.3:0")); to.String() != "127.0.0.1:0" || why != "is no address of this machine" {
		t.Errorf("of what is not here: %s, %q", to, why)
	}
	if to, why := b.Place("a", true, netip.MustParseAddrPort("10.1.2.3:0")); to.String() != "127.0.0.1:0" || why != "is no address of this machine" {
		t.Errorf("of what is not here: %s, %q", to, why)
	}
	free := netip.AddrPortFrom(taken.Addr(), 0)
	if to, why := b.Place("a", false, free); to != free || why != "" {
		t.Errorf("of a free one: %s, %q", to, why)
	}
}

// What a client has by now is in use by itself, and stays.
func TestPlaceStays(t *testing.T) {
	var b Book
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().(*net.TCPAddr).AddrPort()
	_ = l.Close()
	if to, why := b.Place("a", false, at); to != at {
		t.Fatalf("%s, %q", to, why)
	}
	if l, err = net.Listen("tcp", at.String()); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if to, why := b.Place("a", false, at); to != at || why != "" {
		t.Errorf("%s, %q", to, why)
	}
}

// Replays that look for the same address at the same time are not in each other's way.
func TestPlaceBesideAnother(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().(*net.TCPAddr).AddrPort()
	_ = l.Close()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				var b Book
				if to, why := b.Place("a", false, at); to != at {
					t.Errorf("%s, %q", to, why)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestMove(t *testing.T) {
	taken := busy(t)
	socket := func(host string, port uint32) *corev3.Address {
		return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port}, Ipv4Compat: true,
		}}}
	}
	here := socket("127.0.0.1", uint32(taken.Port()))
	for name, c := range map[string]struct {
		listener *listenerv3.Listener
		reason   string
		moved    bool
	}{
		"busy":           {&listenerv3.Listener{Address: here}, "", true},
		"not here":       {&listenerv3.Listener{Address: socket("10.1.2.3", 80)}, "", true},
		"another":        {&listenerv3.Listener{Address: socket("127.0.0.1", 0), AdditionalAddresses: []*listenerv3.AdditionalAddress{{Address: here}}}, "", true},
		"binds":          {&listenerv3.Listener{Address: here, BindToPort: wrapperspb.Bool(true)}, "", true},
		"does not bind":  {&listenerv3.Listener{Address: here, BindToPort: wrapperspb.Bool(false)}, "", false},
		"did not bind":   {withBytes(t, &listenerv3.Listener{Address: here}, 0x3a, 2, 0x0a, 0), "", false}, // deprecated_v1.bind_to_port
		"could not bind": {&listenerv3.Listener{Address: here}, "cannot bind '" + taken.String() + "': Address already in use", false},
		"a pipe":         {&listenerv3.Listener{Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: "/x"}}}}, "", false},
		"a name":         {&listenerv3.Listener{Address: socket("example.com", 80)}, "", false},
		"none":           {&listenerv3.Listener{}, "", false},
	} {
		c.listener.Name = "in"
		any, err := anypb.New(c.listener)
		if err != nil {
			t.Fatal(err)
		}
		wrapped, err := anypb.New(&discovery.Resource{Name: "in", Resource: any})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []proto.Message{
			&discovery.DiscoveryResponse{VersionInfo: "1", Resources: []*anypb.Any{any}, TypeUrl: any.TypeUrl},
			&discovery.DiscoveryResponse{VersionInfo: "1", Resources: []*anypb.Any{wrapped}, TypeUrl: any.TypeUrl},
			&discovery.DeltaDiscoveryResponse{Resources: []*discovery.Resource{{Name: "in", Resource: any}}, TypeUrl: any.TypeUrl},
		} {
			_, delta := m.(*discovery.DeltaDiscoveryResponse)
			data, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			var b Book
			out, notes := b.Move("a", c.reason, data, delta)
			if c.moved != (len(notes) == 1) || c.moved == bytes.Equal(out, data) {
				t.Errorf("%s: %q", name, notes)
			}
			if !c.moved {
				continue
			}
			if err := proto.Unmarshal(out, m); err != nil {
				t.Fatal(err)
			}
			got := &listenerv3.Listener{}
			switch m := m.(type) {
			case *discovery.DiscoveryResponse:
				err = m.Resources[0].UnmarshalTo(got)
				if in := (&discovery.Resource{}); err != nil && m.Resources[0].UnmarshalTo(in) == nil {
					err = in.Resource.UnmarshalTo(got)
				}
			case *discovery.DeltaDiscoveryResponse:
				err = m.Resources[0].Resource.UnmarshalTo(got)
			}
			if err != nil {
				t.Fatal(err)
			}
			at := got.Address
			if len(got.AdditionalAddresses) > 0 {
				at = got.AdditionalAddresses[0].Address
			}
			if s := at.GetSocketAddress(); s.GetAddress() != "127.0.0.1" || s.GetPortValue() == uint32(taken.Port()) || !s.Ipv4Compat || !strings.Contains(notes[0], s.GetAddress()) {
				t.Errorf("%s: %v, %q", name, at, notes)
			}
		}
	}
}

// withBytes adds bytes to a message.
func withBytes(t *testing.T, l *listenerv3.Listener, more ...byte) *listenerv3.Listener {
	t.Helper()
	data, err := proto.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	out := &listenerv3.Listener{}
	if err := proto.Unmarshal(append(data, more...), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func FuzzMove(f *testing.F) {
	f.Add([]byte("\x12\x10\x0a\x02/x\x12\x0a"), true)
	f.Fuzz(func(t *testing.T, data []byte, delta bool) {
		var b Book
		if out, notes := b.Move("a", "", data, delta); len(notes) == 0 && !bytes.Equal(out, data) {
			t.Error("it changes bytes and says nothing")
		}
	})
}
