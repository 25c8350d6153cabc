// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// A certificate expires soon if less than this is left, as in the alerts, and less than a tenth of its validity:
// its renewal should have happened by then.
const (
	signerSoon = 14 * 24 * time.Hour
	leafSoon   = 3 * 24 * time.Hour
)

// checkCertificates checks the end and the health of each certificate and anchor.
func (e *examination) checkCertificates(rotations []v1alpha1.CertificateRotation, bundles []v1alpha1.BundleStatus) {
	judged := map[string]bool{}
	good := true
	for i := range rotations {
		r := &rotations[i]
		soon := leafSoon
		if r.Spec.Role == v1alpha1.RoleSigner {
			soon = signerSoon
		}
		of := &target{namespace: r.Namespace, name: r.Name}
		if c := r.Status.Certificate; c != nil {
			judged[r.Namespace+"/"+c.Fingerprint] = true
			if e.overdueOrEnding(groupCertificates, fmt.Sprintf("%s %s", r.Spec.Role, of), c, soon, of) {
				good = false
				continue
			}
		}
		good = e.healthy(fmt.Sprintf("%s %s", r.Spec.Role, of), r.Status.Conditions, of) && good
	}
	anchors := 0
	for i := range bundles {
		b := &bundles[i]
		of := &target{namespace: b.Namespace, name: b.Spec.Signer}
		good = e.healthy(fmt.Sprintf("Bundle %s/%s", b.Namespace, b.Name), b.Status.Conditions, of) && good
		for k := range b.Status.Anchors {
			anchors++
			if a := &b.Status.Anchors[k]; !judged[b.Namespace+"/"+a.Fingerprint] {
				good = e.anchorLasts(b, a, of) && good
			}
		}
	}
	if good {
		e.passed(groupCertificates,
			fmt.Sprintf("%s and %s in %s are valid", plural(len(rotations), "certificate"), plural(anchors, "trust anchor"), e.target))
	}
}

// overdueOrEnding adds a check and reports true if a certificate has expired or expires soon.
func (e *examination) overdueOrEnding(group, what string, c *v1alpha1.Certificate, soon time.Duration, of *target) bool {
	ends, over := expiry(e.now, c.NotAfter)
	switch {
	case over:
		e.add(group, failedCheck, what+" "+ends, of.command("tree"))
	case e.endsWithin(c, soon):
		e.add(group, warningCheck, what+" "+ends+", and is not renewed", of.command("tree"))
	default:
		return false
	}
	return true
}

func (e *examination) endsWithin(c *v1alpha1.Certificate, soon time.Duration) bool {
	return c.NotAfter.Sub(e.now) < min(soon, c.NotAfter.Sub(c.NotBefore.Time)/10)
}

// anchorLasts checks an anchor that is not the active CA of a signer. Leaves may still need it.
func (e *examination) anchorLasts(b *v1alpha1.BundleStatus, a *v1alpha1.Anchor, of *target) bool {
	ends, over := expiry(e.now, a.NotAfter)
	what := fmt.Sprintf("Trust anchor %s of Bundle %s/%s %s, and is needed by %s", a.Subject, b.Namespace, b.Name, ends, leavesOf(a.Leaves))
	switch {
	case over && a.Leaves > 0:
		e.add(groupCertificates, failedCheck, what, of.command("tree"))
	case over, a.Leaves > 0 && e.endsWithin(&a.Certificate, signerSoon):
		e.add(groupCertificates, warningCheck, what, of.command("tree"))
	default:
		return true
	}
	return false
}

// healthy checks the conditions Ready and Degraded. A problem of a clock belongs to the clocks.
func (e *examination) healthy(what string, conditions []metav1.Condition, of *target) bool {
	h := health(conditions)
	if h.Ready && h.Message == "" || clockProblem(conditions) != "" {
		return true
	}
	e.add(groupCertificates, failedCheck, what+": "+h.text(), of.command("tree"))
	return false
}

// clockProblem is the message of a condition about a clock, "" if there is none.
func clockProblem(conditions []metav1.Condition) string {
	for i := range conditions {
		if conditions[i].Reason == string(trust.ReasonClockSkewed) {
			return conditions[i].Message
		}
	}
	return ""
}

// checkRotations names the trust domains that wait, and their first blocker.
func (e *examination) checkRotations(tree *Tree) {
	inFlight, waiting := 0, 0
	for i := range tree.Domains {
		d := &tree.Domains[i]
		if d.Stage != v1alpha1.StageStable {
			inFlight++
		}
		late, over := deadline(e.now, d.StageDeadline)
		if len(d.Blockers) == 0 && !over {
			continue
		}
		waiting++
		text := fmt.Sprintf("trust domain %s/%s is %s", d.Namespace, d.Name, d.Stage)
		if d.StageSince != nil {
			text += " for " + duration.HumanDuration(e.now.Sub(d.StageSince.Time))
		}
		result := warningCheck
		if over {
			result = failedCheck
			text += ", " + late
		}
		if len(d.Blockers) > 0 {
			text += ", and " + waits(d.Blockers) + age(&d.Blockers[0], e.now)
		}
		of := &target{namespace: d.Namespace, name: d.Signer.Name}
		e.add(groupRotations, result, text, of.command("tree"))
	}
	if waiting == 0 {
		e.passed(groupRotations, fmt.Sprintf("%s, %d in flight, none waits", plural(len(tree.Domains), "trust domain"), inFlight))
	}
}

func (e *examination) checkConfigurations(ctx context.Context) {
	list, err := e.client.ConfigV1alpha1().RotationConfigurations(e.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		e.unread(groupConfigurations, "list", "rotationconfigurations."+configv1alpha1.GroupName, e.target.String(), err)
		return
	}
	good := true
	for i := range list.Items {
		good = e.checkConfiguration(&list.Items[i]) && good
	}
	if good {
		e.passed(groupConfigurations, fmt.Sprintf("%s in %s", plural(len(list.Items), "configuration"), e.target))
	}
}

// checkConfiguration leaves a configuration that only waits to checkRotations.
func (e *examination) checkConfiguration(c *configv1alpha1.RotationConfiguration) bool {
	what := fmt.Sprintf("RotationConfiguration %s/%s", c.Namespace, c.Name)
	accepted := meta.FindStatusCondition(c.Status.Conditions, configv1alpha1.ConditionAccepted)
	ready := meta.FindStatusCondition(c.Status.Conditions, configv1alpha1.ConditionReady)
	look := fmt.Sprintf("kubectl describe rotationconfiguration -n %s %s", c.Namespace, c.Name)
	switch {
	case accepted == nil || c.Status.ObservedGeneration < c.Generation:
		e.add(groupConfigurations, warningCheck, what+" was not yet read by a controller",
			"Is its namespace labelled certrotation.dev/managed=true? kubectl get namespace --show-labels "+c.Namespace)
	case accepted.Status != metav1.ConditionTrue:
		e.add(groupConfigurations, failedCheck, what+" has no effect: "+accepted.Message, look)
	case ready == nil || ready.Status == metav1.ConditionTrue || ready.Reason == v1alpha1.ConditionBlocked:
		return true
	case ready.Reason == string(trust.ReasonNotAdopted):
		e.add(groupConfigurations, warningCheck,
			what+": "+ready.Message,
			fmt.Sprintf("kubectl certrotation adopt -n %s %s --dry-run", c.Namespace, c.Name))
	default:
		e.add(groupConfigurations, failedCheck, what+": "+ready.Message, look)
	}
	return false
}
