package survey

import (
	"reflect"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
)

func TestOf(t *testing.T) {
	const cluster, other = "type.googleapis.com/envoy.config.cluster.v3.Cluster", "type.googleapis.com/x.Y"
	plain := []decode.Resource{{Name: "a", TypeURL: cluster}, {Name: "b", TypeURL: cluster, Wrapped: true}, {Name: "gone", Empty: true}}
	if p := Of(plain); !p.None() || p.Wrapped != 1 || p.Typed != 1 {
		t.Errorf("%+v of plain resources", p)
	}
	for _, c := range []struct {
		r    decode.Resource
		want Peculiar
	}{
		{decode.Resource{Name: "c", TypeURL: cluster, HasTTL: true}, Peculiar{Timed: []int{3}}},
		{decode.Resource{TypeURL: cluster}, Peculiar{Misnamed: []int{3}}},
		{decode.Resource{Name: "c", TypeURL: cluster, Unnamed: true}, Peculiar{Misnamed: []int{3}}},
		{decode.Resource{Name: "c", TypeURL: cluster, BothNames: true}, Peculiar{Misnamed: []int{3}}},
		{decode.Resource{Name: "c", TypeURL: cluster, Aliases: []string{"d"}}, Peculiar{Aliased: true}},
		{decode.Resource{Name: "c", TypeURL: cluster, Constraints: "x"}, Peculiar{Variants: true}},
		{decode.Resource{Name: "c", TypeURL: other}, Peculiar{Odd: []int{3}}},
		{decode.Resource{Name: "c", TypeURL: cluster, HasTTL: true, Unnamed: true}, Peculiar{Timed: []int{3}, Misnamed: []int{3}}},
		{decode.Resource{Name: "c", TypeURL: other, HasTTL: true}, Peculiar{Timed: []int{3}, Odd: []int{3}}},
		{decode.Resource{Name: "c", TypeURL: other, Unnamed: true}, Peculiar{Misnamed: []int{3}, Odd: []int{3}}},
	} {
		c.want.Wrapped, c.want.Typed = 1, 1
		if p := Of(append(plain[:3:3], c.r)); !reflect.DeepEqual(p, c.want) || p.None() {
			t.Errorf("%+v: %+v, want %+v", c.r, p, c.want)
		}
	}
}
