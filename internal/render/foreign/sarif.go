package foreign

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// The forms below are those of other programs: SARIF 2.1.0 for code scanners,
// JUnit for build servers.

type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
		Full  sarifText `json:"fullDescription"`
		Help  sarifText `json:"help"`
	}
	sarifResult struct {
		RuleID     string          `json:"ruleId"`
		RuleIndex  int             `json:"ruleIndex"`
		Level      string          `json:"level"`
		Message    sarifText       `json:"message"`
		Locations  []sarifLocation `json:"locations"`
		Count      int             `json:"occurrenceCount"`
		Properties render.Finding  `json:"properties"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region *sarifRegion `json:"region,omitempty"` // of a script
		} `json:"physicalLocation"`
		Logical []sarifLogical `json:"logicalLocations"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind,omitempty"`
	}
)

// SARIF writes a report for code scanners. The locations name the recording,
// and within it the entry.
func SARIF(w io.Writer, r *render.Report, version, source string, rules []*check.Rule) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{
		Name: "xdsproxy", Version: version,
		InformationURI: "https://github.com/xdsproxy/xdsproxy", Rules: []sarifRule{},
	}
	index := make(map[string]int)
	for _, rule := range rules {
		index[rule.ID] = len(run.Tool.Driver.Rules)
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: rule.ID, Short: sarifText{rule.Title}, Full: sarifText{rule.Means}, Help: sarifText{"Usual causes: " + rule.Causes + "\n\nWhat to do: " + rule.Next},
		})
	}
	for _, f := range r.Findings {
		level := f.Severity
		if level == "info" {
			level = "note"
		}
		var at sarifLocation
		at.Physical.Artifact.URI = source
		if f.Source != "" {
			at.Physical.Artifact.URI = f.Source
		}
		if n := len(f.Seqs); n > 0 {
			if len(f.Lines) > 0 {
				at.Physical.Region = &sarifRegion{f.Lines[len(f.Lines)-1]}
			}
			at.Logical = []sarifLogical{{Name: fmt.Sprintf("entry %d", f.Seqs[n-1])}}
		}
		for i := range f.Sources {
			at.Logical = append(at.Logical, sarifLogical{Name: f.Sources[i].Paths()[2], Kind: "object"})
		}
		text := f.Message
		if len(f.Clients) > 0 {
			text += " (on " + f.Often() + ")"
		}
		if len(f.Proxies) > 1 {
			text += " (" + f.OnProxies(8) + ")"
		}
		if from := render.MadeFrom(f.Sources, f.MoreSources, render.FewSources); from != "" {
			text += "; " + from
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule, RuleIndex: index[f.Rule], Level: level, Message: sarifText{text},
			Locations: []sarifLocation{at}, Count: f.Count, Properties: f,
		})
	}
	return render.WriteJSON(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0", Runs: []sarifRun{run},
	})
}

type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Time     string      `xml:"timestamp,attr,omitempty"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a report for build servers: a test for each rule that ran,
// failed where a finding counts as a failure. XML has no way to write most
// control characters, so that they are escaped as in text for people.
func JUnit(w io.Writer, r *render.Report, source string, rules []*check.Rule, fails func(severity string) bool) error {
	suite := junitSuite{Name: render.Safe(source), Tests: len(rules)}
	if len(r.Findings) > 0 {
		if at, err := time.Parse(time.RFC3339Nano, r.Findings[0].At); err == nil {
			suite.Time = at.UTC().Format("2006-01-02T15:04:05")
		}
	}
	for _, rule := range rules {
		c := junitCase{Name: rule.ID, Class: "xdsproxy." + rule.Group}
		for _, f := range r.Findings {
			if f.Rule != rule.ID {
				continue
			}
			line := f.Severity + ": "
			who := f.Client
			if len(f.Clients) > 0 {
				who = render.SomeOf(f.Clients, 8)
			}
			if about := strings.TrimSpace(who + " " + f.Type); about != "" {
				line += about + ": "
			}
			line += f.Message + " (" + f.Where()
			switch often := f.Often(); {
			case len(f.Clients) > 0:
				line += ", on " + often
			case often != "":
				line += ", " + often + " times"
			}
			if len(f.Proxies) > 1 {
				line += ", " + f.OnProxies(8)
			}
			line = render.Safe(line+")") + "\n"
			if !fails(f.Severity) {
				c.Out += line
				continue
			}
			if c.Failure == nil {
				c.Failure = &junitFailure{Type: f.Severity, Message: render.Safe(f.Message)}
				suite.Failures++
			}
			c.Failure.Text += line
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(junitSuites{Name: "xdsproxy check", Tests: suite.Tests, Failures: suite.Failures, Suite: suite}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
