// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// toleratedSkew is how far two clocks may differ. The comparison itself is off by seconds.
const toleratedSkew = time.Minute

// checkClocks compares the clock of this machine with the API server's, and repeats what certrotation says of others.
func (e *examination) checkClocks(rotations []v1alpha1.CertificateRotation) {
	good := true
	if e.skew.Abs() > toleratedSkew {
		good = false
		side := "ahead of"
		if e.skew < 0 {
			side = "behind"
		}
		e.add(groupClocks, warningCheck, fmt.Sprintf("the clock of this machine is %s %s the API server's, whose time is used here",
			duration.HumanDuration(e.skew.Abs()), side), "Compare both with a third clock, and correct the wrong one: date -u")
	}
	for i := range rotations {
		r := &rotations[i]
		message := clockProblem(r.Status.Conditions)
		if message == "" {
			continue
		}
		good = false
		of := &target{namespace: r.Namespace, name: r.Name}
		e.add(groupClocks, failedCheck, fmt.Sprintf("%s %s: %s", r.Spec.Role, of, message), "Correct the clock; then: "+of.command("tree"))
	}
	if good {
		e.passed(groupClocks, "this machine and the API server agree; nothing waits because of a clock")
	}
}

// permission is a right that a command needs.
type permission struct {
	verb, group, resource, subresource string
	// reads is set if doctor, tree and status need it.
	reads bool
}

func permissions() []permission {
	rotations := func(verb, subresource string, reads bool) permission {
		return permission{verb: verb, group: v1alpha1.GroupName, resource: "certificaterotations", subresource: subresource, reads: reads}
	}
	return []permission{
		rotations("list", "", true), rotations("watch", "", true),
		{verb: "list", group: v1alpha1.GroupName, resource: "bundlestatuses", reads: true},
		{verb: "list", group: configv1alpha1.GroupName, resource: "rotationconfigurations", reads: true},
		{verb: "list", group: configv1alpha1.GroupName, resource: "rotationrecords"},
		rotations("create", verbRotate, false), rotations("create", verbAbort, false),
		rotations("create", verbWaive, false), rotations("create", verbAcknowledge, false),
	}
}

func (p *permission) String() string {
	if p.subresource != "" {
		return p.subresource
	}
	return p.verb + " " + p.resource
}

// checkRights says what the caller may do. Only a missing right to read is a warning.
func (e *examination) checkRights(ctx context.Context) {
	may := []string{"read"}
	var lacks, missing []string
	for _, p := range permissions() {
		allowed, err := e.allowed(ctx, authorizationv1.ResourceAttributes{
			Namespace: e.namespace, Verb: p.verb, Group: p.group, Resource: p.resource, Subresource: p.subresource,
		})
		switch {
		case err != nil:
			e.unread(groupRights, "create", "selfsubjectaccessreviews."+authorizationv1.GroupName, "", err)
			return
		case p.reads && !allowed:
			missing = append(missing, p.String())
		case p.reads:
		case allowed:
			may = append(may, p.String())
		default:
			lacks = append(lacks, p.String())
		}
	}
	look := "kubectl auth can-i --list"
	if e.namespace != metav1.NamespaceAll {
		look += " -n " + e.namespace
	}
	if len(missing) > 0 {
		e.add(groupRights, warningCheck, fmt.Sprintf("in %s you may not %s", e.target, strings.Join(missing, ", ")),
			"Ask for the ClusterRole certrotation-viewer; what you may do: "+look)
		return
	}
	text := fmt.Sprintf("in %s you may %s", e.target, strings.Join(may, ", "))
	if len(lacks) > 0 {
		text += "; not " + strings.Join(lacks, ", ")
	}
	e.passed(groupRights, text)
}
