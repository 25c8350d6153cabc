// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/apifake"
)

// TestCleanupKeeps: after a rotation the former password is deleted, unless it is needed. The plan names the
// reason.
func TestCleanupKeeps(t *testing.T) {
	t.Parallel()
	pod := func(change func(*corev1.Pod, string)) func(*world, string) {
		return func(w *world, former string) {
			o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "web-0"}, Spec: corev1.PodSpec{Containers: make([]corev1.Container, 1)}}
			change(o, former)
			if err := w.api.Put(o); err != nil {
				w.Fatalf("%v", err)
			}
		}
	}
	const inUse = "it is in use by Pod/web-0"
	for name, test := range map[string]struct {
		before func(*world, string)
		run    func(*world, *Instance)
		// want is the reason to keep it, "" if it is deleted.
		want string
	}{
		"nobody needs it": {},
		"a volume": {before: pod(func(p *corev1.Pod, secret string) {
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}}
		}), want: inUse},
		"a projected volume": {before: pod(func(p *corev1.Pod, secret string) {
			from := corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}}
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{from}}}}}
		}), want: inUse},
		"a variable": {before: pod(func(p *corev1.Pod, secret string) {
			from := &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}}
			p.Spec.Containers[0].Env = []corev1.EnvVar{{ValueFrom: from}}
		}), want: inUse},
		"all variables": {before: pod(func(p *corev1.Pod, secret string) {
			from := corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}}
			p.Spec.InitContainers = []corev1.Container{{EnvFrom: []corev1.EnvFromSource{from}}}
		}), want: inUse},
		"a debugger": {before: pod(func(p *corev1.Pod, secret string) {
			from := corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}}
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{EnvFrom: []corev1.EnvFromSource{from}}}}
		}), want: inUse},
		"a registry": {before: pod(func(p *corev1.Pod, secret string) {
			p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: secret}}
		}), want: inUse},
		"a pod that has ended": {before: pod(func(p *corev1.Pod, secret string) {
			p.Spec.ImagePullSecrets, p.Status.Phase = []corev1.LocalObjectReference{{Name: secret}}, corev1.PodSucceeded
		})},
		"a configuration of ours": {before: func(w *world, former string) {
			secret := w.stored()[former]
			secret.Annotations = map[string]string{trust.AnnotationConfiguration: "etcd"}
			w.put(secret)
		}, want: "RotationConfiguration/etcd uses it"},
		"another one could not be generated": {run: func(w *world, i *Instance) {
			if _, err := i.Generate(w.ctx, leaf("x", kinds.ServerCert), SignedByCA("other")); err == nil {
				w.Fatalf("it was generated")
			}
			// This name was asked for, so its former edition may be deleted.
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			former := w.generate(w.instance(), password("user")).Name
			if test.before != nil {
				test.before(w, former)
			}
			w.times["user"] = begin
			i := w.instance()
			w.generate(i, password("user"))
			if test.run != nil {
				test.run(w, i)
			}
			w.cleanup(i)
			step := w.step(i.Plan(), former)
			if _, there := w.stored()[former]; there != (test.want != "") {
				t.Errorf("it is there: %t", there)
			}
			if test.want != "" && (step.Action != edition.Keep || step.Reason != test.want) || test.want == "" && step.Action != edition.Delete {
				t.Errorf("the plan says %s, want %q", step.String(), test.want)
			}
		})
	}
}

// TestIncompleteRuns: a Secret that a run did not name stays if the run may be incomplete.
func TestIncompleteRuns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		run     func(*world, *Instance)
		deleted bool
		why     string
	}{
		"nothing was generated": {run: func(*world, *Instance) {}, why: "nothing was generated"},
		"something failed": {run: func(w *world, i *Instance) {
			w.generate(i, password("user"))
			_, _ = i.Generate(w.ctx, leaf("x", kinds.ServerCert), SignedByCA("other"))
		}, why: "could not generate x"},
		"something is being generated": {run: func(w *world, i *Instance) {
			w.generate(i, password("user"))
			i.begin("y")
		}, why: "1 secrets are being generated"},
		"something failed, and then did not": {run: func(w *world, i *Instance) {
			w.generate(i, password("user"))
			_, _ = i.Generate(w.ctx, leaf("x", kinds.ServerCert), SignedByCA("ca"))
			w.generate(i, authority("ca"))
			w.generate(i, leaf("x", kinds.ServerCert), SignedByCA("ca"))
		}, deleted: true},
		"all was generated": {run: func(w *world, i *Instance) { w.generate(i, password("user")) }, deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			gone := w.generate(w.instance(), password("component")).Name
			i := w.instance()
			test.run(w, i)
			w.cleanup(i)
			if _, there := w.stored()[gone]; there == test.deleted {
				t.Errorf("it is there: %t", there)
			}
			if step := w.step(i.Plan(), gone); !strings.Contains(step.Reason, test.why) {
				t.Errorf("the plan says %s, want %q", step.String(), test.why)
			}
		})
	}
}

// TestSignersOfWhatStays: a pod still mounts a leaf of an authority that left the bundle. The authority's Secret
// stays as long as the leaf.
func TestSignersOfWhatStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reconcile := func(options ...GenerateOption) (*Instance, string, string) {
		i := w.instance()
		ca := w.generate(i, authority("ca"), append([]GenerateOption{Rotate(KeepOld)}, options...)...)
		server := w.generate(i, leaf("server", kinds.ServerCert), SignedByCA("ca"))
		w.cleanup(i)
		return i, ca.Name, server.Name
	}
	_, formerCA, formerServer := reconcile()
	w.mount("server-0", formerServer)
	w.times["ca"] = begin
	reconcile()
	i, _, _ := reconcile(IgnoreOldSecrets())
	if step := w.step(i.Plan(), formerCA); !strings.Contains(step.Reason, "it has signed "+space+"/"+formerServer) {
		t.Errorf("the plan says %s", step.String())
	}
	if err := w.api.Drop(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "server-0"}}); err != nil {
		t.Fatal(err)
	}
	reconcile(IgnoreOldSecrets())
	if names := w.names(); slices.Contains(names, formerCA) || slices.Contains(names, formerServer) || len(names) != 3 {
		t.Errorf("there are %q, want an authority, its bundle and a leaf", names)
	}
}

// TestDeletesWhatItHasSeen: a Secret that was changed or recreated since the read stays.
func TestDeletesWhatItHasSeen(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*corev1.Secret){
		"changed":   func(s *corev1.Secret) { s.Labels["x"] = "y" },
		"made anew": func(s *corev1.Secret) { s.UID = "another" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			gone := w.generate(w.instance(), password("component"))
			i := w.instance()
			w.generate(i, password("user"))
			change(gone)
			w.put(gone)
			w.cleanup(i)
			if _, there := w.stored()[gone.Name]; !there {
				t.Error("it was deleted")
			}
			if step := w.step(i.Plan(), gone.Name); step.Action != edition.Keep {
				t.Errorf("the plan says %s", step.String())
			}
		})
	}
}

// TestCleanupWithoutPods: without the right to list pods, nothing is deleted.
func TestCleanupWithoutPods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone := w.generate(w.instance(), password("component"))
	i := w.instance()
	w.generate(i, password("user"))
	w.api.ReadFault = func(r *apifake.Request) apifake.Fault {
		if r.Resource.Resource == "pods" {
			return apifake.Forbidden
		}
		return apifake.NoFault
	}
	if err := i.Cleanup(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("%v, want a refusal", err)
	}
	if _, there := w.stored()[gone.Name]; !there {
		t.Error("it was deleted")
	}
	w.api.ReadFault = nil
	w.cleanup(i)
	if _, there := w.stored()[gone.Name]; there {
		t.Error("the next cleanup has left it")
	}
}

// offered is a foreign Secret that offers its password to a name.
func offered(name, to string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name, Labels: map[string]string{edition.LabelUseDataForName: to}},
		Data:       plainData["observability-ingress"],
	}
}

// TestEveryRequestFails makes each request of a rotation fail once with each fault, or kills the process at it. A
// retry ends in the same state as without a fault.
func TestEveryRequestFails(t *testing.T) {
	t.Parallel()
	// From the rotation on, Secrets get a label and the consent to a configuration.
	reconcile := func(w *world, options ...GenerateOption) error {
		of, labels := []Option{WithNamespaces(space), WithSecretNamesToTimes(w.times)}, map[string]string{}
		if len(w.times) > 0 {
			of, labels = append(of, WithConfiguration("web")), map[string]string{"rotated": "true"}
		}
		i, err := New(w.ctx, w.clock, w.api.Client.CoreV1(), identity, of...)
		if err != nil {
			return err
		}
		var failed []error
		for _, one := range []func() (*corev1.Secret, error){
			func() (*corev1.Secret, error) {
				return i.Generate(w.ctx, authority("ca"), append([]GenerateOption{Rotate(KeepOld)}, options...)...)
			},
			func() (*corev1.Secret, error) {
				return i.Generate(w.ctx, leaf("server", kinds.ServerCert), SignedByCA("ca"))
			},
			func() (*corev1.Secret, error) {
				return i.Generate(w.ctx, leaf("client", kinds.ClientCert), SignedByCA("ca"), Persist())
			},
			func() (*corev1.Secret, error) {
				return i.Generate(w.ctx, &kinds.VPNTLSAuthConfig{Name: "vpn"}, WithLabels(labels))
			},
			func() (*corev1.Secret, error) { return i.Generate(w.ctx, password("user"), WithLabels(labels)) },
		} {
			_, err := one()
			failed = append(failed, err)
		}
		// Clean up after a failure too, as a controller may do.
		return errors.Join(append(failed, i.Cleanup(w.ctx))...)
	}
	// shape returns the number of Secrets of each name, label, consent and password.
	shape := func(w *world) string {
		counts := map[string]int{}
		for _, secret := range w.stored() {
			counts[fmt.Sprint(secret.Labels["name"], secret.Labels["rotated"], secret.Annotations, string(secret.Data["password"]))]++
		}
		return fmt.Sprint(counts)
	}
	// scenario is two reconciliations and a rotation. It retries failed ones.
	scenario := func(t *testing.T, arm func(*world)) *world {
		w := newWorld(t)
		w.put(offered("legacy", "user"))
		arm(w)
		for phase := range 3 {
			var options []GenerateOption
			if phase > 0 {
				w.times["ca"] = begin.Add(time.Minute)
			}
			if phase == 2 {
				options = append(options, IgnoreOldSecrets())
			}
			for try := 0; ; try++ {
				err := reconcile(w, options...)
				if err == nil {
					break
				}
				if w.api.Revive(); try > 3 {
					t.Fatalf("it does not end: %v", err)
				}
			}
		}
		return w
	}
	clean := scenario(t, func(*world) {})
	writes, reads, patches := clean.api.Writes(), 0, 0
	for _, action := range clean.api.Actions() {
		switch action.GetVerb() {
		case "get", "list":
			reads++
		case "patch":
			patches++
		}
	}
	if patches == 0 {
		t.Fatal("no Secret is changed")
	}
	want := shape(clean)
	check := func(t *testing.T, arm func(*world)) {
		w := scenario(t, arm)
		// This run deletes what a conflict left over.
		if err := reconcile(w, IgnoreOldSecrets()); err != nil {
			t.Error(err)
		}
		if got := shape(w); got != want {
			t.Errorf("there are %s, want %s", got, want)
		}
		before := w.api.Writes()
		if err := reconcile(w, IgnoreOldSecrets()); err != nil || w.api.Writes() != before {
			t.Errorf("once more: %d writes, %v", w.api.Writes()-before, err)
		}
	}
	for number := 1; number <= writes; number++ {
		for _, fault := range append(apifake.WriteFaults(), apifake.AlreadyExists) {
			t.Run(fmt.Sprintf("write %d, %s", number, fault), func(t *testing.T) {
				t.Parallel()
				check(t, func(w *world) {
					w.api.Fault = func(r *apifake.Request) apifake.Fault {
						if r.Number == number && (fault != apifake.AlreadyExists || r.Verb == "create") {
							return fault
						}
						return apifake.NoFault
					}
				})
			})
		}
	}
	for number := 1; number <= reads; number++ {
		for _, fault := range []apifake.Fault{apifake.FailedRead, apifake.Forbidden, apifake.Unavailable} {
			t.Run(fmt.Sprintf("read %d, %s", number, fault), func(t *testing.T) {
				t.Parallel()
				check(t, func(w *world) {
					count := 0
					w.api.ReadFault = func(*apifake.Request) apifake.Fault {
						if count++; count == number {
							return fault
						}
						return apifake.NoFault
					}
				})
			})
		}
	}
}
