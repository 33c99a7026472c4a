// Package test looks at the manifests in deploy: against the types of Kubernetes,
// against each other, and against the program that they start.
package test
