// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"
)

// Configured is what the configurations of a namespace make of one snapshot of the cluster.
type Configured struct {
	Domains    []*Domain
	Aggregates []*Aggregate
	Carriers   []Carrier
}

// Carrier brings objects of trust domains to processes: a copy, or a rollout.
type Carrier struct {
	// Name for people. Carriers of one name are the same.
	Name string
	// Objects as Kind/name that it carries.
	Objects []string
}

// ConfigurationJudgement is the result of judging an edit of a configuration.
type ConfigurationJudgement struct {
	Violations []Violation
	// LetsGo says that the edit removes something that a rotation in flight would need. The answer must then not come
	// from a stale view.
	LetsGo bool
	// Consequences of the edit for its author, if it is allowed.
	Consequences []string
}

// JudgeConfiguration returns what an edit of the named RotationConfiguration breaks. before and after must be of the
// same snapshot. In flight a configuration only grows: an edit must not remove a blocker, nor unblock a step. At rest
// it decides which members count. But what it made or adopted stays guarded until it is released by name.
func JudgeConfiguration(name string, before, after *Configured, now time.Time) *ConfigurationJudgement {
	return judgeConfiguration(configurationRules(), name, before, after, now)
}

// configurationRule is one reason to refuse an edit of a configuration.
type configurationRule struct {
	name string
	// atRest says that the rule also holds at rest. The others hold only in flight.
	atRest bool
	// gone says that the rule also judges domains that go. The others judge only domains that stay.
	gone bool
	// judge lists what an edit breaks, as violations without an object.
	judge func(*domainEdit) []Violation
}

// configurationRules are independent of each other. The first ones give the best explanation.
func configurationRules() []configurationRule {
	return []configurationRule{
		{name: "a rotation keeps its objects", gone: true, judge: (*domainEdit).objectsKept},
		{name: "a domain that goes is released", gone: true, atRest: true, judge: (*domainEdit).released},
		{name: "an aggregate that goes is released", gone: true, atRest: true, judge: (*domainEdit).aggregatesReleased},
		{name: "a leaf counts somewhere", atRest: true, judge: (*domainEdit).leavesKept},
		{name: "no leaf is released", judge: (*domainEdit).leavesHeld},
		{name: "no member is released", judge: (*domainEdit).membersHeld},
		{name: "who counts goes on to count", judge: (*domainEdit).membersKept},
		{name: "evidence is of the same processes", judge: (*domainEdit).evidenceKept},
		{name: "nobody is spoken for", judge: (*domainEdit).wordsRefused},
		{name: "times do not shrink", judge: (*domainEdit).timesKept},
		{name: "what carries goes on to carry", judge: (*domainEdit).carriersKept},
		{name: "nothing becomes possible", judge: (*domainEdit).stepsRefused},
	}
}

func judgeConfiguration(rules []configurationRule, name string, before, after *Configured, now time.Time) *ConfigurationJudgement {
	out := &ConfigurationJudgement{}
	for _, old := range before.Domains {
		e := newDomainEdit(name, old, before, after, now)
		out.LetsGo = out.LetsGo || e.letGo() != ""
		refused := false
		for _, rule := range rules {
			if e.kept == nil && !rule.gone {
				continue
			}
			violations := rule.judge(e)
			out.LetsGo = out.LetsGo || len(violations) > 0
			if len(violations) == 0 || (!e.inFlight() && !rule.atRest) {
				continue
			}
			refused = true
			for _, v := range violations {
				v.Object = "RotationConfiguration/" + name
				v.Message = fmt.Sprintf("trust domain %s (stage %s): %s", old.Name, e.stage, v.Message)
				if v.SafeWay == "" {
					v.SafeWay = e.wait()
				}
				out.Violations = append(out.Violations, v)
			}
		}
		if !refused {
			out.Consequences = append(out.Consequences, e.consequences()...)
		}
	}
	return out
}

// domainEdit is the effect of an edit of a configuration on one trust domain.
type domainEdit struct {
	configuration string
	before, after *Configured
	// old is the domain before. kept is the domain of that name after the edit if its signer and bundle are the same,
	// else nil.
	old, kept *Domain
	was, is   *assessor
	// stage before the edit.
	stage Stage
	now   time.Time
}

// broken returns the violation of an invariant, none if nothing is affected. An empty safeWay means to wait.
func broken(i Invariant, affected []string, message, safeWay string) []Violation {
	if len(affected) == 0 {
		return nil
	}
	return []Violation{{Invariant: i, Affected: affected, Message: message, SafeWay: safeWay}}
}

func newDomainEdit(configuration string, old *Domain, before, after *Configured, now time.Time) *domainEdit {
	e := &domainEdit{configuration: configuration, before: before, after: after, old: old, was: newAssessor(old, now), now: now}
	e.stage = e.was.stage()
	if d := after.domain(old.Name); d != nil && d.Signer.Name == old.Signer.Name && d.Bundle.Name == old.Bundle.Name {
		e.kept, e.is = d, newAssessor(d, now)
	}
	return e
}

func (c *Configured) domain(name string) *Domain {
	i := slices.IndexFunc(c.Domains, func(d *Domain) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return c.Domains[i]
}

func (e *domainEdit) inFlight() bool { return e.stage != Stable }

// wait is the safe way for what is allowed only at rest.
func (e *domainEdit) wait() string {
	abort := ""
	if e.was.abortable() {
		abort = fmt.Sprintf(", or abort the rotation with `kubectl certrotation abort %s`", e.old.Signer.Name)
	}
	return fmt.Sprintf("wait until `kubectl get certificaterotations` shows %s Stable%s, and then change the configuration; "+
		"who cannot show evidence is passed over with `kubectl certrotation waive %s`", e.old.Signer.Name, abort, e.old.Signer.Name)
}
