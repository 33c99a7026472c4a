package settings

import (
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "512": 512, "512B": 512, "1k": 1000, "1kB": 1000, "1KiB": 1024, "64MiB": 64 << 20, "2 GiB": 2 << 30, "3G": 3e9,
		"4611686018427387904": 1 << 62, "4294967296GiB": 1 << 62,
	} {
		var v Size
		if err := v.Set(text); err != nil || int64(v) != want {
			t.Errorf("%q: %d, %v", text, v, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "1.5MiB", "MiB", "1TiB", "99999999999GiB", "1 0", "4611686018427387905", "4294967297GiB"} {
		if err := new(Size).Set(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func FuzzSize(f *testing.F) {
	for _, s := range []string{"64MiB", "0B", "1k", "9223372036854775807", "-5", "4611686018427387904B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v, again Size
		if v.Set(text) != nil {
			return
		}
		if v < 0 {
			t.Fatalf("%q is %d", text, v)
		}
		if err := again.Set(v.String()); err != nil || again != v {
			t.Fatalf("%q is %d, but %q is %d, %v", text, v, v.String(), again, err)
		}
	})
}

func TestDurationOrOff(t *testing.T) {
	for text, want := range map[string]string{"200ms": "200ms", "2m": "2m", "off": "off", "OFF": "off", "no": "off"} {
		var v, again OrOff
		if err := v.Set(text); err != nil || v.String() != want || again.Set(v.String()) != nil || again != v {
			t.Errorf("%q: %s, %v", text, v.String(), err)
		}
	}
	for _, text := range []string{"", "0", "0s", "-1s", "on", "soon"} {
		if err := new(OrOff).Set(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]string{"5s": "5s", "90s": "1m30s", "60s": "1m", "2h": "2h", "0": "0s", "1500ms": "1.5s"} {
		var v Duration
		if err := v.Set(text); err != nil || v.String() != want {
			t.Errorf("%q: %s, %v", text, v.String(), err)
		}
		var again Duration
		if err := again.Set(v.String()); err != nil || again != v {
			t.Errorf("%q does not come back: %v, %v", v.String(), time.Duration(again), err)
		}
	}
	for _, text := range []string{"", "5", "-5s", "soon"} {
		if err := new(Duration).Set(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
