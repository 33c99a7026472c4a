package replay

import (
	"fmt"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	long := strings.Repeat("n", 200)
	var many []string
	for i := range 21 {
		many = append(many, fmt.Sprint("n", i))
	}
	for _, c := range []struct{ got, want string }{
		{ClientName(""), "a client without a node id"},
		{ClientName("n1"), `"n1"`},
		{Bounded(long), long},
		{Bounded(long + "x"), long + "…"},
		{Few(nil), ""},
		{Few(many[:1]), `"n0"`},
		{Few(many[:5]), `"n0", "n1", "n2", "n3", "n4"`},
		{Few(many[:6]), `"n0", "n1", "n2", "n3", "n4" and 1 more`},
		{Responses(1, "CDS"), "1 response of CDS"},
		{Responses(2, "CDS"), "2 responses of CDS"},
		{Responses(0, "CDS"), "0 responses of CDS"},
		{fmt.Sprint(BoundedNames(many)), fmt.Sprint(many[:20])},
		{fmt.Sprint(BoundedNames(many[:19])), fmt.Sprint(many[:19])},
		{fmt.Sprint(BoundedNames([]string{long + "x"})), "[" + long + "…]"},
		{Unanswered.String(), "no answer"},
		{ACKed.String(), "ACK"},
		{NACKed.String(), "NACK"},
		{neither.String(), "neither ACK nor NACK"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
