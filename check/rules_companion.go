package check

func companionRules() []*Rule { return nil }
