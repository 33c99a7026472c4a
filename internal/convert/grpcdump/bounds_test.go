package grpcdump

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

const (
	call1 = `{"service":"envoy.service.discovery.v3.AggregatedDiscoveryService","method":"StreamAggregatedResources","messages":[`
	sent  = `{"timestamp":"2026-01-01T00:00:00Z"}`
)

// inUse is what is reachable.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What is counted is what is in memory, at the least by half, of whatever a dump has
// most of.
func TestBytesAreCounted(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for name, text := range map[string]string{
		"messages": call1 + strings.Repeat(`{},`, 1<<16) + `{}]}`,
		"calls":    strings.Repeat(call1+sent+"]}\n", 1<<14),
		"fields":   strings.Repeat(call1+sent+`],"metadata":{"":[`+strings.Repeat(`"",`, 1000)+`""]}}`, 256),
		"names":    strings.Repeat(call1+sent+`],"metadata":{`+manyNames(1000)+`}}`, 128),
		"statuses": strings.Repeat(call1+sent+`],"error":{"code":"x","message":"`+long+`"}}`, 1<<13),
		"codes":    strings.Repeat(call1+sent+`],"error":{"code":"`+long+`"}}`, 1<<13),
		"origins":  call1 + strings.Repeat(`{"message_origin":"`+long+`"},`, 1<<13) + `{}]}`,
		"methods":  strings.Repeat(strings.Replace(call1, `StreamAggregatedResources`, `StreamAggregatedResources?`+long, 1)+sent+"]}\n", 1<<13),
	} {
		d := &dump{in: &limited{r: strings.NewReader(text)}}
		d.dec = json.NewDecoder(d.in)
		before := inUse()
		if err := d.read(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		most, seen := inUse(), false
		if err := d.emit(func(*session.Entry) error {
			if !seen {
				seen, most = true, max(most, inUse())
			}
			return nil
		}); err != nil || !seen {
			t.Fatalf("%s: %v", name, err)
		}
		if took := most - before; took > 2*d.bytes+1<<20 {
			t.Errorf("%s: %d bytes are in memory, and %d were counted", name, took, d.bytes)
		}
	}
}

func manyNames(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"%d":[]`, i))
	}
	return strings.Join(all, ",")
}

// What is counted has a bound, and a call that is left out is not counted.
func TestBytesHaveABound(t *testing.T) {
	line := call1 + sent + `],"error":{"code":"OK","message":"gone"}}`
	need := int64(perCall + 3*len("/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources") + perMessage + len("OK") + len("gone"))
	for more, full := range map[int64]bool{0: false, 1: true} {
		d := &dump{in: &limited{r: strings.NewReader(strings.Replace(line, "envoy", "other", 1) + line)}, bytes: MaxBytes - need + more}
		d.dec = json.NewDecoder(d.in)
		err := d.read()
		if is, _ := errors.AsType[*FormatError](err); (is != nil) != full || full && !strings.Contains(err.Error(), "more than 256 MiB") || d.done.Others != 1 {
			t.Errorf("%d bytes more: %v, %+v", more, err, d.done)
		}
	}
}

// Metadata has so many bytes in the dump and so many in memory, those of empty names
// and values included. With more it costs no more than its text.
func TestMetadataHasABound(t *testing.T) {
	values := func(n int) string { return `{"":[` + strings.Repeat(`"",`, n) + `""]}` }
	most := maxHeaders/perField - 2 // the name is one, and the last value
	spaces := maxMetadata - len(values(0))
	for name, c := range map[string]struct{ metadata, want string }{
		"as many values as may be": {values(most), ""},
		"one value more":           {values(most + 1), "the metadata of a call has more than 1 MiB"},
		"as long as may be":        {strings.Replace(values(0), `[`, `[`+strings.Repeat(" ", spaces), 1), ""},
		"one byte longer":          {strings.Replace(values(0), `[`, `[`+strings.Repeat(" ", spaces+1), 1), "the metadata of a call is longer than 4 MiB"},
		"a bomb":                   {values(8 << 20), "the metadata of a call is longer than 4 MiB"},
		"none":                     {"null", ""},
	} {
		for _, of := range []string{"metadata", "metadata_response_headers", "metadata_response_trailers"} {
			text := call1 + sent + `],"` + of + `":` + c.metadata + "}"
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			done, err := Read(strings.NewReader(text), func(*session.Entry) error { return nil })
			runtime.ReadMemStats(&after)
			if (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), c.want) || done.Messages != 1 {
				t.Errorf("%s of %s: %v, %+v", name, of, err, done)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20+6*uint64(len(text)) {
				t.Errorf("%s of %s: %d bytes take %d", name, of, len(text), n)
			}
		}
	}
}
