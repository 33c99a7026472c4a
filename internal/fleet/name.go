package fleet

import (
	"fmt"
	"hash/crc32"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/internal/clip"
)

// ending is that of recordings.
const ending = ".xdsp"

// maxName bounds what is taken of a part of a path.
const maxName = 1 << 10

// name is what the path of a file says of the recording that is in it.
type name struct {
	cluster, proxy string
	recording      string    // without its ending and the number of the segment
	segment        uint64    // 0: it has none in its name
	date           time.Time // the day of date=; zero if there is none
	group          string    // equal for the segments of one recording
}

// parse reads a path with slashes, relative to what was asked for, and what is above
// it, of which only pairs such as cluster=C count. It returns false for what is no
// recording by its name.
//
// In an archive paths are cluster=C/date=YYYY-MM-DD/proxy=P/RECORDING.NNNNNN.xdsp,
// with whatever before. Where there is no proxy=, the path itself tells the
// recordings apart: a directory for each proxy, or a file.
func parse(above, p string) (n name, ok bool) {
	dir, base := path.Split(p)
	if !strings.HasSuffix(base, ending) || strings.HasPrefix(base, ".") || len(p) > 8<<10 {
		return n, false
	}
	n.recording, n.segment = splitSegment(strings.TrimSuffix(base, ending))
	for part := range strings.SplitSeq(above, "/") {
		n.pair(part)
	}
	var kept []string
	for part := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if !n.pair(part) { // segments of one recording are of several days
			kept = append(kept, part)
		}
	}
	n.group = strings.Join(kept, "/") + "/" + n.recording
	if n.proxy == "" {
		n.proxy = strings.Trim(legible(n.group), "/")
	}
	return n, true
}

// pair reads a part of a path, and says whether it is a day.
func (n *name) pair(part string) (day bool) {
	key, value, is := strings.Cut(part, "=")
	if !is || value == "" {
		return false
	}
	value = unescape(value)
	switch key {
	case "cluster":
		n.cluster = value
	case "proxy":
		n.proxy = value
	case "date":
		if d, err := time.Parse(time.DateOnly, value); err == nil {
			n.date = d
			return true
		}
	}
	return false
}

// splitSegment takes the number of a segment off a name.
func splitSegment(base string) (string, uint64) {
	i := strings.LastIndexByte(base, '.')
	if i <= 0 || len(base)-i-1 < 6 {
		return base, 0
	}
	digits := base[i+1:]
	if strings.Trim(digits, "0123456789") != "" {
		return base, 0
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n == 0 {
		return base, 0
	}
	return base[:i], n
}

// unescape undoes what a path needed. What was not made so stays as it is.
func unescape(value string) string {
	if plain, err := url.PathUnescape(value); err == nil {
		value = plain
	}
	return legible(value)
}

// legible makes a text of a part of a path. What is different stays different: a byte
// that is no UTF-8 is written as \xNN, and a long one ends in what tells it apart.
func legible(s string) string {
	whole := s
	if !utf8.ValidString(s) {
		var b strings.Builder
		for s != "" {
			r, n := utf8.DecodeRuneInString(s)
			if r == utf8.RuneError && n == 1 {
				fmt.Fprintf(&b, `\x%02X`, s[0])
			} else {
				b.WriteString(s[:n])
			}
			s = s[n:]
		}
		s = b.String()
	}
	if len(s) > maxName {
		s = fmt.Sprintf("%s%08x", clip.Text(s, maxName), crc32.ChecksumIEEE([]byte(whole)))
	}
	return s
}
