package capture_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

// packet is one of a capture of raw IP.
type packet struct {
	at   time.Time
	data []byte
	cut  int // bytes at its end that were not captured
}

// payload is what it has of TCP.
func (p packet) payload() []byte {
	t, _ := gopacket.NewPacket(p.data, layers.LinkTypeRaw, gopacket.Default).Layer(layers.LayerTypeTCP).(*layers.TCP)
	return t.Payload
}

// packetsOf are those of a session, written as a capture.
func packetsOf(t testing.TB, name string) (entries []session.Entry, out []packet) {
	t.Helper()
	return packetsIn(t, recordertest.Entries(t, filepath.Join(sessionsDir, name+".xdsp")))
}

func packetsIn(t testing.TB, entries []session.Entry) (same []session.Entry, out []packet) {
	t.Helper()
	file, _ := written(t, entries)
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	for {
		data, of, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return entries, out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, packet{at: of.Timestamp, data: data})
	}
}

// pcapOf is a capture of packets, each behind what the link puts before it.
func pcapOf(t testing.TB, link layers.LinkType, before []byte, packets []packet) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriterNanos(&b)
	if err := w.WriteFileHeader(1<<18, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range packets {
		data := slices.Concat(before, p.data)
		of := gopacket.CaptureInfo{Timestamp: p.at, Length: len(data), CaptureLength: len(data) - p.cut}
		if err := w.WritePacket(of, data[:of.CaptureLength]); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func raw(t testing.TB, packets []packet) []byte { return pcapOf(t, layers.LinkTypeRaw, nil, packets) }

// messages are those of entries, by side.
func messages(entries []session.Entry) (out []string) {
	for _, e := range entries {
		if e.Message != nil {
			out = append(out, e.Side.String()+" "+string(e.Message.Data.Bytes()))
		}
	}
	return out
}

func notes(entries []session.Entry) (out string) {
	for _, e := range entries {
		if e.Note != nil {
			out += string(e.Note.Code) + ": " + e.Note.Text + "\n"
		}
	}
	return out
}

// Packets are found behind whatever a link puts before them.
func TestLinks(t *testing.T) {
	entries, packets := packetsOf(t, "grpc-go")
	mac := []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}
	for name, l := range map[string]struct {
		link   layers.LinkType
		before []byte
	}{
		"Ethernet":         {layers.LinkTypeEthernet, append(mac, 8, 0)},
		"VLAN":             {layers.LinkTypeEthernet, append(mac, 0x81, 0, 0, 7, 8, 0)},
		"VLAN in VLAN":     {layers.LinkTypeEthernet, append(mac, 0x88, 0xa8, 0, 7, 0x81, 0, 0, 7, 8, 0)},
		"loopback of BSD":  {layers.LinkTypeNull, []byte{2, 0, 0, 0}},
		"loopback of OBSD": {layers.LinkTypeLoop, []byte{0, 0, 0, 2}},
		"cooked":           {layers.LinkTypeLinuxSLL, []byte{0, 0, 3, 4, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0}},
		"cooked, 2":        {layers.LinkTypeLinuxSLL2, []byte{8, 0, 0, 0, 0, 0, 0, 1, 3, 4, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0}},
		"raw":              {layers.LinkTypeRaw, nil},
		"raw IPv4":         {layers.LinkTypeIPv4, nil},
	} {
		got, done := read(t, pcapOf(t, l.link, l.before, packets))
		if diff := cmp.Diff(conversation(entries), conversation(got)); diff != "" {
			t.Errorf("%s: %+v\n%.1000s", name, done, diff)
		}
	}
	if _, done := read(t, pcapOf(t, 147, nil, packets)); done.UnknownLinks != uint64(len(packets)) || done.Entries != 0 {
		t.Errorf("of a link that nobody knows: %+v", done)
	}
}

// TCP puts in order what comes in another order, and drops what comes twice.
func TestOutOfOrder(t *testing.T) {
	for _, name := range []string{"grpc-go", "envoy-delta", "rest-envoy"} {
		entries, packets := packetsOf(t, name)
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, 0))
			var mixed []packet
			for _, p := range packets {
				mixed = append(mixed, p)
				if rng.IntN(4) == 0 {
					mixed = append(mixed, p)
				}
			}
			for i := 4; i < len(mixed)-8; i++ { // handshakes and ends stay where they are
				if k := i + rng.IntN(3); len(mixed[i].payload()) > 0 && len(mixed[k].payload()) > 0 && mixed[k].at.Sub(mixed[i].at) < 50*time.Millisecond {
					mixed[i].data, mixed[k].data = mixed[k].data, mixed[i].data
				}
			}
			got, done := read(t, raw(t, mixed))
			want, have := messages(entries), messages(got)
			slices.Sort(want)
			slices.Sort(have)
			if diff := cmp.Diff(want, have); diff != "" || done.Gaps != 0 {
				t.Fatalf("%s, seed %d: %+v\n%.2000s", name, seed, done, diff)
			}
		}
	}
}

// A capture that begins in the middle has the messages from there on, whichever end
// has which port, and says what is not known.
func TestBegunBefore(t *testing.T) {
	for _, name := range []string{"grpc-go", "envoy-delta", "envoy-sotw"} {
		_, packets := packetsOf(t, name)
		whole, _ := read(t, raw(t, packets))
		all := messages(whole)
		for skip := 0; skip < len(packets)-20; skip += 5 {
			got, done := read(t, raw(t, packets[skip:]))
			have := messages(got)
			if len(have) > len(all) || !slices.Equal(all[len(all)-len(have):], have) {
				t.Fatalf("%s from packet %d: %+v, %d messages are not the last of %d\n%s", name, skip, done, len(have), len(all), cmp.Diff(all[len(all)-min(len(have), len(all)):], have))
			}
			said := notes(got)
			for _, e := range got {
				if e.Kind == session.KindOpen && e.Method == "" {
					t.Errorf("%s from packet %d: a stream is opened without a method", name, skip)
				}
			}
			if done.Midway > 0 != strings.Contains(said, "midway: the capture begins in the middle") {
				t.Errorf("%s from packet %d: %+v, %s", name, skip, done, said)
			}
		}
	}
}

// What was not captured is a gap; what comes behind it is read.
func TestMissing(t *testing.T) {
	for _, name := range []string{"grpc-go", "envoy-delta"} {
		entries, packets := packetsOf(t, name)
		for i, p := range packets {
			if len(p.payload()) == 0 {
				continue
			}
			got, done := read(t, raw(t, slices.Delete(slices.Clone(packets), i, i+1)))
			all, have := messages(entries), messages(got)
			if len(have) < len(all)-12 || done.Torn {
				t.Errorf("%s without packet %d: %d messages of %d: %+v\n%s", name, i, len(have), len(all), done, notes(got))
			}
			if done.Gaps != 1 || done.Missing != uint64(len(p.payload())) || done.Connections == 0 {
				t.Errorf("%s without packet %d of %d bytes: %+v\n%s", name, i, len(p.payload()), done, notes(got))
			}
			short := slices.Clone(packets)
			short[i].cut = min(20, len(p.payload()))
			if _, done := read(t, raw(t, short)); done.Cut != 1 || done.Gaps != 1 {
				t.Errorf("%s with packet %d cut: %+v", name, i, done)
			}
		}
	}
}

// A file may end anywhere: what is before that is read.
func TestCutFile(t *testing.T) {
	entries, packets := packetsOf(t, "grpc-go")
	file := raw(t, packets)
	all := messages(entries)
	for n := 24; n < len(file); n += 97 {
		got, done := read(t, file[:n])
		if have := messages(got); len(have) > len(all) || !done.Torn && n < len(file) && n > 24 && done.Packets == uint64(len(packets)) {
			t.Errorf("of %d bytes: %+v", n, done)
		}
	}
}

// The ports of a connection may be used again: after a reset, and after an end that
// was not captured.
func TestPortsAgain(t *testing.T) {
	entries, packets := packetsOf(t, "linear-sotw")
	fin := slices.IndexFunc(packets, func(p packet) bool { return p.data[20+13]&1 != 0 })
	if fin < 0 {
		t.Fatal("no connection ends")
	}
	reset := slices.Clone(packets[fin].data)
	reset[20+13] = 4 // RST
	for name, end := range map[string][]packet{"reset": {{at: packets[fin].at, data: reset}}, "unseen": nil} {
		again := slices.Concat(packets[:fin], end)
		for _, p := range packets[:fin] {
			p.at = p.at.Add(time.Hour)
			p.data = slices.Clone(p.data)
			seq := 20 + 4
			binary.BigEndian.PutUint32(p.data[seq:], binary.BigEndian.Uint32(p.data[seq:])+1<<30)
			if p.data[20+13]&16 != 0 {
				binary.BigEndian.PutUint32(p.data[seq+4:], binary.BigEndian.Uint32(p.data[seq+4:])+1<<30)
			}
			again = append(again, p)
		}
		got, done := read(t, raw(t, again))
		if have := len(messages(got)); done.Connections != 2 || have < len(messages(entries)) || have%2 != 0 {
			t.Errorf("%s: %+v, %d messages", name, done, have)
		}
	}
}

// Of a recording two connections may have had the same ports, too.
func TestPortsAgainInARecording(t *testing.T) {
	entries := recordertest.Entries(t, filepath.Join(sessionsDir, "grpc-go.xdsp"))
	twice := slices.Clone(entries)
	for _, e := range entries {
		e.Conn += 100
		if e.Stream > 0 {
			e.Stream += 100
		}
		e.Time = e.Time.Add(time.Hour)
		twice = append(twice, e)
	}
	file, _ := written(t, twice)
	got, done := read(t, file)
	if diff := cmp.Diff(len(messages(twice)), len(messages(got))); diff != "" || done.Midway+done.Gaps > 0 {
		t.Errorf("%+v: %s", done, diff)
	}
}

// What is not xDS is left out and counted.
func TestNothingOfXDS(t *testing.T) {
	_, packets := packetsOf(t, "grpc-go")
	for name, to := range map[string]string{"TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "text": "hello, world", "HTTP": "GET / HTTP/1.1\r\n\r\n", "zeros": strings.Repeat("\x00", 24)} {
		var other []packet
		for _, p := range packets {
			p.data = slices.Clone(p.data)
			if body := p.payload(); len(body) > 0 {
				for i := range body {
					p.data[len(p.data)-len(body)+i] = to[i%len(to)]
				}
			}
			other = append(other, p)
		}
		got, done := read(t, raw(t, other))
		if len(got) > 0 || done.Connections > 0 || done.TLS+done.OtherConnections == 0 || (name == "TLS") != (done.TLS > 0) {
			t.Errorf("%s: %+v, %d entries", name, done, len(got))
		}
	}
}

// Fragments of IP are not put together, and counted; other protocols are not.
func TestFragments(t *testing.T) {
	_, packets := packetsOf(t, "grpc-go")
	changed := func(i, at int, b byte) {
		packets[i].data = slices.Clone(packets[i].data)
		packets[i].data[at] = b
	}
	changed(4, 6, 0x20) // more of them follow
	changed(6, 7, 9)    // the place of one
	changed(8, 9, 17)   // UDP
	if _, done := read(t, raw(t, packets)); done.Fragments != 2 || done.Packets != uint64(len(packets)) {
		t.Errorf("%+v", done)
	}
}
