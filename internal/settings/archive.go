package settings

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/objects"
)

// archiveValues are the settings of the archive.
type archiveValues struct {
	url, cluster, name string
	hold               Size
}

// The segments of a recording that is archived, if nobody says how large they are:
// what a crash of the machine may cost, and not too many objects.
const (
	archiveSize = 64 << 20
	archiveAge  = time.Hour
)

func (v *archiveValues) bind() []*Setting {
	*v = archiveValues{cluster: "default"}
	return []*Setting{
		row(groupArchive, "archive", Text{&v.url, "URL"},
			"upload each segment of the recording, once it is finished, to s3://BUCKET/PREFIX/ or file:///DIR/; a segment is 64MiB or an hour then, unless --max-size or --max-age is given"),
		row(groupArchive, "archive-cluster", Text{&v.cluster, "NAME"},
			"the cluster that the uploaded segments are filed under"),
		row(groupArchive, "archive-name", Text{&v.name, "NAME"},
			"the proxy that they are filed under, which no other proxy of the cluster may be called; else the name of this machine"),
		row(groupArchive, "archive-hold", limit{&v.hold, "0B", "none"},
			"how much --keep leaves on disk because it is not uploaded yet; beyond it, and with none, --keep deletes what is not uploaded, too"),
	}
}

// Archive is where segments are uploaded.
type Archive struct {
	URL, Cluster, Name string
	Hold               int64 // bytes
}

// Archive says where to upload to; nil: nowhere. If nobody said how large segments
// are, they are as large as an archive wants them.
func (ss *Settings) Archive() (*Archive, error) {
	v := &ss.archive
	if v.url == "" {
		for _, s := range ss.Table {
			if s.Group == groupArchive && s.Origin == fromFlag {
				return nil, console.Misused("%s without --archive: where should segments be uploaded?", s.said()).Hint("--archive s3://BUCKET/PREFIX/")
			}
		}
		return nil, nil
	}
	if err := objects.Check(v.url); err != nil {
		return nil, console.Misused("--archive: %w", err).Hint("%s", objects.Hint(err))
	}
	if path, local := strings.CutPrefix(v.url, "file://"); local {
		path = strings.TrimRight(path, "/")
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return nil, console.Misused("--archive: %s is a file, and a directory is wanted", path)
		}
	}
	if bool(ss.NoRecord) {
		return nil, console.Misused("--archive with --no-record: there is no file that could be uploaded").Hint("leave --no-record out, and give --max-size and --keep to bound the disk")
	}
	if v.hold > 0 && ss.Keep == 0 {
		return nil, console.Misused("--archive-hold without --keep: nothing is deleted that could be held back").Hint("--keep 4 keeps four segments beside the newest")
	}
	a := &Archive{URL: v.url, Cluster: v.cluster, Name: v.name, Hold: int64(v.hold)}
	if !strings.HasSuffix(a.URL, "/") {
		a.URL += "/"
	}
	if a.Name == "" {
		host, err := os.Hostname()
		if err != nil || host == "" {
			return nil, console.Failed("this machine has no name that segments could be filed under").Hint("give one with --archive-name")
		}
		a.Name = host
	}
	for flag, name := range map[string]string{"archive-cluster": a.Cluster, "archive-name": a.Name} {
		if err := checkFiled(name); err != nil {
			return nil, console.Misused("--%s: %w", flag, Naming(name, err)).Hint("it becomes part of the keys of objects")
		}
	}
	if ss.MaxSize == 0 && ss.MaxAge == 0 {
		ss.MaxSize, ss.MaxAge = archiveSize, Duration(archiveAge)
		for _, name := range []string{"max-size", "max-age"} {
			s := findSetting(ss.Table, name)
			s.Origin, s.From = Implied, "archive"
		}
	}
	return a, nil
}

// checkFiled refuses what cannot be a name in keys. It is a part of a path there, with
// what is before it, and parts have 255 bytes in most file systems.
func checkFiled(name string) error {
	const most = 240
	long := 0
	for _, b := range []byte(name) {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '-', b == '_', b == '.':
			long++
		default:
			long += len("%XX")
		}
	}
	switch {
	case name == "":
		return errors.New("it is empty")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("it has characters that cannot be printed")
	case long > most:
		return fmt.Errorf("it takes %d bytes in a key, and at most %d are allowed: each byte that is not a letter, a digit or one of -_. counts as three", long, most)
	}
	return nil
}

// WantsArchive says whether somebody asked for an archive, whether that can be or not.
func (ss *Settings) WantsArchive() bool { return ss.archive.url != "" }
