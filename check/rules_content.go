package check

func contentRules() []*Rule { return nil }
