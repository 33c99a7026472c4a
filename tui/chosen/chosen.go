// Package chosen is what a person has chosen of the lists of the screen: which
// columns there are, how wide they are, by what the rows are sorted. It is kept in
// a small file, of which nothing is trusted. It draws nothing.
package chosen

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// All is what was chosen, by the title of a view.
type All struct {
	lists map[string]*List
	saved string // as the file has it
}

// List is what was chosen of one list. The zero value chooses nothing.
type List struct {
	Widths map[string]int `json:"widths,omitempty"` // of columns, by their titles
	Hidden []string       `json:"hidden,omitempty"` // titles of columns
	Sort   string         `json:"sort,omitempty"`
	Turned bool           `json:"turned,omitempty"`
}

// Column is one of a list, as it is shown.
type Column struct {
	Title string
	Width int  // 0: it is hidden, or there is no room for it
	Fixed bool // it is always shown
}

// What a file may have at most.
const (
	maxFile   = 64 << 10
	maxLists  = 16
	maxTitles = 64
	maxTitle  = 64 // bytes
	widest    = 400
)

// Of is what was chosen of a view.
func (a *All) Of(title string) *List {
	if a.lists == nil {
		a.lists = make(map[string]*List)
	}
	l := a.lists[title]
	if l == nil {
		l = new(List)
		a.lists[title] = l
	}
	return l
}

// Width is how wide a column is, which would be so wide by itself: 0 if it is
// hidden, and never more than most.
func (l *List) Width(title string, natural, most int) int {
	if slices.Contains(l.Hidden, title) {
		return 0
	}
	if n := l.Widths[title]; n > 0 && natural > 0 {
		return max(min(n, most), 1)
	}
	return natural
}

// Chosen says whether the width of a column was.
func (l *List) Chosen(title string) bool { return l.Widths[title] > 0 }

// Plain says whether all columns are as they are by themselves.
func (l *List) Plain() bool { return len(l.Widths) == 0 && len(l.Hidden) == 0 }

// Resize makes a column wider, which is so wide now, or narrower.
func (l *List) Resize(title string, now, by int) {
	if l.Widths == nil {
		l.Widths = make(map[string]int)
	}
	l.Widths[title] = min(max(now+by, least), widest)
}

// least is how narrow a column is made.
const least = 3

// Toggle hides a column, or shows it again.
func (l *List) Toggle(title string) (shown bool) {
	if i := slices.Index(l.Hidden, title); i >= 0 {
		l.Hidden = slices.Delete(l.Hidden, i, i+1)
		return true
	}
	l.Hidden = append(l.Hidden, title)
	return false
}

// Load reads what was kept. A file that is not there has nothing; of one that is
// broken nothing is taken, and the error says so.
func Load(path string) (*All, error) {
	a := new(All)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil {
		defer f.Close()
		var about fs.FileInfo
		if about, err = f.Stat(); err == nil && !about.Mode().IsRegular() {
			err = errors.New("it is no file")
		}
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	}
	if err == nil {
		err = a.take(data)
	}
	if err != nil {
		return new(All), fmt.Errorf("what was chosen of columns is not used: %s: %w", path, err)
	}
	return a, nil
}

// take takes the content of a file, or nothing.
func (a *All) take(data []byte) error {
	if len(data) > maxFile {
		return fmt.Errorf("it has more than %d bytes", maxFile)
	}
	var lists map[string]*List
	if err := json.Unmarshal(data, &lists); err != nil {
		return err
	}
	if len(lists) > maxLists {
		return errors.New("it has more lists than there are")
	}
	for title, l := range lists {
		if l == nil || len(title) > maxTitle || len(l.Sort) > maxTitle || len(l.Widths) > maxTitles || len(l.Hidden) > maxTitles {
			return fmt.Errorf("it has more of a list than one has")
		}
		for t, n := range l.Widths {
			if len(t) > maxTitle || n < 1 || n > widest {
				return fmt.Errorf("a column is %d wide", n)
			}
		}
	}
	a.lists, a.saved = lists, string(data)
	return nil
}

// Save writes what is chosen, if that is not what the file has. Who looks finds the
// old one or the new.
func (a *All) Save(path string) error {
	chosen := make(map[string]*List)
	for title, l := range a.lists {
		if !l.Plain() || l.Sort != "" || l.Turned {
			chosen[title] = l
		}
	}
	data, err := json.MarshalIndent(chosen, "", "  ")
	if err != nil || string(data) == a.saved || len(chosen) == 0 && a.saved == "" {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	a.saved = string(data)
	return nil
}
