package main

import (
	"errors"
	"os"

	"github.com/xdsproxy/xdsproxy/proxy"
)

// keyLog is a file to which the keys of TLS connections are appended, as
// Wireshark reads them. It is opened once somebody runs, not by who only asks
// what would be run.
type keyLog struct {
	path string
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
		l[path] = &keyLog{path: path}
	}
	return l[path]
}

// openKeyLogs opens those of the pairs, each readable for this user only, and
// warns of what is in them. close closes them.
func (a *app) openKeyLogs(pairs []proxy.Pair) (close func(), err error) {
	var open []*os.File
	close = func() {
		for _, f := range open {
			f.Close()
		}
	}
	for _, p := range pairs {
		var logs []*keyLog
		if p.ListenTLS != nil {
			logs = appendKeyLog(logs, p.ListenTLS.KeyLog)
		}
		if p.UpstreamTLS != nil {
			logs = appendKeyLog(logs, p.UpstreamTLS.KeyLog)
		}
		for _, k := range logs {
			if k.file != nil {
				continue
			}
			if k.file, err = openKeyLog(k.path); err != nil {
				close()
				return nil, failed("cannot open the key log: %w", err)
			}
			open = append(open, k.file)
			a.warn("--tls-key-log: whoever can read %q can decrypt what passes; delete it when you are done", k.path)
		}
	}
	return close, nil
}

func appendKeyLog(logs []*keyLog, w any) []*keyLog {
	if k, is := w.(*keyLog); is {
		logs = append(logs, k)
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
