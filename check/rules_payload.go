package check

func payloadRules() []*Rule { return nil }
