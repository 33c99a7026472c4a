// Package agree tests that all who follow a conversation tell the same of it.
//
// What a message means is written here a second time: a table made from the
// specification, without a look at package check. Verdicts, states of types and
// of resources, what was accepted and how often was rejected follow from this
// table; what watch, status, tree, diff, metrics and check say is held against it
// after each message, on every script and recording that package check is tested
// with, and on conversations that are made up.
//
// The files that begin with "table" are the second table, those that begin with
// "made" make conversations, and followers_test.go is the only one that knows how
// the program is asked. A conversation that fails is printed as a script, from
// which lines that do not matter are taken away. The package has no code of its own.
package agree
