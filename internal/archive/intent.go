package archive

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// intentExt is what the intent of a recording is called, after its name.
const intentExt = ".archive"

// maxIntent bounds what is read of an intent.
const maxIntent = 16 << 10

// intent says where the segments of a recording go. It does not say which are
// there: the store does.
type intent struct {
	Archive   string    `json:"archive"` // URL
	Cluster   string    `json:"cluster"`
	Proxy     string    `json:"proxy"`
	Recording string    `json:"recording"`
	Began     time.Time `json:"began,omitzero"` // what its files say; zero: not known yet
}

// newIntent makes up a name that no other recording has: when it began, and chance.
func newIntent(o *Options, now time.Time) intent {
	return intent{
		Archive: o.URL, Cluster: o.Cluster, Proxy: o.Name,
		Recording: now.UTC().Format("20060102T150405Z") + "-" + strings.ToLower(rand.Text()[:12]),
	}
}

// write leaves the intent beside a recording. If fresh, there must be none.
func (i *intent) write(path string, fresh bool) error {
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if fresh {
		f, err := os.OpenFile(path+intentExt, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return errors.Join(err, f.Close())
	}
	temp := path + intentExt + ".next"
	if err := os.WriteFile(temp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path+intentExt)
}

var errIntent = errors.New("it does not say where a recording is to be uploaded")

// parseIntent reads what may be an intent.
func parseIntent(text []byte) (i intent, err error) {
	if err := json.Unmarshal(text, &i); err != nil {
		return i, errIntent
	}
	if i.Archive == "" || i.Cluster == "" || i.Proxy == "" || !plainName(i.Recording) {
		return i, errIntent
	}
	return i, nil
}

// plainName says whether a name of a recording can be part of a key: as we make it.
func plainName(s string) bool {
	return len(s) >= 8 && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
	})
}

func readIntent(path string) (intent, error) {
	// Before it is opened: a pipe would wait for somebody who writes.
	info, err := os.Stat(path)
	if err != nil {
		return intent{}, err
	}
	if !info.Mode().IsRegular() {
		return intent{}, errIntent
	}
	f, err := os.Open(path)
	if err != nil {
		return intent{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIntent))
	if err != nil {
		return intent{}, err
	}
	return parseIntent(text)
}

// maxIntents bounds how many recordings of earlier runs are looked at.
const maxIntents = 10_000

// intents are those in a directory that go to the same place: by the path of the
// recording, the oldest first.
func intents(dir, url string) (found map[string]intent, bad []string, more bool, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, nil, false, err
	}
	defer d.Close()
	found = make(map[string]intent)
	for {
		names, err := d.Readdirnames(1000)
		for _, name := range names {
			path, is := strings.CutSuffix(name, intentExt)
			if !is {
				continue
			}
			path = filepath.Join(dir, path)
			switch i, err := readIntent(path + intentExt); {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				bad = append(bad, path+intentExt)
			case i.Archive != url:
			case len(found) >= maxIntents:
				return found, bad, true, nil
			default:
				found[path] = i
			}
		}
		if errors.Is(err, io.EOF) {
			return found, bad, false, nil
		}
		if err != nil {
			return found, bad, false, err
		}
	}
}
