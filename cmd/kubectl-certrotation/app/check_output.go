// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"

	"certrotation.dev/registry/display"
	"certrotation.dev/registry/survey"
)

// checkReport is what check prints.
type checkReport struct {
	Findings     []survey.Finding `json:"findings"`
	Errors       int              `json:"errors"`
	Warnings     int              `json:"warnings"`
	Certificates int              `json:"certificates"`
	Files        int              `json:"files"`
}

// maxCheckedText bounds each text of a finding, in bytes.
const maxCheckedText = 1 << 10

// newCheckReport makes text of certificates and files visible, so that it cannot act on a terminal.
func newCheckReport(in *checkReader, findings []survey.Finding) *checkReport {
	out := &checkReport{Findings: []survey.Finding{}, Certificates: in.survey.Certificates(), Files: in.files}
	for _, f := range findings {
		for _, text := range []*string{&f.File, &f.Object, &f.Namespace, &f.Key, &f.Message, &f.Next} {
			*text = display.Shorten(oneLine(*text), maxCheckedText, "...")
		}
		if f.Severity == survey.Error {
			out.Errors++
		} else {
			out.Warnings++
		}
		out.Findings = append(out.Findings, f)
	}
	return out
}

func (r *checkReport) counts() string {
	return plural(r.Errors, "error") + ", " + plural(r.Warnings, "warning")
}

func (r *checkReport) print(w io.Writer, format string) error {
	switch format {
	case "json":
		return printJSON(w, r)
	case "sarif":
		return printJSON(w, r.sarif())
	case "junit":
		return r.printJUnit(w)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if _, err := fmt.Fprintf(w, "%s %s %s: %s\n", f.Severity, f.Kind, placeText(&f.Place), f.Message); err != nil {
			return err
		}
		if f.Next != "" {
			fmt.Fprintf(w, "  %s\n", f.Next)
		}
	}
	_, err := fmt.Fprintf(w, "%s; %s, %s\n", r.counts(), plural(r.Certificates, "certificate"), plural(r.Files, "file"))
	return err
}

// placeText names object, key and file.
func placeText(p *survey.Place) string {
	text := p.String()
	if p.Key != "" {
		text += " " + p.Key
	}
	if p.Object != "" {
		text += " (" + p.File + ")"
	}
	return text
}

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// The parts of SARIF 2.1.0 that code scanning shows.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
)

func (r *checkReport) sarif() *sarifLog {
	run := sarifRun{Tool: sarifTool{Driver: sarifDriver{Name: "kubectl-certrotation", Rules: []sarifRule{}}}, Results: []sarifResult{}}
	known := map[survey.Kind]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		if !known[f.Kind] {
			known[f.Kind] = true
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: string(f.Kind)})
		}
		result := sarifResult{RuleID: string(f.Kind), Level: string(f.Severity), Message: sarifMessage{Text: joined(placeText(&f.Place)+": "+f.Message, f.Next)}}
		location := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{URI: filepath.ToSlash(f.File)}}}
		if f.Object != "" {
			location.Logical = []sarifLogical{{Name: f.Object}}
		}
		result.Locations = []sarifLocation{location}
		run.Results = append(run.Results, result)
	}
	return &sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

func joined(message, next string) string {
	if next == "" {
		return message
	}
	return message + "; " + next
}

type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Next    string `xml:",chardata"`
	}
)

// printJUnit has a failure for each error. A warning is a test that passes with output.
func (r *checkReport) printJUnit(w io.Writer) error {
	suite := junitSuite{Name: "kubectl certrotation check", Tests: max(len(r.Findings), 1), Failures: r.Errors}
	for i := range r.Findings {
		f := &r.Findings[i]
		c := junitCase{Class: f.File, Name: string(f.Kind) + " " + placeText(&f.Place)}
		if f.Severity == survey.Error {
			c.Failure = &junitFailure{Type: string(f.Kind), Message: f.Message, Next: f.Next}
		} else {
			c.Output = joined(f.Message, f.Next)
		}
		suite.Cases = append(suite.Cases, c)
	}
	if len(suite.Cases) == 0 {
		suite.Cases = []junitCase{{Class: "certificates", Name: plural(r.Certificates, "certificate") + " without a finding"}}
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return fmt.Errorf("encode JUnit: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
