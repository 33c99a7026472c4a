package settings

import "github.com/xdsproxy/xdsproxy/check"

// Judging is how what is read is held against the rules: with the memory that
// the settings grant to what is over.
func (c *Values) Judging() check.Options {
	past := int64(c.memoryPast)
	if past == 0 {
		past = -1 // 0 is the default there
	}
	return check.Options{Past: past, Static: c.Static, Types: c.Types}
}

// Accounting is the same without rules.
func (c *Values) Accounting() check.Options {
	o := c.Judging()
	o.Rules = []*check.Rule{}
	return o
}

// Following is for those who only ask what messages mean, and not what they
// carry.
func (c *Values) Following() check.Options {
	o := c.Accounting()
	o.Names = true
	return o
}
