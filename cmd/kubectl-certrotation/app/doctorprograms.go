// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/pki"
)

// leaderLease is the Lease, and the Deployment, of the controller.
const leaderLease = "certrotation-controller"

// checkPrograms checks the Deployments and the leader. Programs may also run outside of Deployments.
func (e *examination) checkPrograms(ctx context.Context) {
	images := map[string]bool{}
	for _, name := range []string{"certrotation-serve", leaderLease} {
		deployment, err := e.core.AppsV1().Deployments(e.system).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			e.add(groupPrograms, warningCheck, fmt.Sprintf("there is no Deployment %s in namespace %s", name, e.system), howToInstall)
			continue
		}
		if err != nil {
			e.unread(groupPrograms, "get", "deployments."+appsv1.GroupName, "namespace "+e.system, err)
			break
		}
		e.checkDeployment(deployment)
		for i := range deployment.Spec.Template.Spec.Containers {
			images[deployment.Spec.Template.Spec.Containers[i].Image] = true
		}
	}
	if len(images) > 1 {
		e.add(groupPrograms, warningCheck,
			"the Deployments have different images, as in half an upgrade",
			"kubectl get deployments -n "+e.system+" -o wide")
	}
	e.checkLeader(ctx)
}

func (e *examination) checkDeployment(d *appsv1.Deployment) {
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	available := d.Status.AvailableReplicas
	text := fmt.Sprintf("%s has %d of %d replicas", d.Name, available, wanted)
	look := fmt.Sprintf("kubectl describe pods -n %s -l app.kubernetes.io/component=%s", e.system, strings.TrimPrefix(d.Name, "certrotation-"))
	switch {
	case wanted == 0:
		e.add(groupPrograms, failedCheck,
			d.Name+" is scaled to zero",
			fmt.Sprintf("kubectl scale -n %s deployment/%s --replicas=1", e.system, d.Name))
	case available == 0:
		e.add(groupPrograms, failedCheck, text, look)
	case available < wanted:
		e.add(groupPrograms, warningCheck, text, look)
	default:
		e.passed(groupPrograms, text)
	}
}

func (e *examination) checkLeader(ctx context.Context) {
	lease, err := e.core.CoordinationV1().Leases(e.system).Get(ctx, leaderLease, metav1.GetOptions{})
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		e.unread(groupPrograms, "get", "leases."+coordinationv1.GroupName, "namespace "+e.system, err)
		return
	case err != nil || lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil:
		e.add(groupPrograms, warningCheck, fmt.Sprintf("no controller has ever held the Lease %s/%s", e.system, leaderLease),
			"Does it run, with --leader-elect? kubectl logs -n "+e.system+" deployment/"+leaderLease)
		return
	}
	age := e.now.Sub(lease.Spec.RenewTime.Time)
	if over := age - time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second; over > toleratedSkew {
		e.add(groupPrograms, failedCheck,
			"no controller leads: the Lease was renewed "+duration.HumanDuration(age)+" ago, so nothing is rotated or renewed",
			"kubectl logs -n "+e.system+" deployment/"+leaderLease)
		return
	}
	if -age > toleratedSkew {
		e.add(groupClocks, warningCheck, "the clock of the controller is "+duration.HumanDuration(-age)+" ahead of the API server's",
			"Correct the clock of its node: kubectl get pods -n "+e.system+" -o wide")
	}
	e.passed(groupPrograms, "a controller leads")
}

// checkOwnCA checks that kube-apiserver trusts the CA of certrotation's own servers.
func (e *examination) checkOwnCA(ctx context.Context, service *unstructured.Unstructured) {
	if service == nil {
		return
	}
	look := "kubectl get apiservice " + apiService + " -o yaml"
	if insecure, _, _ := unstructured.NestedBool(service.Object, "spec", "insecureSkipTLSVerify"); insecure {
		e.add(groupOwnCA, warningCheck, "kube-apiserver does not verify the API of certrotation: insecureSkipTLSVerify is set", look)
		return
	}
	encoded, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle")
	caBundle, _ := base64.StdEncoding.DecodeString(encoded) // The API server takes nothing else.
	anchors, problem := usableAnchors(caBundle, e.now)
	if problem != "" {
		e.add(groupOwnCA, failedCheck, "kube-apiserver cannot verify the API of certrotation: "+problem, look)
		return
	}
	namespace, bundle, ok := strings.Cut(service.GetAnnotations()[injection.Annotation], "/")
	if !ok {
		e.passed(groupOwnCA, "the caBundle of "+apiService+" is valid, and not kept by certrotation")
		return
	}
	e.checkOwnSigner(ctx, &target{client: e.client, namespace: namespace, name: bundle}, anchors)
}

// checkOwnSigner compares the anchors with the active CA of a bundle.
func (e *examination) checkOwnSigner(ctx context.Context, of *target, anchors []*pki.Certificate) {
	bundle, err := of.bundles().Get(ctx, of.name, metav1.GetOptions{})
	if err != nil {
		e.unread(groupOwnCA, "get", "bundlestatuses."+v1alpha1.GroupName, "namespace "+of.namespace, err)
		return
	}
	signer, err := of.rotations().Get(ctx, bundle.Spec.Signer, metav1.GetOptions{})
	if err != nil {
		e.unread(groupOwnCA, "get", "certificaterotations."+v1alpha1.GroupName, "namespace "+of.namespace, err)
		return
	}
	of.name = signer.Name
	active := signer.Status.Certificate
	switch {
	case active == nil:
		e.add(groupOwnCA, failedCheck,
			fmt.Sprintf("certrotation's own CA Secret/%s: %s", of, health(signer.Status.Conditions).text()),
			of.command("tree"))
	case !slices.ContainsFunc(anchors, func(ca *pki.Certificate) bool { return string(ca.Fingerprint) == active.Fingerprint }):
		e.add(groupOwnCA, failedCheck, "the caBundle of "+apiService+" lacks certrotation's own CA "+short(active.Fingerprint),
			"Does a controller run? kubectl get events -n "+of.namespace+"; "+of.command("tree"))
	case !e.overdueOrEnding(groupOwnCA, fmt.Sprintf("certrotation's own CA Secret/%s", of), active, signerSoon, of):
		ends, _ := expiry(e.now, active.NotAfter)
		e.passed(groupOwnCA, fmt.Sprintf("Secret/%s %s, and kube-apiserver trusts it", of, ends))
	}
}
