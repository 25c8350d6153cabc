// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// allOK is the grade of a check that has found nothing.
const allOK = 10

// finding is one of kube-score.
type finding struct {
	// in is the directory, and check the name by which kube-score lists it.
	in, object, check string
	// container that it is about, if it is about one.
	container, says string
}

func (f finding) String() string {
	if f.container != "" {
		return fmt.Sprintf("%s: %s (%s): %s: %s", f.in, f.object, f.container, f.check, f.says)
	}
	return fmt.Sprintf("%s: %s: %s: %s", f.in, f.object, f.check, f.says)
}

// scored is an object in the report of kube-score.
type scored struct {
	Name   string `json:"object_name"`
	Checks []struct {
		Check struct {
			ID string `json:"id"`
		} `json:"check"`
		Grade    int  `json:"grade"`
		Skipped  bool `json:"skipped"`
		Comments []struct {
			Path    string `json:"path"`
			Summary string `json:"summary"`
		} `json:"comments"`
	} `json:"checks"`
}

// read returns what a report has found, and how many objects were judged.
func read(in string, report []byte) (findings []finding, judged int, err error) {
	var objects []scored
	if err := json.Unmarshal(report, &objects); err != nil {
		return nil, 0, fmt.Errorf("%s: read the report of kube-score: %w", in, err)
	}
	for _, object := range objects {
		for _, c := range object.Checks {
			if c.Skipped || c.Grade >= allOK {
				continue
			}
			for _, comment := range c.Comments {
				findings = append(findings, finding{in: in, object: object.Name, check: c.Check.ID, container: comment.Path, says: comment.Summary})
			}
		}
	}
	return findings, len(objects), nil
}

// waiver says why something that is found is no fault.
type waiver struct {
	// Check is the name of kube-score's. Says is what is found, if the check finds several things.
	Check string `json:"check"`
	Says  string `json:"says,omitempty"`
	// In is a directory; it is for what is below, too.
	In     string `json:"in"`
	Reason string `json:"reason"`
}

func (w waiver) covers(f finding) bool {
	return w.Check == f.check && (w.Says == "" || w.Says == f.says) && (w.In == f.in || strings.HasPrefix(f.in, w.In+"/"))
}

type waivers []waiver

func readWaivers(file string) (waivers, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all waivers
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, w := range all {
		if w.Check == "" || w.In == "" || strings.TrimSpace(w.Reason) == "" {
			return nil, fmt.Errorf("%s: the waiver %+v needs check, in and reason", file, w)
		}
	}
	return all, nil
}

// judge fails for each finding that no waiver covers, and for each waiver that covers none.
func (all waivers) judge(findings []finding) error {
	var errs []error
	used := make([]bool, len(all))
	for _, f := range findings {
		covered := false
		for i, w := range all {
			if w.covers(f) {
				covered, used[i] = true, true
			}
		}
		if !covered {
			errs = append(errs, errors.New(f.String()))
		}
	}
	for i, w := range all {
		if !used[i] {
			errs = append(errs, fmt.Errorf("nothing needs the waiver of %s in %s: remove it", strings.TrimSpace(w.Check+" "+w.Says), w.In))
		}
	}
	return errors.Join(errs...)
}
