// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package year

import "time"

// count is what the controllers and the guard do in the year.
func (y *Year) count() *counters {
	c := &counters{of: map[*target]map[string][]time.Duration{}}
	for _, d := range y.domains {
		for i := range d.rotations {
			y.rotate(c, d, &d.rotations[i])
		}
		for i := range d.certificates[1:] {
			for _, is := range d.certificates[1+i].issues {
				if is.at > 0 {
					y.acts(c, is.at, "IssueLeaf", "secrets", "done")
				}
			}
		}
	}
	for _, v := range y.rollout.revisions {
		y.rollsOut(c, v)
	}
	y.stumbles(c)
	for _, t := range y.targets {
		if t.job == "serve" {
			reviews(c, t)
		}
	}
	c.sort()
	return c
}

// acts notes an action, and its write.
func (y *Year) acts(c *counters, at time.Duration, kind, resource, result string) {
	y.happens(c, at, "certrotation_actions_total", "kind", kind, "result", result)
	y.happens(c, at, "certrotation_writes_total", "verb", "update", "resource", resource, "result", result)
}

// rotate notes what is done in a rotation, besides the leaves.
func (y *Year) rotate(c *counters, d *domain, r *rotation) {
	y.acts(c, r.begin, "RecordRoster", "rotationrecords", "done")
	y.acts(c, r.begin+time.Second, "GenerateNext", "secrets", "done")
	y.acts(c, r.begin+time.Second, "PublishAnchors", "configmaps", "conflict")
	y.acts(c, r.begin+2*time.Second, "PublishAnchors", "configmaps", "done")
	y.acts(c, r.endOf("Reissuing"), "Promote", "secrets", "done")
	y.acts(c, r.endOf("Draining")+time.Second, "RetireAnchors", "configmaps", "done")
	y.acts(c, r.end()-time.Second, "DestroyPrevious", "secrets", "done")
	for _, at := range []time.Duration{r.begin + 3*time.Second, r.endOf("Draining") + 2*time.Second} {
		switch d.namespace {
		case system:
			y.happens(c, at, "certrotation_cabundle_writes_total", "resource", "apiservices", "result", "done")
		case "mtls-demo":
			y.happens(c, at, "certrotation_copy_writes_total", "resource", "configmaps", "result", "done")
		case "shop":
			y.happens(c, at+time.Minute, "certrotation_workload_restarts_total", "namespace", d.namespace, "kind", "Deployment")
			y.happens(c, at+time.Minute, "certrotation_workload_writes_total", "resource", "deployments", "result", "done")
		}
	}
}

// rollsOut notes what is done for a revision.
func (y *Year) rollsOut(c *counters, v revision) {
	y.acts(c, v.at-2*time.Second, "WriteAggregateConfigMap", "configmaps", "done")
	y.acts(c, v.at-time.Second, "WriteAggregateSecret", "secrets", "done")
	for i, node := range masters {
		at := v.installed(i) - 35*time.Second
		of := []string{"namespace", y.rollout.namespace, "rollout", y.rollout.name, "node", node}
		y.happens(c, at, "certrotation_rollout_installer_attempts_total", of...)
		if v.restarts {
			y.happens(c, at, "certrotation_rollout_restarts_initiated_total", of...)
		}
		y.happens(c, at, "certrotation_rollout_writes_total", "verb", "create", "resource", "pods", "result", "done")
	}
}

// stumbles notes errors that pass: etcd of the cluster elects a leader, kube-apiserver does not answer for seconds. Retries come
// fast at first, so each of these is a handful of errors, and some come twice within a quarter of an hour.
func (y *Year) stumbles(c *counters) {
	for _, s := range []struct {
		at     time.Duration
		kind   string
		errors int
	}{
		{when(151, 10) + time.Minute, "WriteAggregateSecret", 3},
		{when(186, 0) + 2*time.Minute, "PublishAnchors", 8}, {when(186, 0) + 6*time.Minute, "PublishAnchors", 9},
		{when(287, 10) + 15*time.Minute, "IssueLeaf", 8}, {when(287, 10) + 26*time.Minute, "IssueLeaf", 7},
		{when(287, 10) + 33*time.Minute, "IssueLeaf", 2},
	} {
		delay := 50 * time.Millisecond
		for range s.errors {
			y.acts(c, s.at, s.kind, "secrets", "error")
			s.at += delay
			delay *= 2
		}
	}
	y.happens(c, when(151, 10)+9*time.Minute, "certrotation_rollout_installer_failures_total",
		"namespace", y.rollout.namespace, "rollout", y.rollout.name, "node", masters[1])
}

// reviews notes what the guard refuses, and cannot look at, in a replica of serve: a few edits each week, and those that come
// while kube-apiserver restarts. What it allows is a rate.
func reviews(c *counters, t *target) {
	note := func(at time.Duration, resource, operation, decision, dryRun string) {
		c.note(t, at, key("certrotation_admission_reviews_total", "resource", resource, "operation", operation, "decision", decision, "dry_run", dryRun))
		result := "ok"
		if decision == "error" {
			result = "error"
		}
		c.note(t, at, key("certrotation_admission_live_checks_total", "result", result))
	}
	for d := range 365 {
		switch at := when(d, time.Duration(7+d%11)); d % 5 {
		case 0:
			note(at, "secrets", "delete", "deny", "false")
			note(at+40*time.Second, "secrets", "delete", "deny", "true")
		case 2:
			note(at, "configmaps", "update", "deny", "false")
		}
	}
	for month := range 12 {
		for _, later := range []time.Duration{4 * time.Second, 9 * time.Second, 15 * time.Second, 95 * time.Second} {
			note(when(19+30*month, 22)+later, "secrets", "update", "error", "false")
		}
	}
}
