package report

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"strings"
)

// FileOf is the name of a zip for a source that nobody named one for.
func FileOf(source string) string {
	base := filepath.Base(source)
	for _, ending := range []string{".xdsp", ".xds", ".json", ".yaml", ".yml"} {
		base = strings.TrimSuffix(base, ending)
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`:*?"<>|[]\`, r) { // of an address; not every system takes them
			return '-'
		}
		return r
	}, base) + "-report.zip"
}

// Agreed says whether the next line of in is a yes. It does not wait for one when
// ctx ends: what is typed later is lost.
func Agreed(ctx context.Context, in io.Reader) (bool, error) {
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n')
		lines <- line
	}()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case line := <-lines:
		line = strings.ToLower(strings.TrimSpace(line))
		return line == "y" || line == "yes", nil
	}
}
