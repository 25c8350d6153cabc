// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

// patience is how long to wait for what must happen. That takes seconds, unless tests of other packages take
// precedence.
const patience = 3 * time.Minute

// honestRange is where the tests' servers listen: the only part of the loopback that the controller may dial.
const honestRange = "127.77.0.0/16"

// world is a control plane with certrotation in it.
type world struct {
	*installation.Installation

	admin kubernetes.Interface
	own   versioned.Interface
	// running is the path of the running program, "" for pods.
	running string
	// serve and controller return the URLs of their own ports, logs what they have logged.
	serve, controller func(*testing.T) []string
	logs              func(*testing.T) map[string]string
	// listens is an address of this machine that the controller may dial.
	listens    string
	audit      *auditLog
	namespaces int
}

// newWorld starts a control plane with an audit log, and the shipped certrotation as two processes.
func newWorld(t *testing.T) *world {
	t.Helper()
	audit, flags := newAuditLog(t)
	c := cluster.ForTest(t, cluster.WithControllerManager, func(cfg *cluster.Config) { cfg.APIServerFlags = flags })
	in, err := installation.Prepare(c, installation.Config{Progress: os.Stderr, AllowedCIDRs: honestRange})
	if err != nil {
		t.Fatal(err)
	}
	w := worldOf(t, in, audit)
	w.running, w.listens = in.Binary("certrotation"), "127.77.0.1"
	if err := w.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.serve = func(*testing.T) []string { return []string{w.APIURL()} }
	w.controller = func(*testing.T) []string { return []string{w.ControllerURL()} }
	w.logs = func(t *testing.T) map[string]string {
		return map[string]string{
			"the log of serve": sinceStart(t, w.Serve.LogFile()), "the log of controller": sinceStart(t, w.Controller.LogFile()),
		}
	}
	return w
}

func worldOf(t *testing.T, in *installation.Installation, audit *auditLog) *world {
	t.Helper()
	w := &world{Installation: in, audit: audit}
	var err error
	if w.admin, err = kubernetes.NewForConfig(in.Cluster.AdminConfig()); err != nil {
		t.Fatal(err)
	}
	if w.own, err = versioned.NewForConfig(in.Cluster.AdminConfig()); err != nil {
		t.Fatal(err)
	}
	return w
}

// use switches to another program.
func (w *world) use(t *testing.T, path string) {
	t.Helper()
	if w.running == path {
		return
	}
	if err := w.Exchange(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	w.running = path
}

// namespace makes a new namespace. A managed one is opted in by the cluster's owner, and guarded.
func (w *world) namespace(t *testing.T, managed bool, annotations ...string) string {
	t.Helper()
	w.namespaces++
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("tenant-%d", w.namespaces)}}
	if managed {
		ns.Labels = map[string]string{trust.LabelManaged: trust.ManagedValue, "certrotation.dev/guard": "enabled"}
	}
	for i := 0; i+1 < len(annotations); i += 2 {
		metav1.SetMetaDataAnnotation(&ns.ObjectMeta, annotations[i], annotations[i+1])
	}
	if _, err := w.admin.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// tenant is an account of a namespace.
type tenant struct {
	name   string
	config *rest.Config
	kube   kubernetes.Interface
	own    versioned.Interface
}

// tenant makes a ServiceAccount with these rights in its namespace, and a client with its token.
func (w *world) tenant(t *testing.T, namespace, name string, rights ...rbacv1.PolicyRule) *tenant {
	t.Helper()
	ctx := t.Context()
	if _, err := w.admin.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.admin.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rights}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	}
	if _, err := w.admin.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := w.admin.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := w.account(t, name, token.Status.Token)
	if len(rights) > 0 {
		out.await(t, namespace, &rights[0])
	}
	return out
}

// await returns when the authorizer of kube-apiserver, which watches roles and bindings, has seen those of an account.
func (k *tenant) await(t *testing.T, namespace string, right *rbacv1.PolicyRule) {
	t.Helper()
	asked := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: right.Verbs[0], Group: right.APIGroups[0],
		},
	}}
	if len(right.ResourceNames) > 0 {
		asked.Spec.ResourceAttributes.Name = right.ResourceNames[0]
	}
	asked.Spec.ResourceAttributes.Resource, asked.Spec.ResourceAttributes.Subresource, _ = strings.Cut(right.Resources[0], "/")
	eventually(t, "the rights of "+k.name, func(ctx context.Context) error {
		answer, err := k.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, asked, metav1.CreateOptions{})
		if err == nil && !answer.Status.Allowed {
			err = errors.New(answer.Status.Reason + answer.Status.EvaluationError)
		}
		return err
	})
}

func (w *world) account(t *testing.T, name, token string) *tenant {
	t.Helper()
	config := rest.AnonymousClientConfig(w.Cluster.AdminConfig())
	config.BearerToken, config.QPS = token, -1
	return newTenant(t, name, config)
}

func newTenant(t *testing.T, name string, config *rest.Config) *tenant {
	t.Helper()
	out := &tenant{name: name, config: config}
	var err error
	if out.kube, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if out.own, err = versioned.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return out
}

func may(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// configure is the right to write configurations only.
func configure() rbacv1.PolicyRule {
	return may("config.certrotation.dev", []string{"rotationconfigurations"}, "get", "list", "watch", "create", "update", "patch", "delete")
}

func eventually(t *testing.T, what string, check func(ctx context.Context) error) {
	t.Helper()
	if last := within(t, check); last != nil {
		t.Fatalf("%s: %v", what, last)
	}
}

// within returns nil as soon as a check passes, or the check's last error.
func within(t *testing.T, check func(ctx context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return cluster.Until(ctx, 100*time.Millisecond, patience, check)
}
