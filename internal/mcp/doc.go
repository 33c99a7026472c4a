// Package mcp answers assistants that speak the Model Context Protocol: tools that
// only read, each of which prints what a command of the same work prints for
// machines. It makes pages of that, which are small, and cursors, which go on. It
// knows no recording and no message: how a tool is answered it is given. On the
// output there is the protocol and nothing else.
package mcp
