// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package year

import "time"

// controllerSeries are those of the controllers. Those of domains come from the leader.
func (y *Year) controllerSeries() {
	for _, t := range y.controllers() {
		y.add(t, "leader_election_master_status", func(at time.Duration, _ life) (float64, bool) {
			return number(y.leads(t, at)), true
		}, "name", "certrotation-controller")
		for _, queue := range []string{"rotation", "staticpod", "workload", "copies", "cabundle", "cleaner"} {
			y.add(t, "workqueue_depth", always(0), "name", queue)
		}
		for _, d := range y.domains {
			y.domainSeries(t, d)
		}
		y.rolloutSeries(t)
		for _, namespace := range []string{system, "openshift-etcd", "mtls-demo", "shop"} {
			y.add(t, "certrotation_copies_held", y.leading(t, always(0)), "namespace", namespace)
		}
		for _, kind := range []string{"APIService", "ClusterTrustBundle", "CustomResourceDefinition", "MutatingWebhookConfiguration", "RotationConfiguration", "ValidatingWebhookConfiguration"} {
			y.add(t, "certrotation_cabundle_targets_held", y.leading(t, always(0)), "kind", kind)
		}
		y.add(t, "certrotation_cabundle_expiration_timestamp_seconds", y.leading(t, func(at time.Duration, _ life) (float64, bool) {
			return unix(y.domain("certrotation").certificates[0].at(at).expires), true
		}), "kind", "APIService", "name", "v1alpha1.certrotation.dev")
		y.add(t, "certrotation_workload_restarts_held", y.leading(t, always(0)), "namespace", "shop")
		y.addHistogram(t, "certrotation_action_duration_seconds", spread(exponential(0.001, 2, 15), 0.012, 0.5),
			y.leading(t, rate(1.0/3600)), "kind", "IssueLeaf")
	}
	y.addCounters(y.counters)
}

// leading is a value that only the leader shows.
func (y *Year) leading(t *target, v reading) reading {
	return func(at time.Duration, l life) (float64, bool) {
		if !y.leads(t, at) {
			return 0, false
		}
		return v(at, l)
	}
}

// domainSeries are those of a trust domain.
func (y *Year) domainSeries(t *target, d *domain) {
	show := func(name string, v func(state, time.Duration) float64, pairs ...string) {
		y.add(t, name, y.leading(t, func(at time.Duration, _ life) (float64, bool) { return v(d.stateAt(at), at), true }),
			append([]string{"namespace", d.namespace, "trust_domain", d.name}, pairs...)...)
	}
	for _, stage := range stages {
		show("certrotation_rotation_stage", func(s state, _ time.Duration) float64 { return number(s.stage == stage) }, "stage", stage)
		y.add(t, "certrotation_rotation_stage_age_seconds", y.leading(t, func(at time.Duration, _ life) (float64, bool) {
			s := d.stateAt(at)
			// Without leaves in Secrets nothing tells when the drain began.
			if s.since == 0 || d.namespace == system && stage == "Draining" {
				return 0, s.stage == stage
			}
			return (at - s.since).Seconds(), s.stage == stage
		}), "namespace", d.namespace, "trust_domain", d.name, "stage", stage)
	}
	show("certrotation_rotation_blockers", func(s state, _ time.Duration) float64 { return float64(s.blockers) })
	show("certrotation_rotation_blocked_seconds", func(s state, at time.Duration) float64 {
		// A leader knows of what it has seen itself.
		now, _ := y.term(at)
		return number(s.blockers > 0) * (at - max(s.blockedSince, now.from)).Seconds()
	})
	for _, name := range []string{"certrotation_object_problems", "certrotation_rotation_refused_writes"} {
		show(name, func(state, time.Duration) float64 { return 0 })
	}
	for slot, expires := range map[string]func(time.Duration) time.Duration{
		"active": func(at time.Duration) time.Duration { return d.certificates[0].at(at).expires },
		"next":   d.nextExpires,
	} {
		y.add(t, "certrotation_anchor_expiration_timestamp_seconds", y.leading(t, func(at time.Duration, _ life) (float64, bool) {
			return unix(expires(at)), expires(at) != 0
		}), "namespace", d.namespace, "trust_domain", d.name, "slot", slot)
	}
	for i := range d.certificates {
		y.certificateSeries(t, d, &d.certificates[i])
	}
}

// certificateSeries are those of one certificate.
func (y *Year) certificateSeries(t *target, d *domain, c *certificate) {
	of := []string{"namespace", d.namespace, "trust_domain", d.name}
	named := append(of[:4:4], "name", c.name, "role", c.role)
	expires := y.leading(t, func(at time.Duration, _ life) (float64, bool) { return unix(c.at(at).expires), true })
	y.add(t, "certrotation_certificate_expiration_timestamp_seconds", expires, named...)
	y.add(t, "certrotation_certificate_renewal_timestamp_seconds", y.leading(t, func(at time.Duration, _ life) (float64, bool) {
		due := c.at(at).due
		return unix(due), due != 0
	}), named...)
	if c.role != signer {
		return
	}
	y.add(t, "certrotation_signer_expiration_timestamp_seconds", expires, of...)
	if name := map[string]string{"etcd-signer": "signer-ca", "etcd-metric-signer": "metrics-signer-ca"}[c.name]; name != "" {
		y.add(t, "openshift_etcd_operator_signer_expiration_days", y.leading(t, func(at time.Duration, _ life) (float64, bool) {
			return (c.at(at).expires - at).Hours() / 24, true
		}), "namespace", d.namespace, "name", name)
	}
}

// rolloutSeries are those of the rollout, and of the etcd that it restarts.
func (y *Year) rolloutSeries(t *target) {
	r := y.rollout
	show := func(name string, v func(at time.Duration) (float64, bool), pairs ...string) {
		y.add(t, "certrotation_rollout_"+name, y.leading(t, func(at time.Duration, _ life) (float64, bool) { return v(at) }),
			append([]string{"namespace", r.namespace, "rollout", r.name}, pairs...)...)
	}
	show("latest_revision", func(at time.Duration) (float64, bool) { return float64(r.latest(at)), true })
	for i, node := range masters {
		show("current_revision", func(at time.Duration) (float64, bool) { n, _ := r.current(i, at); return float64(n), true }, "node", node)
		show("pending_seconds", func(at time.Duration) (float64, bool) { _, p := r.current(i, at); return p.Seconds(), true }, "node", node)
	}
	for _, reason := range []string{"InstallerPodPending", "StaticPodPending"} {
		show("blockers", func(at time.Duration) (float64, bool) { now, _ := r.waits(at); return 1, now == reason }, "reason", reason)
		show("blocked_seconds", func(at time.Duration) (float64, bool) {
			now, since := r.waits(at)
			return (at - since).Seconds(), now == reason
		}, "reason", reason)
	}
	for _, condition := range []string{"StaticPodsAvailable", "NodeInstallerProgressing", "NodeInstallerDegraded", "StaticPodsDegraded"} {
		show("condition", func(at time.Duration) (float64, bool) {
			reason, _ := r.waits(at)
			return number(condition == "StaticPodsAvailable" || condition == "NodeInstallerProgressing" && reason != ""), true
		}, "condition", condition)
	}
	y.add(t, "certrotation_quorum_voters", y.leading(t, always(float64(len(masters)))), "namespace", r.namespace)
	y.add(t, "certrotation_quorum_healthy_voters", y.leading(t, func(at time.Duration, _ life) (float64, bool) {
		return float64(r.healthy(at)), true
	}), "namespace", r.namespace)
	y.addHistogram(t, "certrotation_quorum_check_duration_seconds", spread(exponential(0.005, 2, 12), 0.03, 0.64), y.leading(t, rate(1.0/60)), "namespace", r.namespace)
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// unix is a moment in seconds since 1970.
func unix(at time.Duration) float64 { return float64(Begin.Add(at).Unix()) }
