package check

func subscriptionRules() []*Rule { return nil }
