// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Report is the output of "doctor -o json".
type Report struct {
	// Checks, the worst first.
	Checks []Check `json:"checks"`
}

// Check is the result of one check.
type Check struct {
	Group   string      `json:"group"`
	Result  checkResult `json:"result"`
	Message string      `json:"message"`
	// Next is the next command, or the right to ask for. A check that passed has none.
	Next string `json:"next,omitempty"`
}

type checkResult string

const (
	failedCheck  checkResult = "Failed"
	warningCheck checkResult = "Warning"
	// unknownCheck is the result of a check that the caller's rights do not allow.
	unknownCheck checkResult = "Unknown"
	passedCheck  checkResult = "Passed"
)

func checkResults() []checkResult {
	return []checkResult{failedCheck, warningCheck, unknownCheck, passedCheck}
}

func (e *examination) add(group string, result checkResult, message, next string) {
	e.checks = append(e.checks, Check{Group: group, Result: result, Message: oneLine(message), Next: oneLine(next)})
}

func (e *examination) passed(group, message string) { e.add(group, passedCheck, message, "") }

// unread adds the check of objects that could not be read: RESOURCE.GROUP, with the place where they are.
func (e *examination) unread(group, verb, resource, place string, err error) {
	if !isForbidden(err) {
		e.add(group, failedCheck, fmt.Sprintf("%s cannot be read: %s", resource, statusText(err)), "Repeat it with -v=6 to see each request")
		return
	}
	if place != "" {
		place = " in " + place
	}
	e.add(group, unknownCheck, resource+" may not be read"+place, fmt.Sprintf("Ask for the verb %s on %s%s", verb, resource, place))
}

func isForbidden(err error) bool { return apierrors.IsForbidden(err) }

func newReport(checks []Check) *Report {
	r := &Report{Checks: slices.Clone(checks)}
	slices.SortStableFunc(r.Checks, func(a, b Check) int {
		return cmp.Compare(slices.Index(checkResults(), a.Result), slices.Index(checkResults(), b.Result))
	})
	return r
}

func (r *Report) count(result checkResult) int {
	n := 0
	for i := range r.Checks {
		if r.Checks[i].Result == result {
			n++
		}
	}
	return n
}

// maxShown bounds the lines of one group and result in the text. JSON and YAML have all.
const maxShown = 10

// report renders what needs attention one by one, and what passed by group.
func (s screen) report(r *Report) string {
	var out strings.Builder
	for _, result := range checkResults() {
		for _, group := range r.groups(result) {
			if result == passedCheck {
				fmt.Fprintf(&out, "%s %s: %s\n", s.mark(result), group[0].Group, messages(group))
				continue
			}
			for _, c := range group[:min(len(group), maxShown)] {
				fmt.Fprintf(&out, "%s %s: %s\n    %s\n", s.mark(result), c.Group, c.Message, c.Next)
			}
			if more := len(group) - maxShown; more > 0 {
				fmt.Fprintf(&out, "    and %d more, which -o yaml shows\n", more)
			}
		}
	}
	fmt.Fprintf(&out, "\n%d failed, %s, %d unknown, %d passed\n",
		r.count(failedCheck), plural(r.count(warningCheck), "warning"), r.count(unknownCheck), r.count(passedCheck))
	return out.String()
}

// groups returns the checks with one result, by group.
func (r *Report) groups(result checkResult) [][]Check {
	var out [][]Check
	for _, c := range r.Checks {
		if c.Result != result {
			continue
		}
		at := slices.IndexFunc(out, func(group []Check) bool { return group[0].Group == c.Group })
		if at < 0 {
			out = append(out, []Check{c})
			continue
		}
		out[at] = append(out[at], c)
	}
	return out
}

func messages(group []Check) string {
	texts := make([]string, 0, len(group))
	for i := range group {
		texts = append(texts, group[i].Message)
	}
	return strings.Join(texts, "; ")
}

func (s screen) mark(result checkResult) string {
	look := map[checkResult]struct {
		unicode, ascii string
		style          style
	}{
		failedCheck:  {"×", "FAIL", bad},
		warningCheck: {"‼", "WARN", warn},
		unknownCheck: {"?", "?   ", warn},
		passedCheck:  {"√", "ok  ", good},
	}[result]
	if s.unicode {
		return s.paint(look.style, look.unicode)
	}
	return s.paint(look.style, look.ascii)
}
