package render

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
)

// VersionName is what a person calls the Nth version of a resource, counted
// from 0.
func VersionName(n int) string { return fmt.Sprintf("v%d", n+1) }

// Verdict says in a few words what became of a version.
func Verdict(v *history.Version) string {
	var words []string
	if v.Removed {
		words = append(words, "removed")
	}
	switch v.State {
	case engine.Acked:
		words = append(words, fmt.Sprintf("ACKED by %d", v.Judged))
	case engine.Rejected:
		words = append(words, fmt.Sprintf("NACKED by %d", v.Judged))
		if v.With > 0 { // the reason may be one of them
			words = append(words, "together with "+Count(v.With, "other", "others"))
		}
	case engine.Uncertain:
		if v.Reason != "" {
			words = append(words, fmt.Sprintf("accepted first, and NACKED by %d", v.Judged))
			break
		}
		words = append(words, fmt.Sprintf("answered by %d, which does not tell whether it was accepted", v.Judged))
	default:
		words = append(words, "not answered")
	}
	if v.Pushes > 1 {
		words = append(words, fmt.Sprintf("sent %d times, last by %d", v.Pushes, v.Last))
	}
	if v.Heartbeats > 0 {
		words = append(words, Count(v.Heartbeats, "heartbeat", "heartbeats"))
	}
	if v.Uncertain {
		words = append(words, "uncertain: part of the stream was not recorded")
	}
	return strings.Join(words, ", ")
}

// VersionsText is the table of the versions of a resource, one line each, and
// one more for the reason of a rejection. The marks, by the number of a version
// from 0, are the signs that its lines have in what follows.
func VersionsText(versions []history.Version, first int, marks map[int]byte, s Style, columns int) string {
	number, version := 2, len("VERSION")
	for i := range versions {
		number = max(number, len(VersionName(first+i)))
		version = max(version, Width(Safe(versions[i].Version)))
	}
	version = min(version, 24)
	var b strings.Builder
	head := "  " + PadRight("", number) + " " + PadLeft("SEQ", seqWidth) + "  " + PadRight("TIME (UTC)", len(timeForm)) + "  " +
		PadRight("VERSION", version) + "  " + PadLeft("SIZE", sizeWidth) + "  VERDICT"
	b.WriteString(s.paint(title, head) + "\n")
	for i := range versions {
		v := &versions[i]
		mark, look := byte(' '), plain
		switch m := marks[first+i]; m {
		case '-':
			mark, look = m, bad
		case '+':
			mark, look = m, good
		}
		size := "-"
		if !v.Removed {
			size = ShortSize(int64(v.Size))
		}
		lead := fmt.Sprintf("%c %s %*d  %s  %s  %s  ", mark, PadRight(VersionName(first+i), number), seqWidth, v.Seq,
			v.Time.UTC().Format(timeForm), PadRight(Middle(Safe(v.Version), version), version), PadLeft(size, sizeWidth))
		b.WriteString(s.paint(look, lead+Verdict(v)) + "\n")
		if v.Reason != "" {
			text := strings.Repeat(" ", 4) + Safe(v.Reason)
			if columns > 0 {
				text = End(text, columns)
			}
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}
