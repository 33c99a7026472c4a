package script

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// A frame has all of a response but the payloads, and so all of its wrappers.
func TestFrames(t *testing.T) {
	of := func(line string) (out string) {
		method := xds.Method{Variant: xds.VariantSotw}
		if line[0] == 'd' {
			method.Variant = xds.VariantDelta
		}
		for e := range parseText(t, line).Entries() {
			if e.Message != nil && e.Side == session.Server {
				data := e.Message.Data.Bytes()
				out = string(frame(decode.Peek(method, e.Side, "", data).Kind, data))
			}
		}
		if out == "" {
			t.Errorf("%s has no frame", line)
		}
		return out
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"S< type=CDS V=1 N=1 res=[a]", "S< type=CDS V=1 N=1 res=[a{eds}]", true},
		{"S< type=CDS V=1 N=1 res=[a]", "S< type=CDS V=1 N=1 res=[LDS:a]", false},
		{"S< type=CDS V=1 N=1 res=[w:a~5s]", "S< type=CDS V=1 N=1 res=[w:a{eds}~5s]", true},
		{"S< type=CDS V=1 N=1 res=[w:a~5s]", "S< type=CDS V=1 N=1 res=[w:a~6s]", false},
		{"d< type=CDS N=1 res=[a@1]", "d< type=CDS N=1 res=[a@1{eds}]", true},
		{"d< type=CDS N=1 res=[a@1]", "d< type=CDS N=1 res=[a@2]", false},
	} {
		if (of(c.a) == of(c.b)) != c.same {
			t.Errorf("%s and %s: the frames are the same: %v", c.a, c.b, !c.same)
		}
	}
}
