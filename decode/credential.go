package decode

// IsCredential says whether the values of a header field are secrets, as its
// name has it.
func IsCredential(name string) bool { return isCredential(name) }
