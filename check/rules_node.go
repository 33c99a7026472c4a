package check

func nodeRules() []*Rule { return nil }
