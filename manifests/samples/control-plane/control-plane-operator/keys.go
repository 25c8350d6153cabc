// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/podcontent"
)

const (
	// labelComposed is on the Secrets that the operator makes of several keys.
	labelComposed = "control-plane.certrotation.dev/composed"
	composedName  = "kube-apiserver-keys"
	// Data keys of such a Secret.
	fileEncryption = "encryption.yaml"
	fileSigning    = "signing.key"
	fileVerifying  = "verifying.key"
)

// composeKeys makes the Secret with the keys of kube-apiserver in the order in which it uses them, and deletes those
// that no pod mounts. Its name follows from its content, like that of an edition.
func (o *operator) composeKeys(ctx context.Context, namespace string, made *generated) error {
	encryption, err := encryptionConfiguration(made.encrypts)
	if err != nil {
		return err
	}
	data := map[string][]byte{fileEncryption: encryption, fileSigning: made.signs[0].Data[kinds.DataKeyRSAPrivateKey]}
	for _, key := range made.signs {
		data[fileVerifying] = append(data[fileVerifying], key.Data[kinds.DataKeyRSAPrivateKey]...)
	}
	made.composed = composedName + "-" + edition.DataChecksum(data)[:8]
	immutable := true
	_, err = o.client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: made.composed, Labels: map[string]string{labelComposed: edition.True}}, Immutable: &immutable, Data: data,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("write the keys of kube-apiserver in %s: %w", namespace, err)
	}
	return o.collectKeys(ctx, namespace, made.composed)
}

func (o *operator) collectKeys(ctx context.Context, namespace, current string) error {
	list, err := o.client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{LabelSelector: labelComposed})
	if err != nil {
		return fmt.Errorf("list the keys of kube-apiserver in %s: %w", namespace, err)
	}
	if len(list.Items) < 2 {
		return nil
	}
	pods, err := o.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the pods of %s: %w", namespace, err)
	}
	used := []string{current}
	for i := range pods.Items {
		used = append(used, podcontent.Secrets(&pods.Items[i].Spec)...)
	}
	for i := range list.Items {
		if name := list.Items[i].Name; !slices.Contains(used, name) {
			if err := o.client.CoreV1().Secrets(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("delete keys that no pod mounts in %s: %w", namespace, err)
			}
		}
	}
	return nil
}

// encryptionConfiguration encrypts Secrets by the first key, and decrypts by all.
func encryptionConfiguration(keys []*corev1.Secret) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n")
	for _, secret := range keys {
		key, err := kinds.LoadETCDEncryptionKey(secret.Data)
		if err != nil {
			return nil, fmt.Errorf("secret %s: %w", secret.Name, err)
		}
		fmt.Fprintf(&out, "  - %s: {keys: [{name: %s, secret: %s}]}\n", key.Provider, key.KeyName, key.ConfigurationSecret())
	}
	out.WriteString("  - identity: {}\n")
	return out.Bytes(), nil
}

// rewrite has kube-apiserver store each Secret of the control plane again, so that the first key encrypts it. It is
// finished when it succeeds; until then it is repeated.
func (o *operator) rewrite(ctx context.Context, namespace string, made *generated) error {
	client, err := made.connect(namespace)
	if err != nil {
		return err
	}
	list, err := client.CoreV1().Secrets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list what is stored in %s: %w", namespace, err)
	}
	var failed []string
	for i := range list.Items {
		secret := &list.Items[i]
		_, err := client.CoreV1().Secrets(secret.Namespace).Update(ctx, secret, metav1.UpdateOptions{FieldManager: identity})
		// One that was changed meanwhile was stored by that edit.
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			failed = append(failed, fmt.Sprintf("%s/%s: %v", secret.Namespace, secret.Name, err))
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("rewrite what is stored in %s: %s", namespace, strings.Join(failed, "; "))
	}
	return nil
}
