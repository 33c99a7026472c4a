// Package schema makes the JSON Schemas that docs/schema publishes, of the types
// that commands print, and holds the two against each other. It has tests only; what
// commands really print is held against the schemas in cmd/xdsproxy.
package schema
