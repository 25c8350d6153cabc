// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// template is what the pods of a workload are made of, if its program reads its files only at start. It is never
// modified.
type template struct {
	// content are the annotations that name what a pod starts with.
	content map[string]string
	// gated says that start gates make a pod wait for that content.
	gated bool
}

// file is an object that a program reads at start.
type file struct {
	kind trust.ObjectKind
	name string
}

func (f file) object() string { return string(f.kind) + "/" + f.name }

func (f file) annotation() string { return trust.ContentAnnotation(f.kind, f.name) }

// readAtStart returns the files of a party whose evidence is what its pods start with, nil for another party.
func readAtStart(domains *inventory.Namespace, party string) []file {
	var out []file
	for _, d := range domains.Domains {
		p := d.Party(party)
		if p == nil || p.Kind != trust.WorkloadRollout {
			continue
		}
		if !p.VerifiesNothing {
			out = append(out, file{trust.ConfigMapKind, d.Bundle.Name})
		}
		for _, leaf := range p.Presents {
			out = append(out, file{trust.SecretKind, leaf})
		}
	}
	return out
}

// object returns a pod as the API server has it. A pod of a workload that reloads its files names no content.
func (p *process) object(of trust.WorkloadKind) *corev1.Pod {
	o, made := p.pod, p.pod.template
	if made == nil {
		made = &template{}
	}
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: p.member, Namespace: namespace, UID: types.UID(o.uid), Labels: o.workload.labels(), Annotations: made.content,
		OwnerReferences: o.workload.owner(of),
	}}
	if o.terminating {
		out.DeletionTimestamp = &metav1.Time{Time: p.startedAt}
	}
	if !o.unschedulable {
		out.Spec.NodeName = "node"
	}
	out.Status.Phase = corev1.PodRunning
	switch {
	case o.ended:
		out.Status.Phase = corev1.PodFailed
	case o.starts == 0:
		out.Status.Phase = corev1.PodPending
	case p.up:
		out.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	made.fill(&out.Spec, o.workload.files)
	return out
}

// fill gives a pod a volume and, if the template has start gates, an init container for each file.
func (t *template) fill(spec *corev1.PodSpec, files []file) {
	main := corev1.Container{Name: "main"}
	for _, f := range files {
		volume := corev1.Volume{Name: f.name}
		if f.kind == trust.ConfigMapKind {
			volume.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: f.name}}
		} else {
			volume.Secret = &corev1.SecretVolumeSource{SecretName: f.name}
		}
		mounts := []corev1.VolumeMount{{Name: f.name, MountPath: "/" + f.name}}
		spec.Volumes, main.VolumeMounts = append(spec.Volumes, volume), append(main.VolumeMounts, mounts...)
		if t.gated {
			spec.InitContainers = append(spec.InitContainers, corev1.Container{
				Name: "wait-" + f.name, Args: []string{"wait", "--for-content=$(HASH)", "/" + f.name}, VolumeMounts: mounts,
				Env: []corev1.EnvVar{{Name: "HASH", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
					FieldPath: "metadata.annotations['" + f.annotation() + "']",
				}}}},
			})
		}
	}
	spec.Containers = []corev1.Container{main}
}

// with returns the template with other annotations. Those with the value "" are removed.
func (t *template) with(content map[string]string) *template {
	out := &template{content: copied(t.content), gated: t.gated}
	maps.Copy(out.content, content)
	maps.DeleteFunc(out.content, func(_, hash string) bool { return hash == "" })
	return out
}

// hashes returns the content hashes of all objects, by Kind/name.
func hashes(s *inventory.Sources) map[string]string {
	out := map[string]string{}
	for name, cm := range s.ConfigMaps {
		out[string(trust.ConfigMapKind)+"/"+name] = cm.ContentHash
	}
	for name, secret := range s.Secrets {
		out[string(trust.SecretKind)+"/"+name] = secret.ContentHash
	}
	return out
}

// superseded returns the earlier content hashes of all objects, by Kind/name.
func superseded(s *inventory.Sources) map[string][]string {
	out := map[string][]string{}
	for name, cm := range s.ConfigMaps {
		out[string(trust.ConfigMapKind)+"/"+name] = cm.Superseded
	}
	for name, secret := range s.Secrets {
		out[string(trust.SecretKind)+"/"+name] = secret.Superseded
	}
	return out
}

// opens reports whether a publication has the content of a kind for which the start gates of a pod wait, or a later
// one.
func (p *publication) opens(kind trust.ObjectKind, o *pod) bool {
	return !slices.ContainsFunc(o.workload.files, func(f file) bool {
		shown := contenthash.Content{Hash: p.hashes[f.object()], Superseded: p.superseded[f.object()]}
		return f.kind == kind && (o.template.content[f.annotation()] == "" || !shown.Reaches(o.template.content[f.annotation()]))
	})
}

// shows reports whether a publication has the content of a kind that the template of a pod names.
func (p *publication) shows(kind trust.ObjectKind, o *pod) bool {
	return !slices.ContainsFunc(o.workload.files, func(f file) bool {
		return f.kind == kind && (o.template.content[f.annotation()] == "" || p.hashes[f.object()] != o.template.content[f.annotation()])
	})
}
