package check

func fileRules() []*Rule { return nil }
