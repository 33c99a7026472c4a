package check

func ttlRules() []*Rule { return nil }
