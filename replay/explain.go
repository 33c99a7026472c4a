package replay

// changesBetween says what differs between two resources.
func changesBetween(oldType string, old []byte, newType string, new []byte) string {
	return ""
}
