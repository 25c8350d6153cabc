// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/yaml"

	"certrotation.dev/controller/rollout/workload"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/cluster"
)

const (
	restarted      = "restarts"
	restartRole    = "certrotation-rollout-workloads"
	restartContent = "configmap.content.certrotation.dev/web-bundle"
)

// restartStage is a Deployment of pods that do not reload, on a real control plane. The test acts as kubelet, and
// decides what is due.
type restartStage struct {
	*plane

	// complete is set when the rule learns that the workload is complete.
	complete atomic.Bool
	told     *events.FakeRecorder
	restarts *workload.Controller
}

// TestRestartOfADeployment: without the right to restart nothing restarts, and the record names the command that
// grants it. With the right the controller writes the template once. It follows the rollout until each pod has the
// new template, even if the Deployment is scaled meanwhile.
func TestRestartOfADeployment(t *testing.T) {
	t.Parallel()
	s := newRestartStage(t, barePlane.use(t))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.restarts.Run(ctx)
	}()
	defer func() {
		stop()
		<-done
	}()
	s.waitsForTheRight(t)
	s.bind(t)
	eventually(t, "the template is written", func(ctx context.Context) error {
		s.restarts.NamespaceChanged(restarted)
		if d, err := s.deployment(ctx); err != nil || d.Spec.Template.Annotations[restartContent] != "newest" {
			return errors.Join(err, errors.New("it has the former content"))
		}
		return nil
	})
	s.scale(t, 4)
	eventually(t, "the restart is done", func(ctx context.Context) error {
		if err := s.kubelets(ctx); err != nil {
			return err
		}
		if !s.complete.Load() {
			return errors.New("the workload is not complete")
		}
		return nil
	})
	s.ended(t)
}

func newRestartStage(t *testing.T, p *plane) *restartStage {
	t.Helper()
	s := &restartStage{plane: p, told: events.NewFakeRecorder(100)}
	makeNamespace(t, s.client, restarted)
	configure(t, s.own, restarted, podsConfiguration)
	view := startView(t, p, restarted)
	s.deploy(t)

	config, err := p.UserConfig("restarter")
	if err != nil {
		t.Fatal(err)
	}
	restricted, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	records, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s.permit(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "restarter"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"config.certrotation.dev"}, Resources: []string{"rotationconfigurations"}, Verbs: []string{"get"}},
		{APIGroups: []string{"config.certrotation.dev"}, Resources: []string{"rotationrecords"}, Verbs: []string{"get", "create", "update", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
	}})
	web := trust.Workload{Kind: trust.Deployment, Name: "client"}
	s.restarts, err = workload.New(workload.Config{
		Client: restricted, Own: records.ConfigV1alpha1(), Inventory: view, Members: struct{ workload.Members }{}, Enabled: true, Recorder: s.told,
		Due: func(d *trust.Domain, _ time.Time, known map[trust.Workload]trust.Progress) []trust.Restart {
			if known[web].Complete {
				s.complete.Store(true)
			}
			if d.Name != "web" || s.complete.Load() {
				return nil
			}
			return []trust.Restart{{Party: "clients", Workload: web, Content: map[string]string{restartContent: "newest"}}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *restartStage) permit(t *testing.T, role *rbacv1.Role) {
	t.Helper()
	if _, err := s.client.RbacV1().Roles(restarted).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.give(t, "Role", role.Name)
}

func (s *restartStage) give(t *testing.T, kind, name string) {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "restarter"}},
	}
	if _, err := s.client.RbacV1().RoleBindings(restarted).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// bind grants the right as the owner of a namespace does, with the role of the manifests.
func (s *restartStage) bind(t *testing.T) {
	t.Helper()
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "manifests", "components", "workloads", "rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(text, role); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.give(t, "ClusterRole", restartRole)
}

// deploy creates the Deployment and waits until its pods run with the former content.
func (s *restartStage) deploy(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "client"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "client", Annotations: map[string]string{trust.AnnotationConfiguration: "web"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{restartContent: "former"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "program", Image: "example.com/program"}}},
			},
		},
	}
	if _, err := s.client.AppsV1().Deployments(restarted).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pods run", func(ctx context.Context) error {
		if err := s.kubelets(ctx); err != nil {
			return err
		}
		if d, err := s.deployment(ctx); err != nil || d.Status.AvailableReplicas != 3 {
			return fmt.Errorf("%+v: %w", d.Status, errors.Join(err, errors.New("not all are available")))
		}
		return nil
	})
}

func (s *restartStage) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	return s.client.AppsV1().Deployments(restarted).Get(ctx, "client", metav1.GetOptions{})
}

// kubelets marks each pod as ready.
func (s *restartStage) kubelets(ctx context.Context) error {
	pods, err := s.client.CoreV1().Pods(restarted).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase == corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		if _, err := s.client.CoreV1().Pods(restarted).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *restartStage) scale(t *testing.T, replicas int) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := s.client.AppsV1().Deployments(restarted).Patch(t.Context(), "client", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// held returns what the records say about a refused restart.
func (s *restartStage) held(ctx context.Context) (string, error) {
	records, err := s.own.ConfigV1alpha1().RotationRecords(restarted).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for i := range records.Items {
		if refusal := records.Items[i].Spec.Refusal; refusal != nil && refusal.Verb == trust.VerbRestart {
			return refusal.Object + " " + refusal.Answer, nil
		}
	}
	return "", nil
}

func (s *restartStage) waitsForTheRight(t *testing.T) {
	t.Helper()
	eventually(t, "the record names the command", func(ctx context.Context) error {
		s.restarts.NamespaceChanged(restarted)
		if held, err := s.held(ctx); err != nil || !strings.HasPrefix(held, "Deployment/client ") || !strings.Contains(held, "kubectl create rolebinding "+restartRole+" -n "+restarted) {
			return fmt.Errorf("held %q: %w", held, errors.Join(err, errors.New("it does not")))
		}
		return nil
	})
}

// ended checks what a restart leaves behind: two templates, one event of each kind, no record.
func (s *restartStage) ended(t *testing.T) {
	t.Helper()
	sets, err := s.client.AppsV1().ReplicaSets(restarted).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(sets.Items) != 2 {
		t.Errorf("%d templates, want the former and the newest", len(sets.Items))
	}
	d, err := s.deployment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.Generation != 3 || d.Status.UpdatedReplicas != 4 || d.Status.AvailableReplicas != 4 {
		t.Errorf("generation %d, status %+v; want one change of the template and one of the replicas", d.Generation, d.Status)
	}
	eventually(t, "the record is withdrawn", func(ctx context.Context) error {
		held, err := s.held(ctx)
		if err == nil && held != "" {
			err = errors.New(held)
		}
		return err
	})
	count := map[string]int{}
	for len(s.told.Events) > 0 {
		count[strings.Fields(<-s.told.Events)[1]]++
	}
	if count[workload.EventRestarted] != 1 || count[workload.EventRestartHeld] != 1 {
		t.Errorf("events %v", count)
	}
}
