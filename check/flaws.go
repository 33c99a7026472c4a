package check

import "fmt"

// flaws are what a rule found in one response, by cause: the words of the
// first, and the names of all.
type flaws struct {
	causes []string // in order
	by     map[string]*proof
}

// maxFlaws bounds the causes that are told apart in one response.
const maxFlaws = 32

func (f *flaws) add(cause, name, format string, args ...any) {
	p := f.by[cause]
	if p == nil {
		if len(f.causes) >= maxFlaws {
			return
		}
		p = &proof{cause: cause, message: fmt.Sprintf(format, args...)}
		put(&f.by, cause, p)
		f.causes = append(f.causes, cause)
	}
	if name != "" && len(p.names) < maxFindingNames {
		p.names = append(p.names, name)
	}
}

func (f *flaws) report(x *event, severity Severity) {
	for _, cause := range f.causes {
		p := f.by[cause]
		p.severity = severity
		x.prove(*p)
	}
}
