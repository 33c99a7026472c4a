package columns

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The tables.
const (
	Entries     = "entries"
	Acks        = "acks"
	Connections = "connections"
	Findings    = "findings"
	Clients     = "clients"
	Resources   = "resources"
	Bodies      = "bodies"
)

// Tables are all of them.
var Tables = [...]string{Entries, Acks, Connections, Findings, Clients, Resources, Bodies}

// incomplete is where files are until they are whole.
const incomplete = "_incomplete"

const (
	// MaxPartition bounds what stands in the name of a directory, escaped.
	MaxPartition = 200
	maxBase      = 100 // bytes of the name of a recording in those of its files
	ending       = ".parquet"
	openMark     = ".open"
	holeMark     = ".holes"
)

// Partition is a value as it stands in the name of a directory in Hive's style.
func Partition(value string) string {
	var b strings.Builder
	value = text(value)
	for i := range len(value) {
		c := value[i]
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '_', c == '.' && i > 0, c >= 0x80:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// base is what the names of all files of a recording begin with. It is different for
// different recordings, whatever their names are.
func base(cluster, key, recording string) string {
	sum := sha256.Sum256([]byte(cluster + "\x00" + key + "\x00" + recording))
	var b strings.Builder
	for i := range min(len(recording), maxBase) {
		switch c := recording[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '_':
			b.WriteByte(c)
		default:
			b.WriteByte('_')
		}
	}
	return b.String() + "-" + hex.EncodeToString(sum[:8])
}

// dateOf is the day of a time, in UTC. Years that have not four digits do not come:
// a time is some nanoseconds since 1970.
func dateOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// place is the directory of a partition of a table.
func place(table, cluster, date string) string {
	return filepath.Join(table, "cluster="+Partition(cluster), "date="+date)
}

// span is a stretch of the numbers of entries.
type span struct{ first, last int64 }

// partName is that of the files of a part. One with holes has not all entries of its
// span, and the numbers of those that it has are in it alone.
func partName(base string, s span, holes bool) string {
	mark := ""
	if holes {
		mark = holeMark
	}
	return fmt.Sprintf("%s.%d-%d%s%s", base, s.first, s.last, mark, ending)
}

// parsePart reads the name of a file of a part.
func parsePart(name string) (base string, s span, holes, is bool) {
	rest, is := strings.CutSuffix(name, ending)
	if !is {
		return "", s, false, false
	}
	rest, holes = strings.CutSuffix(rest, holeMark)
	i := strings.LastIndexByte(rest, '.')
	if i < 0 {
		return "", s, false, false
	}
	first, last, is := strings.Cut(rest[i+1:], "-")
	if !is {
		return "", s, false, false
	}
	var err1, err2 error
	s.first, err1 = strconv.ParseInt(first, 10, 64)
	s.last, err2 = strconv.ParseInt(last, 10, 64)
	if err1 != nil || err2 != nil || s.first > s.last || s.first < 0 || partName(rest[:i], s, holes) != name {
		return "", s, false, false
	}
	return rest[:i], s, holes, true
}
