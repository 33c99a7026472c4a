package check
func restRules() []*Rule { return nil }
