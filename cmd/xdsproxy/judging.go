package main

import "github.com/xdsproxy/xdsproxy/check"

// judging is how what is read is held against the rules: with the memory that
// the settings grant to what is over.
func (c *config) judging() check.Options {
	past := int64(c.memoryPast)
	if past == 0 {
		past = -1 // 0 is the default there
	}
	return check.Options{Past: past}
}

// following is the same without rules, for those who only ask what messages
// mean.
func (c *config) following() check.Options {
	o := c.judging()
	o.Rules, o.Names = []*check.Rule{}, true
	return o
}
