package descriptors

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsproxy/xdsproxy/decode/handmade"
)

// Whatever becomes something in memory is counted, up to the bound and no further.
func TestCount(t *testing.T) {
	str, sub, num := handmade.Str, handmade.Sub, handmade.Num
	message := (*descriptorpb.DescriptorProto)(nil).ProtoReflect().Descriptor()
	for what, c := range map[string]struct {
		b           []byte
		most, depth int
		want        int
	}{
		"nothing":                    {nil, 100, 0, 0},
		"two texts":                  {handmade.Msg(str(1, "M"), str(1, "N")), 100, 0, 2},
		"fields that are not known":  {handmade.Msg(num(1, 5), num(1000, 5), str(1000, "abc")), 100, 0, 3},
		"a list of texts":            {handmade.Msg(str(10, "a"), str(10, "b")), 100, 0, 2},
		"messages in messages":       {handmade.Msg(str(1, "M"), sub(2, str(1, "f")), sub(3, sub(3))), 100, 0, 5},
		"packed numbers":             {sub(7, sub(21, []byte{1, 2, 3})), 100, 0, 2},
		"as many as may be":          {bytes.Repeat(str(1, "M"), 5), 5, 0, 5},
		"more than may be":           {bytes.Repeat(str(1, "M"), 6), 5, 0, 5},
		"more within":                {handmade.Msg(str(1, "M"), sub(3, bytes.Repeat(str(1, "N"), 9))), 5, 0, 5},
		"as deep as may be":          {sub(3, str(1, "N")), 100, maxNested - 1, 2},
		"deeper, within":             {sub(3, sub(3)), 100, maxNested - 1, 100},
		"too deep, with nothing":     {sub(3), 100, maxNested, 100},
		"too deep, but for no field": {str(1, "N"), 100, maxNested, 1},
	} {
		if n := count(message, c.b, c.most, c.depth); n != c.want {
			t.Errorf("%s: %d, not %d", what, n, c.want)
		}
	}
	file := handmade.Msg(str(1, "a"), sub(10, []byte{1, 2, 3}), num(10, 1), sub(4, str(1, "M")))
	if n := count(fileOf, file, 100, 0); n != 7 {
		t.Errorf("in a file there are %d", n)
	}
}

// A set may have so many files, and declare so much in all of them.
func TestSetsAreBounded(t *testing.T) {
	file := func(things int) []byte { // its name is one of them
		return handmade.Sub(filesOfSet, handmade.Str(1, "a"), bytes.Repeat(handmade.Str(3, ""), things-1))
	}
	for more, want := range []string{"", fmt.Sprintf("it has more than %d files", maxFiles)} {
		files, err := parse(bytes.Repeat(file(1), maxFiles+more))
		if said(err) != want || err == nil && len(files) != maxFiles {
			t.Errorf("%d more: %d files, %v", more, len(files), err)
		}
	}
	for more, want := range []string{"", fmt.Sprintf("it declares more than %d things", maxDeclared)} {
		const first = maxDeclared / 2
		if _, err := parse(append(file(first), file(maxDeclared-1-first+more)...)); said(err) != want {
			t.Errorf("%d more: %v", more, err)
		}
	}
	if _, err := parse(bytes.Repeat([]byte("x"), MaxSize)); !errors.Is(err, errNoSet) {
		t.Errorf("of the largest size: %v", err)
	}
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The full names of all that is declared take room, and a file that has just the room
// that it needs is taken.
func TestRoomForNames(t *testing.T) {
	m := &descriptorpb.DescriptorProto{
		Name: proto.String("Mm"),
		Field: []*descriptorpb.FieldDescriptorProto{{
			Name: proto.String("f1"), Number: proto.Int32(1), Type: descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum(), OneofIndex: proto.Int32(0),
		}},
		OneofDecl:  []*descriptorpb.OneofDescriptorProto{{Name: proto.String("o")}},
		EnumType:   []*descriptorpb.EnumDescriptorProto{{Name: proto.String("E"), Value: []*descriptorpb.EnumValueDescriptorProto{{Name: proto.String("V"), Number: proto.Int32(0)}}}},
		NestedType: []*descriptorpb.DescriptorProto{{Name: proto.String("N")}},
	}
	top := &descriptorpb.EnumDescriptorProto{Name: proto.String("Top"), Value: []*descriptorpb.EnumValueDescriptorProto{{Name: proto.String("T1"), Number: proto.Int32(0)}}}
	ofMessage := len("p.Mm" + "p.Mm.f1" + "p.Mm.o" + "p.Mm.E" + "p.Mm.V" + "p.Mm.N")
	ofEnum := len("p.Top" + "p.T1")
	for _, c := range []struct{ room, left int }{{100, 100 - ofMessage}, {ofMessage, 0}, {ofMessage - 1, -1}, {len("p.Mm"), len("p.Mm") - ofMessage}, {len("p.Mm") - 1, -1}} {
		a := &adding{room: c.room}
		if a.message("p.", m); a.room != c.left {
			t.Errorf("of %d for a message there are %d left, not %d", c.room, a.room, c.left)
		}
	}
	a := &adding{room: ofEnum}
	if a.enum("p.", top); a.room != 0 {
		t.Errorf("an enum leaves %d", a.room)
	}
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("p.proto"), Package: proto.String("p"), EnumType: []*descriptorpb.EnumDescriptorProto{top}, MessageType: []*descriptorpb.DescriptorProto{m},
	}
	for lacks, taken := range []int{1, 0} {
		a := &adding{
			known: New().now().clone(), files: make(map[string]*described), declared: make(map[string]*described), lacked: make(map[string]bool),
			room: ofEnum + ofMessage - lacks,
		}
		if a.file(file); len(a.order) != taken || a.room != -lacks {
			t.Errorf("with %d too few: %d files are taken, %d are left", lacks, len(a.order), a.room)
		}
	}
	// With just the enum's there is nothing for the message, and no less.
	a = &adding{known: New().now().clone(), files: make(map[string]*described), declared: make(map[string]*described), room: ofEnum}
	if a.file(file); a.room >= 0 || len(a.declared) != 1 {
		t.Errorf("%d left, and %d are declared", a.room, len(a.declared))
	}
}

// So many of a kind are named, and the others are counted.
func TestNamesThatAreTold(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "a b": "a, b", "a b c": "a, b, c", "a b c d": "a, b, c and 1 more", "a b c d e": "a, b, c and 2 more",
	} {
		if got := named(strings.Fields(text)); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
