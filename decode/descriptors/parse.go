package descriptors

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

const (
	// MaxSize is the largest descriptor set that is read, in bytes.
	MaxSize = 16 << 20
	// maxFiles and maxDeclared bound the files of a set, and what is declared in
	// them: fields and values of enums, too. All of Envoy's API has 775 and some
	// 20,000.
	maxFiles    = 1 << 13
	maxDeclared = 1 << 18
	maxNested   = 64
	// maxNames bounds the full names of all that is declared, in bytes.
	maxNames = 64 << 20
)

// Field numbers of descriptor.proto.
const (
	filesOfSet   = 1
	sourceOfFile = 9
)

var errNoSet = errors.New("it is no descriptor set")

// parse reads a descriptor set. Where things were declared in sources is not
// kept: it is most of a set that has it.
func parse(b []byte) ([]*descriptorpb.FileDescriptorProto, error) {
	if len(b) > MaxSize {
		return nil, fmt.Errorf("it is larger than %d MiB", MaxSize>>20)
	}
	var files []*descriptorpb.FileDescriptorProto
	declared := 0
	s := protoscan.Of(b)
	for s.Next() {
		body, ok := s.Bytes()
		if !ok || s.Num != filesOfSet {
			return nil, errNoSet
		}
		if len(files) == maxFiles {
			return nil, fmt.Errorf("it has more than %d files", maxFiles)
		}
		body = withoutSource(body)
		declared += count(fileOf, body, maxDeclared-declared, 0)
		if declared >= maxDeclared {
			return nil, fmt.Errorf("it declares more than %d things", maxDeclared)
		}
		f := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(body, f); err != nil || f.GetName() == "" {
			return nil, errNoSet
		}
		files = append(files, f)
	}
	if s.Err != "" || len(files) == 0 {
		return nil, errNoSet
	}
	return files, nil
}

var fileOf = (*descriptorpb.FileDescriptorProto)(nil).ProtoReflect().Descriptor()

func withoutSource(b []byte) []byte {
	out := make([]byte, 0, len(b))
	s := protoscan.Of(b)
	for s.Next() {
		if s.Num != sourceOfFile {
			out = append(out, s.Raw()...)
		}
	}
	return append(out, s.Rest()...)
}

// count is how many values of repeated fields and messages there are in a message,
// up to a bound: each becomes something in memory, however short it is.
func count(md protoreflect.MessageDescriptor, b []byte, most, depth int) int {
	n := 0
	for s := protoscan.Of(b); n < most && s.Next(); {
		fd := md.Fields().ByNumber(s.Num)
		if s.Type != protowire.BytesType || fd == nil {
			n++
			continue
		}
		switch sub := fd.Message(); {
		case sub != nil && depth == maxNested:
			return most
		case sub != nil:
			n += 1 + count(sub, s.Body, most-n-1, depth+1)
		case fd.IsList() && fd.Kind() != protoreflect.StringKind && fd.Kind() != protoreflect.BytesKind:
			n += len(s.Body) // packed
		default:
			n++
		}
	}
	return n
}
