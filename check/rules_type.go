package check

func typeRules() []*Rule { return nil }
