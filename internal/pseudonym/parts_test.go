package pseudonym

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A field of text says what stands in it.
func TestPlaces(t *testing.T) {
	for field, want := range map[string]place{
		"google.protobuf.Struct.FieldsEntry.key":                         inKey,
		"google.protobuf.FieldMask.paths":                                inField,
		"envoy.config.core.v3.Node.user_agent_name":                      inAgent,
		"envoy.config.core.v3.Node.id":                                   inValue,
		"envoy.config.core.v3.Extension.name":                            inAgent,
		"envoy.config.core.v3.Extension.category":                        inAgent,
		"envoy.config.core.v3.Extension.type_descriptor":                 inValue,
		"google.rpc.Status.message":                                      inProse,
		"envoy.admin.v3.UpdateFailureState.details":                      inProse,
		"envoy.type.matcher.v3.RegexMatcher.regex":                       inPattern,
		"envoy.config.core.v3.HeaderValue.key":                           inHeader,
		"envoy.config.core.v3.HeaderValue.value":                         inValue,
		"envoy.config.route.v3.HeaderMatcher.name":                       inHeader,
		"envoy.config.route.v3.RouteAction.cluster_header":               inHeader,
		"envoy.config.cluster.v3.Cluster.name":                           inValue,
		"envoy.config.core.v3.Metadata.FilterMetadataEntry.key":          inValue,
		"envoy.config.cluster.v3.Cluster.alt_stat_name":                  inValue,
		"envoy.service.discovery.v3.DiscoveryRequest.version_info":       inValue,
		"envoy.config.route.v3.RouteConfiguration.internal_only_headers": inHeader,
	} {
		at := strings.LastIndexByte(field, '.')
		md := messageType(field[:at])
		if md == nil {
			t.Errorf("%s is not there", field)
			continue
		}
		fd := md.Fields().ByName(protoreflect.Name(field[at+1:]))
		if fd == nil {
			t.Errorf("%s is not there", field)
			continue
		}
		if got := placeOf(md, fd); got != want {
			t.Errorf("%s is %s, not %s", field, placeNames[got], placeNames[want])
		}
	}
}

// tagged is a field of bytes.
func tagged(num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), b)
}

// In a TypedStruct keys are names of fields, and values are not.
func TestTypedStruct(t *testing.T) {
	entry := func(key, value string) []byte {
		return tagged(1, append(tagged(1, []byte(key)), tagged(2, tagged(3, []byte(value)))...))
	}
	structure := append(entry("cluster", "domains"), entry("domains", "cluster")...)
	n := NewNames(testKey())
	mapped(t, n, []string{"cluster", "domains"}, inValue)
	c, d := n.text("cluster", inValue, 0), n.text("domains", inValue, 0)
	if c == "cluster" || d == "domains" {
		t.Fatalf("as values they are %s and %s", c, d)
	}
	want := append(entry("cluster", d), entry("domains", c)...)
	if got := n.message(messageType("xds.type.v3.TypedStruct"), tagged(2, structure), 0); !bytes.Equal(got, tagged(2, want)) {
		t.Errorf("of a message: %q", got)
	}
	want = append(entry(c, d), entry(d, c)...)
	if got := n.message(messageType("google.protobuf.Struct"), structure, 0); !bytes.Equal(got, want) {
		t.Errorf("of nothing: %q", got)
	}
}

// Fields of bytes are texts where they can be read, as deep as texts are followed.
func TestFieldsOfBytes(t *testing.T) {
	md := messageType("envoy.config.core.v3.DataSource")
	n := NewNames(testKey())
	mapped(t, n, []string{"acme", "domains"}, inValue)
	if got := n.message(md, tagged(2, []byte("acme")), 0); !bytes.Equal(got, tagged(2, []byte(n.text("acme", inValue, 0)))) {
		t.Errorf("a text became %q", got)
	}
	binary := []byte("acme\x00\x01")
	if got := n.message(md, tagged(2, binary), 0); len(got) != len(tagged(2, binary)) || bytes.Contains(got, []byte("acme")) {
		t.Errorf("bytes became %q", got)
	}
	for depth, followed := range map[int]bool{maxNested - 2: true, maxNested - 1: false} {
		if got := n.message(md, tagged(2, []byte(`{"domains":"acme"}`)), depth); bytes.Contains(got, []byte("domains")) != followed {
			t.Errorf("at depth %d it became %q", depth, got)
		}
	}
}

// A number of metadata names something if it is whole, and as long as an account is.
func TestNumbersThatName(t *testing.T) {
	number := func(v float64) []byte {
		return protowire.AppendFixed64(protowire.AppendTag(nil, 2, protowire.Fixed64Type), math.Float64bits(v))
	}
	for v, names := range map[float64]bool{
		99999: false, 100000: true, 123456.5: false, 999999999999999: true, 1e15: false,
	} {
		n := NewNames(testKey())
		md := messageType("google.protobuf.Value")
		n.message(md, number(v), 0)
		if err := n.Settle(); err != nil {
			t.Fatal(err)
		}
		if got := n.message(md, number(v), 0); bytes.Equal(got, number(v)) == names {
			t.Errorf("%v became %x", v, got)
		}
	}
}

// Of an Any, what is no text stays, and what no type has is left out.
func TestStrangeAny(t *testing.T) {
	n := NewNames(testKey())
	mapped(t, n, nil, inValue)
	url := tagged(1, []byte("type.googleapis.com/envoy.config.cluster.v3.Cluster"))
	count := protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 7)
	group := protowire.AppendTag(protowire.AppendTag(nil, 4, protowire.StartGroupType), 4, protowire.EndGroupType)
	all := append(append(bytes.Clone(url), count...), group...)
	if got := n.message(messageType("google.protobuf.Any"), all, 0); !bytes.Equal(got, append(bytes.Clone(url), count...)) {
		t.Errorf("%q", got)
	}
}

// JSON is followed whatever it begins with, and an exponent in it names nothing.
func TestBeginningsOfJSON(t *testing.T) {
	n := NewNames(testKey())
	mapped(t, n, []string{"acme"}, inValue)
	a := n.text("acme", inValue, 0)
	for text, want := range map[string]string{
		`["\u0061cme"]`: `["` + a + `"]`, ` ["\u0061cme"]`: ` ["` + a + `"]`, "\n[\"\\u0061cme\"]": "\n[\"" + a + `"]`,
		`{"name":"\u0061cme"}`: `{"name":"` + a + `"}`, `[1e+123456, 1E-123456, -654321.0]`: `[1e+123456, 1E-123456, -654321.0]`,
	} {
		if got := n.text(text, inValue, 0); got != want {
			t.Errorf("%s became %s, not %s", text, got, want)
		}
	}
	n = NewNames(testKey())
	number := mapped(t, n, nil, inValue, "654321")[0]
	if got, ok := n.json("654321", 1); !ok || got != number || number == "654321" {
		t.Errorf("a number alone became %s, not %s", got, number)
	}
}

// A text of two words is a name, of which no word stays; one of more may be a program,
// and its words have a meaning, unless the whole is a name.
func TestTextsOfSomeWords(t *testing.T) {
	long := strings.Repeat("qx", maxWhole)
	for text, stays := range map[string]bool{
		long + " cluster": false, long + " for cluster": true, long + "\tcluster": true, long + "\ncluster": true, long + " %cluster": true, "%" + long + " cluster": true,
		"acmecorp for cluster": false,
	} {
		n := NewNames(testKey())
		if out := mapped(t, n, nil, inValue, text)[0]; strings.Contains(out, "cluster") != stays || strings.Contains(out, "qx") || strings.Contains(out, "acmecorp") {
			t.Errorf("%q became %q", text, out)
		}
	}
}

// Words have a family if they differ in a number that is no longer than a port.
func TestFamilies(t *testing.T) {
	for word, want := range map[string]string{
		"r1": "r0", "r27": "r00", "a": "a", "z": "a", "7": "a", "web": "", "12": "", "123456789": "", "x12345": "x00000", "x123456": "", "1x": "0x",
		"abc123": "", "abc12": "abc00", "xy1z2": "xy0z0",
	} {
		if got := family(word); got != want {
			t.Errorf("the family of %s is %q, not %q", word, got, want)
		}
	}
}

// No name stands for itself while another one is left.
func TestNoNameStandsForItself(t *testing.T) {
	n := NewNames(testKey())
	for i := range 10 {
		for j := range 10 {
			for c := byte('a'); c <= 'z'; c++ {
				n.used[fmt.Sprintf("%d%d%c", i, j, c)] = "taken"
			}
		}
	}
	for i := 1; i < 10; i++ {
		for _, c := range "fjklqrvwz" {
			word := fmt.Sprintf("%d0%c", i, c)
			delete(n.used, word)
			for j := 1; j < 10; j++ {
				delete(n.used, fmt.Sprintf("%d7%c", j, c))
			}
			if got := n.choose(word); got == word || n.used[got] != "" {
				t.Errorf("%s is stood for by %s", word, got)
			}
			n.used[word] = "taken"
			for j := 1; j < 10; j++ {
				n.used[fmt.Sprintf("%d7%c", j, c)] = "taken"
			}
		}
	}
}

// No name, and no number that names nothing, is a stand-in while there are others.
func TestStandInsAreNoNames(t *testing.T) {
	n := NewNames(testKey())
	for i := range 10 {
		for j := range 10 {
			for c := byte('a'); c <= 'z'; c++ {
				if j != 7 {
					n.words[fmt.Sprintf("%d%d%c", i, j, c)] = "a name"
				}
			}
		}
	}
	for i := 1; i < 10; i++ {
		word := fmt.Sprintf("%d0q", i)
		if got := n.choose(word); len(got) != 3 || got[1] != '7' || isNumeral(got) {
			t.Errorf("%s is stood for by %s", word, got)
		}
	}
}

// Where one word of a shape is left, it is found.
func TestLastOfAShape(t *testing.T) {
	for word, left := range map[string][]string{
		"123":          {"007", "999", "100", "250"},
		"abc":          {"aaa", "zzz", "qqz", "maz"},
		"\xff\xfe\xfd": {"\x80\x80\x80", "\x99\x99\x99", "\x85\x99\x80"},
	} {
		n := NewNames(testKey())
		first, last := word[0], byte(lastInvalid)
		switch {
		case isDigit(first):
			first, last = '0', '9'
		case isLetter(first):
			first, last = 'a', 'z'
		default:
			first = firstInvalid
		}
		for a := first; a <= last; a++ {
			for b := first; b <= last; b++ {
				for c := first; c <= last; c++ {
					n.used[string([]byte{a, b, c})] = "taken"
				}
			}
		}
		for _, free := range left {
			delete(n.used, free)
			if got := n.exhausted(word); got != free {
				t.Errorf("for %q there was %q, and %q was found", word, free, got)
			}
			n.used[free] = "taken"
		}
	}
}

// A stand-in has the shape of its word: what is not UTF-8 stays so, and a number
// begins with a zero if the other one does.
func TestCandidates(t *testing.T) {
	s := newStream(testKey().part("words"))
	for attempt := range uint64(64) {
		for _, word := range []string{"\xffqxq\xfe", "\xff\xfe\xfd", "4711", "0815", "web1", "abc1230", "q"} {
			c := s.candidate(word, attempt)
			if len(c) != max(len(word), leastStandIn) {
				t.Errorf("%q became %q", word, c)
				continue
			}
			for i := range len(word) {
				invalid := c[i] >= firstInvalid && c[i] <= lastInvalid
				if invalid != (word[i] >= 0x80) || isDigit(c[i]) != isDigit(word[i]) || c[i] < 0x80 && !isWord(c[i]) {
					t.Errorf("%q became %q", word, c)
				}
			}
			if word == "4711" && c[0] == '0' || word == "abc1230" && strings.Trim(c, "abcdef0123456789") != "" {
				t.Errorf("%q became %q", word, c)
			}
		}
	}
}

// What has a form is recognised by it, at its ends, too.
func TestFormsAtTheirEnds(t *testing.T) {
	for s, want := range map[string]int{
		"%RQ(x)%": 3, "%A(x)%": 0, "%ZZ(x)%": 3, "%AA%": 3, "%AZ_9:": 5, "%9A(": 0, "%REQ": 0, "%REQ x": 0, "%@@(": 0, "%[[(": 0, "%req(": 0,
		"%START_TIME(%s)%": 15, "%START_TIME%": 11, "%START_TIME(": 12, "%DOWNSTREAM_PEER_CERT_V_START(%s)%": 33, "%DURATION(a)": 12,
	} {
		if got := command(s); got != want {
			t.Errorf("the command of %s has %d bytes, not %d", s, got, want)
		}
	}
	for s, want := range map[string]int{
		`\n`: 2, `\`: 0, `\1`: 0, "%c3": 3, "%c3x": 3, "%c": 0, "%": 0, "%cx": 0, "%xc": 0, "": 0, "c3%": 0,
	} {
		if got := escape(s); got != want {
			t.Errorf("the escape of %s has %d bytes, not %d", s, got, want)
		}
	}
	for s, want := range map[string]bool{
		"1": true, "12": true, "123": false, "": false, "x": false, "1alpha": true, "1alpha12": true, "1alpha123": false, "1beta3": true, "1alphax": false, "1gamma1": false,
	} {
		if isAPIVersion(s) != want {
			t.Errorf("v%s is a version of an API: %v", s, !want)
		}
	}
	for s, want := range map[string]bool{
		"": false, "*": true, "***": true, "**x": false, "[masked:x]": true, "[masked:x] y": false, "[masked:x": false,
	} {
		if isMasked(s) != want {
			t.Errorf("%q is masked: %v", s, !want)
		}
	}
	for s, want := range map[string]bool{
		"10.20.0.7": true, "10.20.0.7.": true, "10.20.0.7.x": true, "10.20.0.7.5": false, "10-20-0-7-": true, `10\.20\.0\.7\.`: true, "10.20.0.7x": false,
	} {
		if tok, is := addressAt(s, 0); is != want || is && s[tok.to-1] != '7' {
			t.Errorf("%s begins with an address: %v, to %d", s, is, tok.to)
		}
	}
	n := NewNames(testKey())
	if out := mapped(t, n, nil, inValue, "%RQ(ACMECORP)%")[0]; !strings.HasPrefix(out, "%RQ(") || strings.Contains(out, "ACMECORP") {
		t.Errorf("a command became %s", out)
	}
}

// Names of the API stay, and what is like them does not.
func TestMadeOfAPI(t *testing.T) {
	v := newVocabulary()
	for s, want := range map[string]bool{
		"": true, "Cluster": true, "cluster.v3": true, "ClusterLoadAssignment": true, "clusterLoadAssignment": true, "clusterAcmecorp": false, "AcmecorpCluster": false,
		"cluster_name": true, "cluster1": true, "cluster12": false, "cluster\xff": false, "cluster.": true, ".cluster": true, "clusterTLS": true, "metadataKind": true,
	} {
		if got := v.madeOfAPI(s); got != want {
			t.Errorf("%q is made of words of the API: %v", s, got)
		}
	}
	for s, want := range map[string]bool{
		"type.googleapis.com/cel.expr.CheckedExpr":       true,
		"type.googleapis.com/google.protobuf.Int32Value": true,
		"type.googleapis.com/envoy.type.Int64Range":      true,
		"acme.example/cel.expr.CheckedExpr":              false,
		"/cel.expr.CheckedExpr":                          false,
	} {
		if got := v.value(s); got != want {
			t.Errorf("%s stays: %v", s, got)
		}
	}
}

// What may be in base64 is decoded if it has room for a name.
func TestShortBase64(t *testing.T) {
	n := NewNames(testKey())
	mapped(t, n, []string{"acme-carts"}, inValue)
	r := newRawSearch(n)
	for around, found := range map[string]bool{"1234acme-carts5": true, "123acme-carts4": false, "1234acme-carts56789012": true} {
		for _, text := range []string{"", "a ", "=="} {
			text += base64.RawURLEncoding.EncodeToString([]byte(around))
			if got := r.decoded(text); (got == "acme-carts") != found {
				t.Errorf("in %s it finds %q", text, got)
			}
		}
	}
}

// A certificate names URIs and mail, too. It is made once, and searched as it was.
func TestNamesOfCertificates(t *testing.T) {
	key := newTestKey(t)
	id, err := url.Parse("spiffe://acmecorp/ns/qxshop")
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "acmecorp"}, NotAfter: time.Unix(2e9, 0),
		URIs: []*url.URL{id}, EmailAddresses: []string{"qxadmin@acmecorp"},
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed(t, c, c, key, key)}))
	n := NewNames(testKey())
	out := mapped(t, n, nil, inValue, text, text)
	if out[0] != out[1] {
		t.Error("one certificate became two")
	}
	block, _ := pem.Decode([]byte(out[0]))
	got, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if want := n.text(id.String(), inValue, 0); len(got.URIs) != 1 || got.URIs[0].String() != want {
		t.Errorf("%v, not %s", got.URIs, want)
	}
	if want := n.text("qxadmin@acmecorp", inValue, 0); len(got.EmailAddresses) != 1 || got.EmailAddresses[0] != want {
		t.Errorf("%v, not %s", got.EmailAddresses, want)
	}
	for text, found := range map[string]bool{text: true, out[0]: false} {
		s := n.Search()
		s.walk.names.text(text, inValue, 0)
		if (s.found != nil) != found {
			t.Errorf("in %s it finds %v", text, s.found)
		}
	}
}
