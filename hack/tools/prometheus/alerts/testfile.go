// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v2"
)

// testFile is a file of `promtool test rules`, as far as the tests here use it.
type testFile struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []story        `yaml:"tests"`
}

// story is a test of such a file: series, and which alerts fire when.
type story struct {
	Name     string         `yaml:"name"`
	Interval model.Duration `yaml:"interval"`
	Series   []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	Expectations []expectation `yaml:"alert_rule_test"`
}

// expectation is what fires of an alert at a time; nothing, if nothing is given.
type expectation struct {
	At     model.Duration `yaml:"eval_time"`
	Alert  string         `yaml:"alertname"`
	Firing []fired        `yaml:"exp_alerts"`
}

type fired struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

// read a file of tests, and find its rules.
func read(path string) (*testFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f testFile
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return nil, fmt.Errorf("parse %s: %w", path, err)
	}
	for i, file := range f.RuleFiles {
		f.RuleFiles[i] = filepath.Join(filepath.Dir(path), file)
	}
	return &f, nil
}

// load is how promqltest is told of the series.
func (s *story) load() string {
	var b strings.Builder
	fmt.Fprintf(&b, "load %s\n", time.Duration(s.Interval))
	for _, one := range s.Series {
		fmt.Fprintf(&b, "  %s %s\n", one.Series, one.Values)
	}
	return b.String()
}

// last is when the last expectation is.
func (s *story) last() time.Duration {
	var last model.Duration
	for i := range s.Expectations {
		last = max(last, s.Expectations[i].At)
	}
	return time.Duration(last)
}
