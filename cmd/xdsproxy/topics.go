package main

import (
	"embed"
	"fmt"
	"strings"
)

// topic is a page of help that concerns several commands.
type topic struct {
	name, short string
	text        func(a *cli) string
}

// topicTexts are the pages that are not made from a table.
//
//go:embed topics/*.txt
var topicTexts embed.FS

func topics() []topic {
	written := func(name, short string) topic {
		text, _ := topicTexts.ReadFile("topics/" + name + ".txt") // a test reads each
		return topic{name, short, func(*cli) string { return string(text) }}
	}
	return []topic{
		{"configuration", "The configuration file, and several listeners", func(a *cli) string { return a.config.FileHelp() }},
		{"environment", "Variables and settings, and which one wins", func(a *cli) string { return a.config.EnvironmentHelp() }},
		written("exit-codes", "What the exit codes say"),
		written("files", "What happens to files that Envoy subscribes to"),
		{"filters", "How to say which entries are wanted", func(*cli) string { return filtersTopic() }},
		written("formats", "The machine-readable forms"),
		written("scripts", "How to write a conversation by hand"),
		written("sources", "What the reading commands can read"),
	}
}

func topicNames() []string {
	var names []string
	for _, t := range topics() {
		names = append(names, t.name)
	}
	return names
}

func writeTopics(b *strings.Builder) {
	b.WriteString("\nTopics (xdsproxy help TOPIC):\n")
	for _, t := range topics() {
		fmt.Fprintf(b, "  %-15s%s\n", t.name, t.short)
	}
}
