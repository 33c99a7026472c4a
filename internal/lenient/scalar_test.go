package lenient_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/typepb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// Numbers are taken up to the ends of their type and no further, in any form in
// which protobuf's JSON may write them.
func TestEndsOfNumbers(t *testing.T) {
	for typ, c := range map[string]struct{ in, out []string }{
		"UInt32": {[]string{"0", "4294967295", `"4294967295"`, "4.294967295e9"}, []string{"4294967296", "-1", "0.5"}},
		"Int32":  {[]string{"2147483647", "-2147483648", `"-2147483648"`}, []string{"2147483648", "-2147483649", "1.5"}},
		"UInt64": {[]string{"18446744073709551615", `"18446744073709551615"`}, []string{"18446744073709551616", "-1"}},
		"Int64":  {[]string{"9223372036854775807", "-9223372036854775808"}, []string{"9223372036854775808", "-9223372036854775809"}},
		"Float":  {[]string{"3.4028234663852886e38", `"Infinity"`}, []string{"3.5e38"}},
	} {
		for text, taken := range sides(c.in, c.out) {
			whole := []byte(`{"@type":"x/google.protobuf.` + typ + `Value","value":` + text + `}`)
			var ours anypb.Any
			_, err := lenient.JSON(whole).Into(&ours, protoregistry.GlobalTypes)
			if (err == nil) != taken {
				t.Errorf("%s of %s: %v", typ, text, err)
			}
			if strict := protojson.Unmarshal(whole, new(anypb.Any)); taken && strict != nil {
				t.Errorf("protobuf itself does not take %s of %s: %v", typ, text, strict)
			}
		}
	}
}

func sides(in, out []string) map[string]bool {
	all := make(map[string]bool)
	for _, s := range in {
		all[s] = true
	}
	for _, s := range out {
		all[s] = false
	}
	return all
}

// A word of an enum may come in any case, and as its number.
func TestWordsOfEnums(t *testing.T) {
	for text, want := range map[string]typepb.Syntax{`"SYNTAX_PROTO3"`: 1, `"syntax_proto3"`: 1, `"Syntax_Editions"`: 2, "1": 1, `"1"`: 1} {
		var a anypb.Any
		var typ typepb.Type
		_, err := lenient.JSON([]byte(`{"@type":"x/google.protobuf.Type","syntax":`+text+`}`)).Into(&a, protoregistry.GlobalTypes)
		if err != nil || a.UnmarshalTo(&typ) != nil || typ.Syntax != want {
			t.Errorf("%s: %v, %v", text, typ.Syntax, err)
		}
	}
}
