// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/display"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
)

// observeStatus reads the stored status. An unreadable status is replaced.
func (l *look) observeStatus(ctx context.Context) error {
	name := rollout.StatusName(l.name)
	stored, exists, err := l.configMaps().Get(ctx, name)
	if err != nil {
		return fmt.Errorf("read configmap %s: %w", name, err)
	}
	if !exists {
		return nil
	}
	if stored.Labels[rollout.LabelStatus] != l.name && !trust.Consents(stored.Annotations, l.rollout.Configuration) {
		return fmt.Errorf("configmap %s is not the status of this rollout: rename it or remove it", name)
	}
	l.stored = stored
	record, err := rollout.ReadStatus(stored, l.name)
	if err != nil {
		klog.FromContext(ctx).Info("The status is not readable and is made anew", "configMap", klog.KObj(stored), "reason", err.Error())
		return nil
	}
	l.state.Record = record
	return nil
}

// report writes the status if it differs from the stored one, and emits events for what is new. It runs before any
// action, so the next pass knows what was started on a node, even if nothing else shows it.
func (l *look) report(ctx context.Context, status *rollout.Status) error {
	text, err := rollout.Encode(status)
	if err != nil {
		return err
	}
	l.disappeared()
	wanted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: l.namespace, Annotations: map[string]string{trust.AnnotationConfiguration: l.rollout.Configuration},
	}}
	if l.stored != nil {
		wanted = l.stored.DeepCopy()
	}
	if rollout.PutStatus(wanted, l.name, text) {
		if err := l.writeStatus(ctx, wanted); err != nil {
			return err
		}
		for _, e := range rollout.Events(l.name, l.state.Record, status) {
			l.emit(e.Warning, e.Reason, e.Action, e.Note)
		}
		l.metrics.changed(l.id(), l.state.Record, status)
	}
	l.memory.with(l.id(), func(r *remembered) { r.status = status })
	return nil
}

func (l *look) writeStatus(ctx context.Context, wanted *corev1.ConfigMap) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	write := l.configMaps().Create
	if l.stored != nil {
		write = l.configMaps().Update
	}
	_, err := write(ctx, wanted)
	return err
}

// disappeared reports installers of the last pass that are gone before their end was seen.
func (l *look) disappeared() {
	if l.state.Record == nil {
		return
	}
	there := map[string]bool{}
	for i := range l.state.Installers {
		there[l.state.Installers[i].Name] = true
	}
	for i := range l.state.Record.Nodes {
		n := &l.state.Record.Nodes[i]
		gone := ""
		l.memory.with(l.id(), func(r *remembered) {
			if name := r.installers[n.Name]; name != "" && !there[name] {
				gone = name
				delete(r.installers, n.Name)
			}
		})
		if gone != "" && n.TargetRevision > 0 && !l.installed(n.TargetRevision, n) {
			l.emit(true, rollout.EventInstallerPodDisappeared, gone,
				fmt.Sprintf("the installer pod %s of revision %d on node %s is gone before it was seen to end", gone, n.TargetRevision, n.Name))
		}
	}
}

func (l *look) installed(number int, n *rollout.NodeStatus) bool {
	for i := range l.state.Revisions {
		if r := &l.state.Revisions[i]; r.Number == number {
			return r.Installed[n.Name] == n.UID
		}
	}
	return false
}

// emit puts an event on the ConfigMap whose content is rolled out, where people look; a BundleStatus stands for it
// too. action separates events of the same reason, which a recorder would otherwise merge.
func (l *look) emit(warning bool, reason, action, note string) {
	ref := &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: l.namespace, Name: l.rollout.Config.PodConfigMapName}
	if agg := l.rollout.Aggregate; agg != nil {
		ref.Name, ref.UID = agg.ConfigMap.Name, types.UID(agg.ConfigMap.UID)
	}
	kind := corev1.EventTypeNormal
	if warning {
		kind = corev1.EventTypeWarning
	}
	l.recorder.Eventf(ref, nil, kind, reason, display.Action(action), "%s", display.Note(note))
}
