package admin

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"
)

// maxProfile is how long a profile may be taken.
const maxProfile = 5 * time.Minute

// serveProfiles serves them without the command line: it may hold credentials.
func (s *Server) serveProfiles(mux *http.ServeMux) {
	for path, h := range map[string]http.HandlerFunc{
		"GET /debug/pprof/":        brief(pprof.Index),
		"GET /debug/pprof/profile": brief(pprof.Profile),
		"GET /debug/pprof/trace":   brief(pprof.Trace),
		"GET /debug/pprof/symbol":  pprof.Symbol,
		"POST /debug/pprof/symbol": pprof.Symbol,
	} {
		mux.HandleFunc(path, s.local(h))
	}
}

// brief refuses what would be taken for too long, or for no time at all.
func brief(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// As net/http/pprof looks for it: the first one counts.
		if given := r.FormValue("seconds"); given != "" {
			n, err := strconv.ParseFloat(given, 64)
			if err != nil || !(n > 0 && n <= maxProfile.Seconds()) { // nor if it is no number
				answer(w, http.StatusBadRequest, fmt.Sprintf("seconds has to be a number above 0, and at most %g", maxProfile.Seconds()))
				return
			}
		}
		h(w, r)
	}
}
