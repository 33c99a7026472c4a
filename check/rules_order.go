package check

func orderRules() []*Rule { return nil }
