package descriptors_test

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/document"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func setOf(t testing.TB, b []byte) *descriptorpb.FileDescriptorSet {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(b, set); err != nil {
		t.Fatal(err)
	}
	return set
}

func bytesOf(t testing.TB, set *descriptorpb.FileDescriptorSet) []byte {
	t.Helper()
	b, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func add(t testing.TB, types *descriptors.Types, from string, b []byte) string {
	t.Helper()
	told, err := types.Add(from, b)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(told, "\n")
}

// The types of Istio and Cilium that this program does not link can be read, and
// what was added can be added elsewhere.
func TestRealSets(t *testing.T) {
	types := descriptors.New()
	for _, name := range []string{"istio.fds", "cilium.fds"} {
		if told := add(t, types, name, read(t, name)); told != "" {
			t.Error(told)
		}
	}
	again := descriptors.New()
	if told := add(t, again, "again", types.Set()); told != "" {
		t.Error(told)
	}
	for _, name := range []protoreflect.FullName{
		"istio.workload.Workload", "istio.workload.Address", "istio.security.Authorization",
		"istio.networking.nds.v1.NameTable", "istio.mesh.v1alpha1.ProxyConfig", "istio.mesh.v1alpha1.MeshConfig",
		"cilium.NetworkPolicy", "cilium.NetworkPolicyHosts",
	} {
		for _, in := range []*descriptors.Types{types, again} {
			if in.Find(name) == nil {
				t.Errorf("%s is not known", name)
			}
		}
	}
	// Envoy brings an old copy of this one; the description wins.
	workload := protoreflect.FullName("istio.workload.Workload")
	old := (*descriptors.Types)(nil).Find(workload)
	if old == nil || old.Fields().ByName("capacity") != nil || types.Find(workload).Fields().ByName("capacity") == nil {
		t.Error("the linked workload counts")
	}
	if n := len(types.Names()); n < 80 || n != len(again.Names()) {
		t.Errorf("%d and %d names", n, len(again.Names()))
	}
	// Messages of linked types within are the linked ones.
	md := types.Find("cilium.HttpNetworkPolicyRule").Fields().ByName("headers").Message()
	if linked := types.Find("envoy.config.route.v3.HeaderMatcher"); md != linked {
		t.Error("the matcher is not the linked one")
	}
}

// Of a set that lacks imports the rest can be read, and one sentence says what is
// missing.
func TestMissingImport(t *testing.T) {
	set := setOf(t, read(t, "istio.fds"))
	for i, f := range set.File {
		if f.GetName() == "workloadapi/workload.proto" {
			set.File = append(set.File[:i], set.File[i+1:]...)
			break
		}
	}
	types := descriptors.New()
	told := add(t, types, "part.fds", bytesOf(t, set))
	if want := `the descriptors of "part.fds" lack workloadapi/workload.proto, which they import: what is of a type from there shows as numbers`; told != want {
		t.Errorf("got  %s\nwant %s", told, want)
	}
	if types.Find("istio.networking.nds.v1.NameTable") == nil || types.Find("istio.security.Authorization") == nil {
		t.Error("what could be read is not")
	}
	if types.Find("istio.workload.Address") != nil {
		t.Error("the type is there after all")
	}
	// What is of a missing type is shown by number.
	holder := &descriptorpb.FileDescriptorProto{
		Name: proto.String("h.proto"), Syntax: proto.String("proto3"), Dependency: []string{"gone.proto"},
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Holder"), Field: []*descriptorpb.FieldDescriptorProto{
			field("gone", 1, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, ".gone.Gone"),
			field("odd", 2, descriptorpb.FieldDescriptorProto_TYPE_ENUM, ".gone.Odd"),
			field("name", 3, descriptorpb.FieldDescriptorProto_TYPE_STRING, ""),
		}}},
	}
	add(t, types, "holder", bytesOf(t, &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{holder}}))
	d := document.Decoder{Types: types}.Any("x/Holder", []byte("\x0a\x02\x08\x05\x10\x07\x1a\x01n"))
	if got, want := string(d.Compact()), `{"@type":"x/Holder","gone":{"@unknown":{"1":5}},"odd":7,"name":"n"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	d = document.Decoder{Types: types}.JSON("google.protobuf.Any", []byte(`{"@type":"x/Holder","gone":{},"name":"n"}`))
	if got, want := string(d.Compact()), `{"@type":"x/Holder","gone":{},"name":"n"}`; got != want {
		t.Errorf("got %s, want %s: %v", got, want, d.Problems)
	}
}

func field(name string, num int32, typ descriptorpb.FieldDescriptorProto_Type, of string) *descriptorpb.FieldDescriptorProto {
	f := &descriptorpb.FieldDescriptorProto{
		Name: proto.String(name), Number: proto.Int32(num), Type: typ.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
	if of != "" {
		f.TypeName = proto.String(of)
	}
	return f
}

// What is linked wins over what is described, wherever that stands, and a type that
// is described twice is what it was first. Both are named.
func TestCollisions(t *testing.T) {
	text := descriptorpb.FieldDescriptorProto_TYPE_STRING
	message := descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	strange := func(path, pkg string, ms ...*descriptorpb.DescriptorProto) []byte {
		return bytesOf(t, &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
			Name: proto.String(path), Package: proto.String(pkg), Syntax: proto.String("proto3"), MessageType: ms,
		}}})
	}
	one := func(name string, fields ...*descriptorpb.FieldDescriptorProto) *descriptorpb.DescriptorProto {
		return &descriptorpb.DescriptorProto{Name: proto.String(name), Field: fields}
	}
	nested := &descriptorpb.DescriptorProto{Name: proto.String("google"), NestedType: []*descriptorpb.DescriptorProto{
		{Name: proto.String("protobuf"), NestedType: []*descriptorpb.DescriptorProto{one("StringValue")}},
	}}
	for _, c := range []struct {
		name string
		set  []byte
		told string
		is   protoreflect.FullName // is known, and the others are as they were
	}{
		{
			"linked", strange("envoy/config/cluster/v3/cluster.proto", "envoy.config.cluster.v3", one("Cluster", field("x", 1, text, "")), one("Newer", field("of", 1, message, ".envoy.config.cluster.v3.Cluster"))),
			"have another form of envoy.config.cluster.v3.Cluster than xdsproxy: its own counts", "envoy.config.cluster.v3.Newer",
		},
		{
			"linked elsewhere", strange("my/cluster.proto", "envoy.config.cluster.v3", one("Cluster", field("x", 1, text, "")), one("Newer", field("of", 1, message, ".envoy.config.cluster.v3.Cluster"))),
			"have another form of envoy.config.cluster.v3.Cluster than xdsproxy: its own counts", "envoy.config.cluster.v3.Newer",
		},
		{"well known", strange("w.proto", "google.protobuf", one("StringValue"), one("Mine")), "", "google.protobuf.Mine"},
		{"within another", strange("n.proto", "", nested, one("Other", field("s", 1, message, ".google.protobuf.StringValue"))), "have another form of google.protobuf.StringValue than xdsproxy", "Other"},
		{"described before", strange("d.proto", "cilium", one("NetworkPolicyHosts", field("x", 1, text, "")), one("New")), "have another form of cilium.NetworkPolicyHosts than those that were read before: the first counts", "cilium.New"},
		{"not a name", strange("b.proto", "a b", one("C")), `"b.proto" cannot be used: `, "cilium.NetworkPolicy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			types := descriptors.New()
			add(t, types, "cilium.fds", read(t, "cilium.fds"))
			if told := add(t, types, "c.fds", c.set); !strings.Contains(told, c.told) || c.told == "" && told != "" || strings.Count(told, "\n") > 0 {
				t.Errorf("got  %s\nwant %s", told, c.told)
			}
			if types.Find(c.is) == nil {
				t.Errorf("%s is not known", c.is)
			}
			if md := types.Find("envoy.config.cluster.v3.Cluster"); md.Fields().ByName("lb_policy") == nil {
				t.Error("the linked type has changed")
			}
			if md := types.Find("cilium.NetworkPolicyHosts"); md.Fields().ByName("host_addresses") == nil {
				t.Error("the type that was described first has changed")
			}
			if md := types.Find("google.protobuf.StringValue"); md.Fields().ByName("value") == nil {
				t.Error("a well-known type has changed")
			}
			if c.name == "linked" || c.name == "linked elsewhere" {
				if of := types.Find(c.is).Fields().ByName("of").Message(); of != types.Find(of.FullName()) {
					t.Error("the new type does not hold the linked one")
				}
			}
		})
	}
}

// What is no descriptor set is an error of one sentence, and adds nothing.
func TestNoSet(t *testing.T) {
	large := bytesOf(t, &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("l.proto"), MessageType: make([]*descriptorpb.DescriptorProto, 1<<18),
	}}})
	many := &descriptorpb.DescriptorProto{Name: proto.String(strings.Repeat("n", 1<<16))}
	for i := range int32(2000) {
		many.Field = append(many.Field, field("f", i+1, descriptorpb.FieldDescriptorProto_TYPE_STRING, ""))
	}
	long := bytesOf(t, &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("n.proto"), MessageType: []*descriptorpb.DescriptorProto{many},
	}}})
	for name, c := range map[string]struct{ set, want string }{
		"long":      {string(long), "its names are too long"},
		"empty":     {"", "it is no descriptor set"},
		"text":      {"syntax = \"proto3\";\n", "it is no descriptor set"},
		"cut off":   {string(read(t, "cilium.fds")[:3000]), "it is no descriptor set"},
		"too large": {strings.Repeat("x", descriptors.MaxSize+1), "it is larger than 16 MiB"},
		"too much":  {string(large), "it declares more than 262144 things"},
	} {
		types := descriptors.New()
		_, err := types.Add(name, []byte(c.set))
		if want := `cannot read the descriptors of "` + name + `": ` + c.want; err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
		if len(types.Names()) > 0 || types.Set() != nil {
			t.Errorf("%s: something was added", name)
		}
	}
}

// Nothing in a set, and nothing in a message of a type of it, does harm.
func FuzzAdd(f *testing.F) {
	message := []byte("\x0a\x03abc\x12\x02\x08\x01\x18\x05\x22\x04\x0a\x02\x10\x01")
	for _, name := range []string{"istio.fds", "cilium.fds"} {
		set := setOf(f, read(f, name))
		for _, file := range set.File[:2] {
			f.Add(bytesOf(f, &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}}), message)
		}
		f.Add(bytesOf(f, set), message)
	}
	f.Add([]byte("\x0a\x00"), message)
	f.Fuzz(func(t *testing.T, set, message []byte) {
		types := descriptors.New()
		if _, err := types.Add("fuzz", set); err != nil {
			return
		}
		again := descriptors.New()
		if b := types.Set(); b != nil {
			if _, err := again.Add("again", b); err != nil {
				t.Fatal(err)
			}
		}
		names, same := types.Names(), again.Names()
		if len(names) != len(same) {
			t.Fatalf("%v, and read again %v", names, same)
		}
		in := document.Decoder{Types: types}
		for _, name := range names[:min(len(names), 20)] {
			in.Any("x/"+string(name), message)
			in.Wire(string(name), message, 100)
			in.JSON("google.protobuf.Any", []byte(`{"@type":"x/`+string(name)+`","a":{"b":[1]}}`))
		}
	})
}

// What of a set is not as it says is told in one sentence of each kind, which names
// three.
func TestTold(t *testing.T) {
	text, number := descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_INT32
	message := descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	list := descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	msg := func(name string, fields ...*descriptorpb.FieldDescriptorProto) *descriptorpb.DescriptorProto {
		return &descriptorpb.DescriptorProto{Name: proto.String(name), Field: fields}
	}
	enum := func(name string, values ...string) *descriptorpb.EnumDescriptorProto {
		e := &descriptorpb.EnumDescriptorProto{Name: proto.String(name)}
		for i, v := range values {
			e.Value = append(e.Value, &descriptorpb.EnumValueDescriptorProto{Name: proto.String(v), Number: proto.Int32(int32(i))})
		}
		return e
	}
	file := func(path string, enums []*descriptorpb.EnumDescriptorProto, ms ...*descriptorpb.DescriptorProto) *descriptorpb.FileDescriptorProto {
		return &descriptorpb.FileDescriptorProto{
			Name: proto.String(path), Package: proto.String("mine"), Syntax: proto.String("proto3"), EnumType: enums, MessageType: ms,
		}
	}
	set := func(files ...*descriptorpb.FileDescriptorProto) []byte {
		return bytesOf(t, &descriptorpb.FileDescriptorSet{File: files})
	}
	outer := func(change func(*descriptorpb.DescriptorProto)) *descriptorpb.DescriptorProto {
		m := msg("Outer", field("a", 1, text, ""), field("b", 2, message, ".mine.Outer.Inner"))
		m.NestedType = []*descriptorpb.DescriptorProto{msg("Inner", field("x", 1, text, ""))}
		m.EnumType = []*descriptorpb.EnumDescriptorProto{enum("Color", "RED", "BLUE")}
		if change != nil {
			change(m)
		}
		return m
	}
	first := set(file("first.proto", []*descriptorpb.EnumDescriptorProto{enum("Size", "NONE", "SMALL")}, outer(nil)))
	const other = `the descriptors of "again" have another form of %s than those that were read before: the first counts`
	for name, c := range map[string]struct {
		set  []byte
		told string
	}{
		"the same elsewhere": {set(file("b.proto", []*descriptorpb.EnumDescriptorProto{enum("Size", "NONE", "SMALL")}, outer(nil))), ""},
		"other options": {set(file("b.proto", nil, outer(func(m *descriptorpb.DescriptorProto) {
			m.Options = &descriptorpb.MessageOptions{Deprecated: proto.Bool(true)}
		}))), ""},
		"one more field":     {set(file("b.proto", nil, outer(func(m *descriptorpb.DescriptorProto) { m.Field = append(m.Field, field("c", 3, text, "")) }))), "mine.Outer"},
		"another number":     {set(file("b.proto", nil, outer(func(m *descriptorpb.DescriptorProto) { m.Field[0].Number = proto.Int32(7) }))), "mine.Outer"},
		"another name":       {set(file("b.proto", nil, outer(func(m *descriptorpb.DescriptorProto) { m.Field[0].Name = proto.String("z") }))), "mine.Outer"},
		"another type":       {set(file("b.proto", nil, outer(func(m *descriptorpb.DescriptorProto) { m.Field[0].Type = number.Enum() }))), "mine.Outer"},
		"a list":             {set(file("b.proto", nil, outer(func(m *descriptorpb.DescriptorProto) { m.Field[0].Label = list }))), "mine.Outer"},
		"a field within":     {set(file("b.proto", nil, outer(func(m *descriptorpb.DescriptorProto) { m.NestedType[0].Field[0].Name = proto.String("z") }))), "mine.Outer"},
		"a type within":      {set(file("b.proto", nil, outer(func(m *descriptorpb.DescriptorProto) { m.NestedType[0].Name = proto.String("Z") }))), "mine.Outer"},
		"a color":            {set(file("b.proto", nil, outer(func(m *descriptorpb.DescriptorProto) { m.EnumType[0].Value[1].Name = proto.String("GREEN") }))), "mine.Outer"},
		"a color's number":   {set(file("b.proto", nil, outer(func(m *descriptorpb.DescriptorProto) { m.EnumType[0].Value[1].Number = proto.Int32(5) }))), "mine.Outer"},
		"another enum":       {set(file("b.proto", nil, outer(func(m *descriptorpb.DescriptorProto) { m.EnumType[0].Name = proto.String("Z") }))), "mine.Outer"},
		"one more size":      {set(file("b.proto", []*descriptorpb.EnumDescriptorProto{enum("Size", "NONE", "SMALL", "LARGE")})), "mine.Size"},
		"a message and enum": {set(file("b.proto", []*descriptorpb.EnumDescriptorProto{enum("Outer", "A")}, msg("Size"))), "mine.Outer, mine.Size"},
	} {
		types := descriptors.New()
		add(t, types, "first", first)
		want := c.told
		if want != "" {
			want = strings.Replace(other, "%s", want, 1)
		}
		if got := add(t, types, "again", c.set); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
		if types.Find("mine.Outer").Fields().Len() != 2 || types.Find("mine.Size") != nil {
			t.Errorf("%s: what was described first has changed", name)
		}
		// What is known is found by its path, and told of once.
		if got := add(t, types, "again", c.set); got != "" {
			t.Errorf("%s: the second time it says %s", name, got)
		}
	}
	needs := func(name string, of ...string) *descriptorpb.DescriptorProto {
		m := msg(name)
		for i, o := range of {
			m.Field = append(m.Field, field("f"+string(rune('a'+i)), int32(i+1), message, o))
		}
		return m
	}
	lacking := file("l.proto", nil, needs("L", ".gone.A"))
	lacking.Dependency = []string{"1.proto", "2 .proto", "3.proto", "4.proto", "5.proto", "google/protobuf/any.proto"}
	untyped := field("f", 1, text, "")
	untyped.Type = nil
	for name, c := range map[string]struct {
		set  []byte
		told string
	}{
		"five are missing":      {set(lacking), `the descriptors of "again" lack 1.proto, "2 .proto", 3.proto and 2 more, which they import: what is of a type from there shows as numbers`},
		"nobody is said to be":  {set(file("n.proto", nil, needs("N", ".gone.A"))), `a part of the descriptors of "again" cannot be used: "n.proto" refers to a type that is declared nowhere`},
		"twice in a set":        {set(file("a.proto", nil, msg("M")), file("b.proto", nil, msg("M"))), `a part of the descriptors of "again" cannot be used: "b.proto" declares mine.M, which another file of it does, too`},
		"three times":           {set(file("a.proto", nil, msg("M")), file("b.proto", nil, msg("M")), file("c.proto", nil, msg("M"))), `a part of the descriptors of "again" cannot be used: "b.proto" declares mine.M, which another file of it does, too (and 1 more)`},
		"no type":               {set(file("a.proto", nil, msg("M", untyped))), `a part of the descriptors of "again" cannot be used: mine.M.f has no type`},
		"no package":            {set(file("a.proto", nil, needs("M", "Other"))), `a part of the descriptors of "again" cannot be used: mine.M.fa names its type without a package`},
		"no type within":        {set(file("a.proto", nil, &descriptorpb.DescriptorProto{Name: proto.String("M"), NestedType: []*descriptorpb.DescriptorProto{msg("In", untyped)}})), `a part of the descriptors of "again" cannot be used: mine.M.In.f has no type`},
		"files that need files": {set(file("a.proto", nil, needs("M", ".mine.N", ".mine.M")), file("b.proto", nil, needs("N", ".google.protobuf.Any"))), ""},
	} {
		types := descriptors.New()
		if got := add(t, types, "again", c.set); got != c.told {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.told)
		}
		if name == "files that need files" && types.Find("mine.M").Fields().ByNumber(1).Message() != types.Find("mine.N") {
			t.Errorf("%s: they do not", name)
		}
	}
}
