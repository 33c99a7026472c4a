package document

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// wellKnown are the message types with a form of their own.
var wellKnown map[protoreflect.FullName]func(*walker, protoreflect.MessageDescriptor, []byte, *path, int) Tree

// The functions refer to message, which refers to the map.
func init() {
	wellKnown = map[protoreflect.FullName]func(*walker, protoreflect.MessageDescriptor, []byte, *path, int) Tree{
		"google.protobuf.Any":         (*walker).any,
		"google.protobuf.Duration":    (*walker).duration,
		"google.protobuf.Timestamp":   (*walker).timestamp,
		"google.protobuf.FieldMask":   (*walker).fieldMask,
		"google.protobuf.Struct":      (*walker).structure,
		"google.protobuf.Value":       (*walker).value,
		"google.protobuf.ListValue":   (*walker).structure,
		"google.protobuf.BoolValue":   (*walker).wrapper,
		"google.protobuf.BytesValue":  (*walker).wrapper,
		"google.protobuf.DoubleValue": (*walker).wrapper,
		"google.protobuf.FloatValue":  (*walker).wrapper,
		"google.protobuf.Int32Value":  (*walker).wrapper,
		"google.protobuf.Int64Value":  (*walker).wrapper,
		"google.protobuf.StringValue": (*walker).wrapper,
		"google.protobuf.UInt32Value": (*walker).wrapper,
		"google.protobuf.UInt64Value": (*walker).wrapper,
	}
}

// any expands an Any.
func (w *walker) any(_ protoreflect.MessageDescriptor, b []byte, at *path, depth int) Tree {
	if w.kept {
		if tree, is := w.keptAny(b); is {
			return tree
		}
	}
	var url string
	var value []byte
	s := protoscan.Of(b)
	for s.Next() {
		switch body, ok := s.Bytes(); {
		case !ok:
		case s.Num == 1:
			url = string(body)
		case s.Num == 2:
			value = body
		}
	}
	if s.Err != "" {
		w.problem(at, "%s", s.Err)
	}
	tree := w.anyTree(url, value, at, depth)
	if s.Err != "" {
		tree.add("@undecoded", w.bytesTree(b[s.Off:]))
	}
	return tree
}

// anyTree shows a value of the type that a URL names.
func (w *walker) anyTree(url string, value []byte, at *path, depth int) Tree {
	tree := Tree{Kind: Object}
	if url == "" && len(value) == 0 {
		return tree
	}
	tree.add("@type", textTree(url))
	md := w.find(xds.TypeName(url), at)
	if md == nil {
		tree.Members = append(tree.Members, w.unknownMessage(value, at, depth).Members...)
		return tree
	}
	body := w.message(md, value, at, depth+1)
	if wellKnown[md.FullName()] != nil || body.Kind != Object {
		tree.add("value", body)
		return tree
	}
	tree.Members = append(tree.Members, body.Members...)
	return tree
}

func (w *walker) duration(md protoreflect.MessageDescriptor, b []byte, at *path, depth int) Tree {
	const most = 315_576_000_000
	sec, nanos, ok := protoscan.Numbers(b)
	nano := int64(int32(nanos))
	if !ok || sec > most || sec < -most || nano >= 1e9 || nano <= -1e9 || sec > 0 && nano < 0 || sec < 0 && nano > 0 {
		w.problem(at, "not a valid duration")
		return w.fields(md, b, at, depth)
	}
	sign := ""
	if sec < 0 || nano < 0 {
		sign, sec, nano = "-", -sec, -nano
	}
	return textTree(sign + trimNanos(fmt.Sprintf("%d.%09d", sec, nano)) + "s")
}

func (w *walker) timestamp(md protoreflect.MessageDescriptor, b []byte, at *path, depth int) Tree {
	const first, last = -62_135_596_800, 253_402_300_799 // years 1 to 9999
	sec, nanos, ok := protoscan.Numbers(b)
	nano := int64(int32(nanos))
	if !ok || sec < first || sec > last || nano < 0 || nano >= 1e9 {
		w.problem(at, "not a valid timestamp")
		return w.fields(md, b, at, depth)
	}
	return textTree(trimNanos(time.Unix(sec, nano).UTC().Format("2006-01-02T15:04:05.000000000")) + "Z")
}

// trimNanos leaves 0, 3, 6 or 9 digits after the point.
func trimNanos(s string) string {
	s = strings.TrimSuffix(s, "000")
	s = strings.TrimSuffix(s, "000")
	return strings.TrimSuffix(s, ".000")
}

func (w *walker) fieldMask(_ protoreflect.MessageDescriptor, b []byte, at *path, _ int) Tree {
	var paths []string
	s := protoscan.Of(b)
	for s.Next() {
		if body, ok := s.Bytes(); ok && s.Num == 1 {
			paths = append(paths, lenient.JSONName(string(body)))
		}
	}
	if s.Err != "" {
		w.problem(at, "%s", s.Err)
	}
	return textTree(strings.Join(paths, ","))
}

// wrapper shows the value of a wrapper as if it stood there bare.
func (w *walker) wrapper(md protoreflect.MessageDescriptor, b []byte, at *path, _ int) Tree {
	fd := md.Fields().ByNumber(1)
	known, _, _ := w.split(md, b, at)
	if len(known) == 0 {
		return zero(fd)
	}
	return w.scalar(fd, known[len(known)-1], at)
}

// structure shows a Struct as the object, a ListValue as the array it holds:
// both have one field.
func (w *walker) structure(md protoreflect.MessageDescriptor, b []byte, at *path, depth int) Tree {
	fd := md.Fields().ByNumber(1)
	known, _, _ := w.split(md, b, at)
	if len(known) > 0 {
		return w.field(fd, known, at, depth)
	}
	if fd.IsMap() {
		return Tree{Kind: Object}
	}
	return Tree{Kind: Array}
}

// value shows a Value as the JSON that it stands for.
func (w *walker) value(md protoreflect.MessageDescriptor, b []byte, at *path, depth int) Tree {
	known, _, _ := w.split(md, b, at)
	if len(known) == 0 {
		return nullTree()
	}
	return w.field(known[0].fd, known, at, depth)
}
