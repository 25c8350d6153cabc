// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/pki"
)

// workloadName is the name of the workload, its account, its party and its leaf.
const workloadName = "web"

// workload is a namespace whose only relying party is the pods of one workload. Each pod presents the leaf, and
// verifies the leaf of the others. Nothing runs: the test writes the status of the pods as kubelet would.
type workload struct {
	b    *bench
	d    *domain
	pods []replica
	// reports is a client without a credential: each request carries the token of a pod.
	reports rest.Interface
}

// replica is a pod with the token that kubelet would mount.
type replica struct {
	name, uid, token string
	startedAt        metav1.Time
}

func (b *bench) newWorkload(namespace string) (*workload, error) {
	config := rest.AnonymousClientConfig(b.cluster.AdminConfig())
	config.QPS = -1
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &workload{b: b, d: newDomain(namespace, pki.ECDSAP256, 0), reports: client.CertrotationV1alpha1().RESTClient()}, nil
}

// create makes the namespace, the account of the workload with its right to report, and the configuration.
func (w *workload) create(ctx context.Context) error {
	if err := w.b.createNamespace(ctx, w.d); err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: workloadName}}
	if _, err := w.b.kube.CoreV1().ServiceAccounts(w.d.namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the account of the workload: %w", err)
	}
	role := &rbacv1.Role{ObjectMeta: account.ObjectMeta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"certrotation.dev"}, Resources: []string{"certificaterotations/acknowledge"},
		ResourceNames: []string{signerName}, Verbs: []string{"create"},
	}}}
	if _, err := w.b.kube.RbacV1().Roles(w.d.namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the role of the workload: %w", err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: account.ObjectMeta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.d.namespace, Name: account.Name}},
	}
	if _, err := w.b.kube.RbacV1().RoleBindings(w.d.namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("bind the role of the workload: %w", err)
	}
	if _, err := w.b.rotations.ConfigV1alpha1().RotationConfigurations(w.d.namespace).Create(ctx, w.configuration(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create rotationconfiguration %s/%s: %w", w.d.namespace, configName, err)
	}
	return allReady(ctx, w.b.rotations.CertrotationV1alpha1().CertificateRotations(w.d.namespace), 2)
}

func (w *workload) configuration() *configv1alpha1.RotationConfiguration {
	out := w.d.configuration()
	declared := &out.Spec.TrustDomains[0]
	declared.Leaves = []configv1alpha1.Leaf{{
		SecretName: workloadName, DNSNames: []string{workloadName + "." + w.d.namespace + ".svc"}, Policy: declared.Signer.Policy,
		Usages: []configv1alpha1.Usage{configv1alpha1.ServerAuth, configv1alpha1.ClientAuth},
	}}
	declared.RelyingParties = []configv1alpha1.RelyingParty{{
		Name: workloadName, Presents: []string{workloadName},
		Pods:      &configv1alpha1.PodMembers{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"app": workloadName}}},
		Reporters: &configv1alpha1.Reporters{ServiceAccounts: []string{workloadName}},
		Evidence:  configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceAcknowledgement},
	}}
	return out
}

// scale makes n running pods.
func (w *workload) scale(ctx context.Context, n int) error {
	w.pods = make([]replica, n)
	group, parallel := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range w.pods {
		group.Go(func() (err error) {
			w.pods[i], err = w.run(parallel, fmt.Sprintf("%s-%05d", workloadName, i))
			return err
		})
	}
	return group.Wait()
}

// run makes a pod on a node that does not exist, marks its container as started, and requests a token bound to the
// pod.
func (w *workload) run(ctx context.Context, name string) (replica, error) {
	pods := w.b.kube.CoreV1().Pods(w.d.namespace)
	pod, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": workloadName}},
		Spec: corev1.PodSpec{
			NodeName: "node-1", ServiceAccountName: workloadName, Containers: []corev1.Container{{Name: "program", Image: "example.com/program"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return replica{}, fmt.Errorf("create pod %s: %w", name, err)
	}
	started := metav1.NewTime(time.Now().Truncate(time.Second))
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "program", ContainerID: "bench://" + string(pod.UID), Ready: true, Started: new(true),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
	}}
	if _, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return replica{}, fmt.Errorf("start pod %s: %w", name, err)
	}
	token, err := w.b.kube.CoreV1().ServiceAccounts(w.d.namespace).CreateToken(ctx, workloadName, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return replica{}, fmt.Errorf("get a token of pod %s: %w", name, err)
	}
	return replica{name: name, uid: string(pod.UID), token: token.Status.Token, startedAt: started}, nil
}
