// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Configured is what the configurations of a namespace make of one snapshot of the cluster.
type Configured struct {
	Domains    []*Domain
	Aggregates []*Aggregate
	Carriers   []Carrier
}

func (c *Configured) domain(name string) *Domain {
	i := slices.IndexFunc(c.Domains, func(d *Domain) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return c.Domains[i]
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
		{name: "a rotation must keep its objects", gone: true, judge: (*domainEdit).objectsKept},
		{name: "a removed domain must be released", gone: true, atRest: true, judge: (*domainEdit).released},
		{name: "a removed aggregate must be released", gone: true, atRest: true, judge: (*domainEdit).aggregatesReleased},
		{name: "live leaves must not be removed", atRest: true, judge: (*domainEdit).leavesKept},
		{name: "leaves must not be released in flight", judge: (*domainEdit).leavesHeld},
		{name: "members must not be released in flight", judge: (*domainEdit).membersHeld},
		{name: "members must not be removed", judge: (*domainEdit).membersKept},
		{name: "evidence must stay of the same processes", judge: (*domainEdit).evidenceKept},
		{name: "no member may be exempted without proof", judge: (*domainEdit).wordsRefused},
		{name: "verifiers must not be dropped in flight", judge: (*domainEdit).verifiersKept},
		{name: "waits must not get shorter", judge: (*domainEdit).timesKept},
		{name: "copies and rollouts must stay", judge: (*domainEdit).carriersKept},
		{name: "an edit must not unblock a step", judge: (*domainEdit).stepsRefused},
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
	was, is   *decision
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
	e := &domainEdit{configuration: configuration, before: before, after: after, old: old, was: decide(old, now), now: now}
	e.stage = e.was.stage
	if d := after.domain(old.Name); d != nil && d.Signer.Name == old.Signer.Name && d.Bundle.Name == old.Bundle.Name {
		e.kept, e.is = d, decide(d, now)
	}
	return e
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

// letGo says which part of a domain the configuration no longer manages, "" if it keeps it all.
func (e *domainEdit) letGo() string {
	if e.kept != nil {
		return ""
	}
	switch d := e.after.domain(e.old.Name); {
	case d == nil:
		return "it would no longer be configured"
	case d.Signer.Name != e.old.Signer.Name:
		return fmt.Sprintf("its signer would no longer be %s", secret(e.old.Signer.Name))
	default:
		return fmt.Sprintf("its bundle would no longer be %s", e.old.Bundle.Ref())
	}
}

// objectsKept refuses to leave a rotation behind that nothing ends.
func (e *domainEdit) objectsKept() []Violation {
	what := e.letGo()
	if what == "" || e.old.givenUp() {
		return nil
	}
	return []Violation{{
		Invariant: OneRotation, Affected: []string{secret(e.old.Signer.Name)},
		Message: "the rotation would never end: " + what,
	}}
}

// givenUp reports whether all existing objects of the domain were released, or none exists. Without objects that
// certrotation may touch there is no rotation.
func (d *Domain) givenUp() bool {
	objects := []*Object{&d.Signer.Object, &d.Bundle.Object}
	for i := range d.Leaves {
		objects = append(objects, &d.Leaves[i].Object)
	}
	return !slices.ContainsFunc(objects, func(o *Object) bool { return o.Present && !o.Unadopted() })
}

// released refuses to give up a domain, its signer or its bundle while the objects left behind consent to this
// configuration. Unclaimed objects are not guarded, and live leaves depend on them.
func (e *domainEdit) released() []Violation {
	what := e.letGo()
	if what == "" || e.inFlight() {
		return nil
	}
	after := e.after.domain(e.old.Name)
	var held []string
	if after == nil || after.Signer.Name != e.old.Signer.Name {
		held = e.consenting(held, secret(e.old.Signer.Name), &e.old.Signer.Object)
	}
	if after == nil || after.Bundle.Name != e.old.Bundle.Name {
		held = e.consenting(held, e.old.Bundle.Ref(), &e.old.Bundle.Object)
	}
	if after == nil {
		for i := range e.old.Leaves {
			held = e.consenting(held, secret(e.old.Leaves[i].Name), &e.old.Leaves[i].Object)
		}
	}
	return e.unreleased(what, held)
}

// aggregatesReleased does the same for the aggregates that collect from the domain.
func (e *domainEdit) aggregatesReleased() []Violation {
	if e.inFlight() {
		return nil
	}
	var held []string
	for _, a := range e.before.Aggregates {
		if !a.Collects(e.old) {
			continue
		}
		if !slices.ContainsFunc(e.after.Aggregates, func(b *Aggregate) bool { return b.Secret.Name == a.Secret.Name }) {
			held = e.consenting(held, secret(a.Secret.Name), &a.Secret)
		}
		if !slices.ContainsFunc(e.after.Aggregates, func(b *Aggregate) bool { return b.ConfigMap.Name == a.ConfigMap.Name }) {
			held = e.consenting(held, configMap(a.ConfigMap.Name), &a.ConfigMap)
		}
	}
	return e.unreleased("what it collects would no longer be aggregated", held)
}

func (e *domainEdit) consenting(held []string, name string, o *Object) []string {
	if o.Present && o.Annotations[AnnotationConfiguration] == e.configuration {
		return append(held, name)
	}
	return held
}

func (e *domainEdit) unreleased(what string, held []string) []Violation {
	return broken(ReleasedByName, held, what+", and nothing would guard the objects that belong to it still",
		"release them by name with `kubectl certrotation release`, and then change the configuration")
}

// leavesKept refuses that a live leaf stops counting because something else claims its name. A leaf that the
// configuration no longer names still counts.
func (e *domainEdit) leavesKept() []Violation {
	lost := e.lost(func(leaf string) bool { return !slices.Contains(e.kept.Released, leaf) })
	return broken(AnchorInUse, lost,
		"a live leaf would count no more, as something else claims its name: its anchor would leave the bundle while it lives",
		"name it in releasedLeaves of this trust domain when no process presents it any more, and then claim it")
}

// leavesHeld refuses to release a live leaf in flight: a release is a statement, not evidence.
func (e *domainEdit) leavesHeld() []Violation {
	said := e.lost(func(leaf string) bool {
		return slices.Contains(e.kept.Released, leaf) && !slices.Contains(e.old.Released, leaf)
	})
	return broken(AnchorInUse, said,
		"a live leaf would count no more in the middle of a rotation, without evidence that no process presents it",
		"name it again so that it is reissued, delete its Secret, or release it when the stage is Stable")
}

// membersHeld refuses to release a member in flight: the rotation must go on waiting for it.
func (e *domainEdit) membersHeld() []Violation {
	var said []string
	for p, m := range each(e.was.parties) {
		name := p.Name + "/" + m.Name
		if p.recorded && slices.Contains(e.kept.ReleasedMembers, name) && !slices.Contains(e.old.ReleasedMembers, name) {
			said = append(said, name)
		}
	}
	return broken(TrustBeforeUse, sortedSet(said),
		"a member would be released in the middle of a rotation that waits for it",
		"end its wait with `kubectl certrotation waive`, and release it when the stage is Stable")
}

// verifiersKept refuses that a TLS library need not accept any more what the rotation will use.
func (e *domainEdit) verifiersKept() []Violation {
	if e.kept.Verifiers.Includes(e.old.Verifiers) {
		return nil
	}
	return broken(TrustBeforeUse, []string{secret(e.old.Signer.Name)},
		"certificates that a TLS library refuses would be used in the middle of a rotation that began with it among the verifiers", "")
}

// lost returns the Secrets of possibly live leaves that would not count after the edit, of those that meant selects.
func (e *domainEdit) lost(meant func(leaf string) bool) []string {
	var out []string
	for i := range e.old.Leaves {
		l := &e.old.Leaves[i]
		if e.is.leaves[l.Name] == nil && meant(l.Name) && (e.was.live(l) || l.Present && l.Certificate == nil) {
			out = append(out, secret(l.Name))
		}
	}
	return out
}

// Collects reports whether the aggregate contains anything of the domain.
func (a *Aggregate) Collects(d *Domain) bool {
	return slices.ContainsFunc(a.Bundles, func(b AggregatedBundle) bool { return b.Bundle == d.Bundle.Name }) ||
		slices.ContainsFunc(d.Leaves, func(l Leaf) bool { return slices.Contains(a.Leaves, l.Name) })
}

// otherWays name what a person can do so that a member counts no more.
func otherWays(releases []string) string {
	if len(releases) == 0 {
		return ", or waived"
	}
	return ", waived, or released by " + strings.Join(releases, " and ")
}

// consequences are the effects of an allowed edit: what still counts, and what is no longer managed.
func (e *domainEdit) consequences() []string {
	if what := e.letGo(); what != "" {
		return []string{fmt.Sprintf("trust domain %s: %s; nothing renews what it leaves behind", e.old.Name, what)}
	}
	var out []string
	for i := range e.old.Parties {
		p := &e.old.Parties[i]
		counts := slices.ContainsFunc(e.is.parties, func(is *Party) bool { return is.Name == p.Name })
		if len(p.Members) > 0 && !counts {
			out = append(out, fmt.Sprintf("trust domain %s: relying party %s counts no more: no rotation waits for its members", e.kept.Name, p.Name))
		}
	}
	former := e.was.unconfigured()
	left := e.is.unconfigured()
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if _, was := former[name]; !was {
			out = append(out, fmt.Sprintf("trust domain %s: %s still counts until it is seen to be gone%s", e.kept.Name, name, otherWays(left[name])))
		}
	}
	for i := range e.old.Leaves {
		was := &e.old.Leaves[i]
		is := e.is.leaves[was.Name]
		switch {
		case !was.Present:
		case slices.Contains(e.kept.Released, was.Name) && !slices.Contains(e.old.Released, was.Name):
			out = append(out, fmt.Sprintf("Secret/%s is released: processes that present it are refused once its CA is retired", was.Name))
		case is != nil && is.Unnamed && !was.Unnamed:
			out = append(out, fmt.Sprintf("Secret/%s counts until it is deleted or named in releasedLeaves, and is not renewed", was.Name))
		}
	}
	return out
}
