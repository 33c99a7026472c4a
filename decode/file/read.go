package file

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// MaxSize is how large a file may be, in bytes.
const MaxSize = 64 << 20

// maxDepth bounds the nesting of text and binary.
const maxDepth = 100

type format int

const (
	formatJSON format = iota
	formatYAML
	formatText
	formatBinary
)

// endings are those that Envoy knows, and those that others use for text.
var endings = map[string]format{
	".json": formatJSON, ".yaml": formatYAML, ".yml": formatYAML,
	".pb_text": formatText, ".textproto": formatText, ".txtpb": formatText, ".pb": formatBinary,
}

// Is says whether a name is that of such a file, by its ending.
func Is(name string) bool {
	_, known := endings[ending(name)]
	return known
}

func ending(name string) string { return strings.ToLower(filepath.Ext(name)) }

// Content is what Envoy makes of a file.
type Content struct {
	Response []byte // a DiscoveryResponse in binary protobuf
	// Warnings are about what Envoy takes in another way than it is written.
	Warnings []*Error
}

// Read reads a file. The name says the format. Errors and warnings are *Error.
func Read(name string, data []byte) (Content, error) {
	c, err := read(name, data)
	for _, w := range c.Warnings {
		w.File = name
	}
	if err != nil {
		err.File = name
		return Content{}, err
	}
	return c, nil
}

func read(name string, data []byte) (Content, *Error) {
	if len(data) > MaxSize {
		return Content{}, wrong("larger than %d MiB", MaxSize>>20)
	}
	switch endings[ending(name)] {
	case formatYAML:
		return readYAML(data)
	case formatText:
		c, err := readText(data)
		if end := ending(name); err == nil && end != ".pb_text" {
			c.Warnings = append(c.Warnings, wrong("Envoy takes a file that ends in %s for JSON", end).
				hint("let its name end in .pb_text"))
		}
		return c, err
	case formatBinary:
		return readBinary(data)
	}
	return readJSON(lenient.JSON(data))
}

// readBinary keeps the bytes as they are.
func readBinary(data []byte) (Content, *Error) {
	var r discovery.DiscoveryResponse
	if err := proto.Unmarshal(data, &r); err != nil {
		return Content{}, wrong("not a DiscoveryResponse in binary protobuf").
			hint("Envoy says nothing of that: it takes what it could read before the fault")
	}
	c := Content{Response: bytes.Clone(data)}
	if len(r.ProtoReflect().GetUnknown()) > 0 {
		c.Warnings = append(c.Warnings, wrong("it has fields that a DiscoveryResponse does not have"))
	}
	return c, nil
}

// marshalled is the end of all other formats.
func marshalled(r *discovery.DiscoveryResponse, warnings []*Error) (Content, *Error) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
	if err != nil {
		return Content{}, wrong("not a DiscoveryResponse: it cannot be written as protobuf")
	}
	return Content{Response: data, Warnings: warnings}, nil
}

// Error says where a file cannot be read, or is read in another way than it is
// written.
type Error struct {
	File string
	// Line and Col count from 1; 0 if the place is not known.
	Line, Col int
	Message   string
	Hint      string // what may help, or ""
}

// Error is the place and the reason in one line, without the hint.
func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.File + ": " + e.Message
	case e.Col == 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Message)
}

func wrong(format string, args ...any) *Error { return &Error{Message: fmt.Sprintf(format, args...)} }

func (e *Error) at(line, col int) *Error {
	e.Line, e.Col = line, col
	return e
}

func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}
