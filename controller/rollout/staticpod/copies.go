// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/revision"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
)

// makeRevision makes a revision of the content of this look: first the ConfigMap that stands for it, then the copies, and
// then it is complete. Each step is taken only if it was not before, so that it can be cut off anywhere: the next look
// goes on, or begins the same number anew if the sources have changed meanwhile.
func (l *look) makeRevision(ctx context.Context, action *rollout.Action) error {
	if l.content == nil {
		return errStale
	}
	l.memory.with(l.id(), func(r *remembered) { r.copies, r.keys = 0, nil })
	status, err := l.beginRevision(ctx, action)
	if err != nil {
		return err
	}
	if err := l.copyConfigMaps(ctx, status, action.Revision); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.content.Secrets)) {
		if err := l.copySecret(ctx, status, l.copyMeta(status, name, action.Revision), l.content.Secrets[name]); err != nil {
			return err
		}
	}
	return l.completeRevision(ctx, status)
}

func (l *look) beginRevision(ctx context.Context, action *rollout.Action) (*corev1.ConfigMap, error) {
	configMaps, name := l.client.CoreV1().ConfigMaps(l.namespace), revision.StatusName(action.Revision)
	wanted := revision.Status{
		Number: action.Revision, Rollout: l.name, Reason: action.Reason,
		ContentHash: l.content.ContentHash(), RestartHash: l.content.RestartHash(),
	}
	live, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		l.emit(false, rollout.EventStartingNewRevision, name, fmt.Sprintf("new revision %d: %s", action.Revision, action.Reason))
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: l.namespace, Annotations: map[string]string{trust.AnnotationConfiguration: l.rollout.Configuration},
		}}
		wanted.Put(made)
		live, err = configMaps.Create(ctx, made, metav1.CreateOptions{FieldManager: FieldManager})
		l.metrics.wrote("create", "configmaps", err)
		return live, err
	}
	if err != nil {
		return nil, fmt.Errorf("read configmap %s: %w", name, err)
	}
	begun, ok := revision.ReadStatus(live)
	same := begun.ContentHash == wanted.ContentHash && begun.RestartHash == wanted.RestartHash
	switch {
	case ok && begun.Rollout != l.name:
		return nil, fmt.Errorf("configmap %s is not of this rollout: there can be one rollout in a namespace; remove it if nothing needs it", name)
	case !ok, begun.Ready && !same:
		return nil, errStale
	case same:
		return live, nil
	}
	wanted.Put(live)
	live, err = configMaps.Update(ctx, live, metav1.UpdateOptions{FieldManager: FieldManager})
	l.metrics.wrote("update", "configmaps", err)
	return live, err
}

func (l *look) completeRevision(ctx context.Context, status *corev1.ConfigMap) error {
	made, ok := revision.ReadStatus(status)
	if !ok {
		return errStale
	}
	if made.Ready {
		return nil
	}
	status, made.Ready = status.DeepCopy(), true
	made.Put(status)
	_, err := l.client.CoreV1().ConfigMaps(l.namespace).Update(ctx, status, metav1.UpdateOptions{FieldManager: FieldManager})
	l.metrics.wrote("update", "configmaps", err)
	if err != nil {
		return err
	}
	l.emit(false, rollout.EventRevisionTriggered, status.Name, fmt.Sprintf("new revision %d triggered by %q", made.Number, made.Reason))
	return nil
}

// copyMeta is the metadata of a copy. It goes when the ConfigMap of its revision goes.
func (l *look) copyMeta(status *corev1.ConfigMap, name string, number int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: l.namespace, Name: revision.CopyName(name, number),
		Annotations:     map[string]string{trust.AnnotationConfiguration: l.rollout.Configuration},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: status.Name, UID: status.UID}},
	}
}

// errForeign says that something else has the name of a copy.
var errForeign = errors.New("it exists and is not a copy of this revision: rename it or remove it")

// outdated says whether a copy has to be made anew. One that is no copy is never touched.
func (l *look) outdated(live *metav1.ObjectMeta, status *corev1.ConfigMap, immutable *bool, same bool) (bool, error) {
	if !l.isCopy(live, status.Name) {
		return false, errForeign
	}
	for _, owner := range live.OwnerReferences {
		// The garbage collector is about to delete what belonged to a ConfigMap that is gone.
		same = same && owner.UID == status.UID
	}
	return !same || !ptr.Deref(immutable, false), nil
}

// isCopy says whether an object belongs to a revision: by its owner, or, as certrotation render makes them without one, by
// the label of the rollout.
func (l *look) isCopy(live *metav1.ObjectMeta, status string) bool {
	for _, owner := range live.OwnerReferences {
		if owner.Kind == "ConfigMap" && owner.Name == status {
			return true
		}
	}
	return len(live.OwnerReferences) == 0 && live.Labels[revision.LabelRollout] == l.name
}

func (l *look) copyConfigMaps(ctx context.Context, status *corev1.ConfigMap, number int) error {
	pod := l.rollout.Config.PodConfigMapName
	all := maps.Clone(l.content.ConfigMaps)
	all[pod] = map[string][]byte{configv1alpha1.PodKey: l.content.PodTemplate}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := l.copyConfigMap(ctx, status, name, number, all[name]); err != nil {
			return fmt.Errorf("copy configmap %s: %w", name, err)
		}
	}
	return nil
}

func (l *look) copyConfigMap(ctx context.Context, status *corev1.ConfigMap, name string, number int, data map[string][]byte) error {
	configMaps, wanted := l.client.CoreV1().ConfigMaps(l.namespace), configMapOf(l.copyMeta(status, name, number), data)
	live, err := configMaps.Get(ctx, wanted.Name, metav1.GetOptions{})
	if err == nil {
		anew, err := l.outdated(&live.ObjectMeta, status, live.Immutable, sameData(dataOf(live), data))
		if err != nil || !anew {
			return err
		}
		err = configMaps.Delete(ctx, live.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &live.UID}})
		l.metrics.wrote("delete", "configmaps", err)
		if err != nil {
			return err
		}
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	_, err = configMaps.Create(ctx, wanted, metav1.CreateOptions{FieldManager: FieldManager})
	l.metrics.wrote("create", "configmaps", err)
	return err
}

// configMapOf puts what is text into data, as it was written.
func configMapOf(meta metav1.ObjectMeta, data map[string][]byte) *corev1.ConfigMap {
	out := &corev1.ConfigMap{ObjectMeta: meta, Immutable: new(true), Data: map[string]string{}}
	for key, value := range data {
		if isText(value) {
			out.Data[key] = string(value)
			continue
		}
		if out.BinaryData == nil {
			out.BinaryData = map[string][]byte{}
		}
		out.BinaryData[key] = value
	}
	return out
}

func (l *look) copySecret(ctx context.Context, status *corev1.ConfigMap, meta metav1.ObjectMeta, data map[string][]byte) error {
	secrets := l.client.CoreV1().Secrets(l.namespace)
	wanted := &corev1.Secret{ObjectMeta: meta, Immutable: new(true), Type: corev1.SecretTypeOpaque, Data: data}
	live, err := secrets.Get(ctx, wanted.Name, metav1.GetOptions{})
	if err == nil {
		anew, err := l.outdated(&live.ObjectMeta, status, live.Immutable, sameData(live.Data, wanted.Data))
		if err != nil || !anew {
			return err
		}
		err = secrets.Delete(ctx, live.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &live.UID}})
		l.metrics.wrote("delete", "secrets", err)
		if err != nil {
			return err
		}
	} else if !apierrors.IsNotFound(err) {
		return fmt.Errorf("copy secret %s: %w", meta.Name, err)
	}
	_, err = secrets.Create(ctx, wanted, metav1.CreateOptions{FieldManager: FieldManager})
	l.metrics.wrote("create", "secrets", err)
	return err
}
