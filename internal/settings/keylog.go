package settings

import (
	"errors"
	"io"
	"os"
	"slices"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// keyLog is a file to which the keys of TLS connections are appended, as
// Wireshark reads them. It is opened once somebody runs, not by who only asks
// what would be run.
type keyLog struct {
	Path string
	file *os.File // nil: not opened
}

// Write appends a line. crypto/tls calls it for one connection at a time.
func (k *keyLog) Write(line []byte) (int, error) {
	if k.file == nil {
		return 0, errors.New("the key log is not open")
	}
	return k.file.Write(line)
}

// keyLogs are key logs by their path, so that two listeners can share one.
type keyLogs map[string]*keyLog

func (l keyLogs) of(path string) *keyLog {
	if l[path] == nil {
		l[path] = &keyLog{Path: path}
	}
	return l[path]
}

// OpenKeyLogs opens those of the pairs, each readable for this user only. close
// closes them.
func OpenKeyLogs(pairs []proxy.Pair) (close func(), err error) {
	logs := KeyLogsOf(pairs)
	close = func() {
		for _, k := range logs {
			if k.file != nil {
				k.file.Close()
			}
		}
	}
	for _, k := range logs {
		if k.file, err = openKeyLog(k.Path); err != nil {
			close()
			return nil, console.Failed("cannot open the key log: %w", err)
		}
	}
	return close, nil
}

// KeyLogsOf are the key logs of the pairs, each once.
func KeyLogsOf(pairs []proxy.Pair) []*keyLog {
	var logs []*keyLog
	add := func(w io.Writer) {
		if k, is := w.(*keyLog); is && !slices.Contains(logs, k) {
			logs = append(logs, k)
		}
	}
	for _, p := range pairs {
		if p.ListenTLS != nil {
			add(p.ListenTLS.KeyLog)
		}
		if p.UpstreamTLS != nil {
			add(p.UpstreamTLS.KeyLog)
		}
	}
	return logs
}

// openKeyLog makes sure that nobody else may read a file that was there before.
func openKeyLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
