package decode

func NormalName(s string) string { return s }
