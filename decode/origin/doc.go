// Package origin says whose a resource is: the objects of a control plane that it
// was made of, such as an HTTPRoute and its rule, as far as the resource itself
// says so. Control planes write them into metadata; systems.go has which of them
// writes what, and names.go what their names of resources give away.
//
// It says what stands there, and looks nothing up. What only a name tells is
// marked as such, for others may use the same names. A resource that says nothing
// has no sources.
package origin
