package pseudonym

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Key is what stands between names and their stand-ins. Whoever has it can
// translate back; so it stays with who sends the recording.
type Key struct {
	Version int               `json:"version"`
	Secret  []byte            `json:"secret"`
	Words   map[string]string `json:"words"` // what stands for which word
}

const (
	keyVersion = 1
	secretSize = 32
	// maxKeyFile bounds what is read of a key file.
	maxKeyFile = 4 * maxNames
)

// NewKey makes a key.
func NewKey() *Key {
	k := &Key{Version: keyVersion, Secret: make([]byte, secretSize), Words: make(map[string]string)}
	rand.Read(k.Secret) // never fails: it ends the program instead
	return k
}

// part is a key for one use.
func (k *Key) part(use string) []byte {
	b, _ := hkdf.Key(sha256.New, k.Secret, nil, "xdsproxy pseudonym "+use, pfxKeySize) // never fails: it is short
	return b
}

// LoadKey reads a key file; fs.ErrNotExist says that there is none.
func LoadKey(path string) (*Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0: // Windows has no such modes
		return nil, fmt.Errorf("others may read it, which has mode %04o: it must be 0600", info.Mode().Perm())
	case info.Size() > maxKeyFile:
		return nil, errors.New("it is too large for a key file")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var k Key
	if err := json.Unmarshal(b, &k); err != nil || k.Version != keyVersion || len(k.Secret) != secretSize {
		return nil, errors.New("it is no key file of xdsproxy")
	}
	if k.Words == nil {
		k.Words = make(map[string]string)
	}
	return &k, nil
}

// Save writes the key file, which only its owner may read. A file that was there
// is replaced as a whole, or not.
func (k *Key) Save(path string) error {
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".names-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// IsMissing says whether there was no key file.
func IsMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
