// Command table writes the table that mask.Masker walks by: for each
// message type that can hold text, which fields to descend into, which to look
// at and which to mask. It is derived from the descriptors of all linked
// types and from the reviewed lists in this package.
//
// The form is described at the parser, in package decode.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"

	_ "github.com/xdsproxy/xdsproxy/decode/types"
)

func main() {
	log.SetFlags(0)
	out := flag.String("o", "table.txt", "the `file` to write")
	flag.Parse()
	if err := os.WriteFile(*out, generate(), 0o644); err != nil {
		log.Fatalf("table: %v", err)
	}
}

// generate writes one line a type, sorted by name.
func generate() []byte {
	var b bytes.Buffer
	for _, t := range collect() {
		fmt.Fprintf(&b, "%s", t.name)
		if t.flags != "" {
			fmt.Fprintf(&b, " %s", t.flags)
		}
		for _, f := range t.fields {
			fmt.Fprintf(&b, " %d%c", f.num, f.kind)
			if f.sub != "" {
				b.WriteString(relative(f.sub, t.name))
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// relative shortens a name by what it has in common with that of the line: a
// digit says how many leading parts are the same.
func relative(name, line string) string {
	parts, start := 0, 0
	for i := range min(len(name), len(line)) {
		if name[i] != line[i] || parts == 9 {
			break
		}
		if name[i] == '.' {
			parts, start = parts+1, i+1
		}
	}
	return fmt.Sprintf("%d%s", parts, name[start:])
}
