// Package admin tells those who run the proxy how it does: health, readiness,
// metrics and, if asked for, profiles, over HTTP.
//
// What it counts of traffic it is given by a reader of the log (Metrics.Step);
// it has no way to the relay, and nothing in the relay knows of it. Of peers it
// tells no names: labels come from sets that are fixed when the program is
// built. It changes nothing.
package admin
