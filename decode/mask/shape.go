package mask

import (
	_ "embed" // the table of shapes
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

//go:generate go run ./table -o table.txt

// maskTable has one line for each linked message type that can hold text:
//
//	line  = name [flags] {" " number kind [sub]}
//	flags = ["*"] ["k" number | "h" number]
//	kind  = "s" text  "t" text that may be configuration  "!" secret
//	        "." public even inside something secret  "#" a double that may be secret
//	        "j" a source of key sets  "-" holds no text
//	        ":" message without secrets  ">" message that may hold some
//	sub   = digit name: the digit counts the leading parts of the name that are
//	        those of the line's own
//
// Only fields that can be length-delimited are listed, so a number that is
// missing is not known. "*" says that it may then be a secret of a newer API,
// "k" that field number names what the others hold, "h" that it is a header.
//
//go:embed table.txt
var maskTable string

// shape is one line of the table.
type shape struct {
	name   string
	strict bool
	named  protowire.Number // 0: not named
	header bool
	fields []shapeField // by number
	byNum  []uint8      // index into fields plus one; of numbers below its length
}

type shapeField struct {
	num  protowire.Number
	kind byte
	sub  *shape // nil if the field is no message that holds text
}

// shapes are all lines by full message name. It is built when the first Masker
// is made and never changes.
var shapes = sync.OnceValue(func() map[string]*shape { return parseShapes(maskTable) })

// anyShape stands for google.protobuf.Any, which has no line.
const anyShape = "google.protobuf.Any"

func parseShapes(table string) map[string]*shape {
	all := make(map[string]*shape, strings.Count(table, "\n")+1)
	get := func(name string) *shape {
		if all[name] == nil {
			all[name] = &shape{name: name}
		}
		return all[name]
	}
	get(anyShape)
	for line := range strings.Lines(table) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		sh := get(name)
		for word := range strings.FieldsSeq(rest) {
			if c := word[0]; c < '0' || c > '9' {
				sh.flags(word)
				continue
			}
			digits := len(word) - len(strings.TrimLeft(word, "0123456789"))
			n, _ := strconv.Atoi(word[:digits])
			f := shapeField{num: protowire.Number(n), kind: word[digits]}
			if sub := word[digits+1:]; sub != "" {
				f.sub = get(absolute(sub, name))
			}
			sh.fields = append(sh.fields, f)
		}
		sh.index()
	}
	return all
}

func (sh *shape) flags(word string) {
	word, sh.strict = strings.CutPrefix(word, "*")
	if word != "" {
		n, _ := strconv.Atoi(word[1:])
		sh.named, sh.header = protowire.Number(n), word[0] == 'h'
	}
}

// absolute undoes the shortening of a sub.
func absolute(sub, line string) string {
	end := 0
	for range sub[0] - '0' {
		end += strings.IndexByte(line[end:], '.') + 1
	}
	return line[:end] + sub[1:]
}

func (sh *shape) index() {
	top := protowire.Number(0)
	for _, f := range sh.fields {
		if f.num < 128 {
			top = f.num
		}
	}
	sh.byNum = make([]uint8, top+1)
	for i, f := range sh.fields {
		if f.num <= top {
			sh.byNum[f.num] = uint8(i + 1)
		}
	}
}

// field finds a field by number; nil if it is not known.
func (sh *shape) field(num protowire.Number) *shapeField {
	if int(num) < len(sh.byNum) {
		if i := sh.byNum[num]; i > 0 {
			return &sh.fields[i-1]
		}
		return nil
	}
	for i := range sh.fields {
		if sh.fields[i].num == num {
			return &sh.fields[i]
		}
	}
	return nil
}
