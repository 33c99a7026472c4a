package main

import "github.com/xdsproxy/xdsproxy/check"

// judging is how what is read is held against the rules: with the memory that
// the settings grant to what is over.
func (c *config) judging() check.Options {
	past := int64(c.memoryPast)
	if past == 0 {
		past = -1 // 0 is the default there
	}
	return check.Options{Past: past, Static: c.static}
}

// accounting is the same without rules.
func (c *config) accounting() check.Options {
	o := c.judging()
	o.Rules = []*check.Rule{}
	return o
}

// following is for those who only ask what messages mean, and not what they
// carry.
func (c *config) following() check.Options {
	o := c.accounting()
	o.Names = true
	return o
}
