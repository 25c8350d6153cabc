// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"

	"filippo.io/age"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/trust"
)

// maxExport bounds a decrypted export.
const maxExport = 64 << 20

// Export writes the Secrets of an identity that the option Persist has labeled, encrypted for the recipients of age
// (filippo.io/age). Decrypted, it is a SecretList. Stop the controller first: what it makes later is not exported.
// ErrChangedMeanwhile says that it runs; it may run without that.
//
// Editions without a number get one, as their creation times are lost.
func Export(ctx context.Context, api API, identity string, namespaces []string, to io.Writer, recipients ...age.Recipient) error {
	all, err := snapshot(ctx, api, identity, namespaces)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	out := &corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	for _, of := range all {
		out.Items = append(out.Items, exported(of)...)
	}
	if len(out.Items) == 0 {
		return fmt.Errorf("export %s: %w", identity, ErrNothingPersisted)
	}
	encrypted, err := age.Encrypt(to, recipients...)
	if err != nil {
		return fmt.Errorf("export: encrypt: %w", err)
	}
	if err := errors.Join(json.NewEncoder(encrypted).Encode(out), encrypted.Close()); err != nil {
		return fmt.Errorf("export: write: %w", err)
	}
	return nil
}

// snapshot returns the Secrets of an identity by namespace, as they were at one moment: a list is that of one namespace,
// so all are listed twice.
func snapshot(ctx context.Context, api API, identity string, namespaces []string) ([][]corev1.Secret, error) {
	all, before, err := listAll(ctx, api, identity, namespaces)
	if err != nil {
		return nil, err
	}
	_, after, err := listAll(ctx, api, identity, namespaces)
	if err != nil {
		return nil, err
	}
	if !maps.Equal(before, after) {
		return nil, fmt.Errorf("secrets of %s: %w", identity, ErrChangedMeanwhile)
	}
	return all, nil
}

// listAll returns the Secrets of an identity by namespace, and the version of each.
func listAll(ctx context.Context, api API, identity string, namespaces []string) ([][]corev1.Secret, map[types.NamespacedName]string, error) {
	var all [][]corev1.Secret
	versions := map[types.NamespacedName]string{}
	for _, namespace := range namespaces {
		of, err := ownSecrets(ctx, api, identity, namespace)
		if err != nil {
			return nil, nil, err
		}
		for i := range of {
			versions[keyOf(&of[i])] = of[i].ResourceVersion
		}
		all = append(all, of)
	}
	return all, versions, nil
}

// exported returns what is kept of the Secrets of a namespace, the oldest edition of each name first.
func exported(all []corev1.Secret) []corev1.Secret {
	byKey := map[types.NamespacedName]*corev1.Secret{}
	var editions []*edition.Edition
	for i := range all {
		e := edition.Of(&all[i])
		byKey[e.NamespacedName] = &all[i]
		editions = append(editions, e)
	}
	var out []corev1.Secret
	for _, of := range edition.ByName(editions) {
		for i, e := range of {
			secret := byKey[e.NamespacedName]
			if secret.Labels[edition.LabelPersist] != edition.True {
				continue
			}
			kept := corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name, Labels: secret.Labels},
				Type:       secret.Type, Immutable: secret.Immutable, Data: secret.Data,
			}
			if kept.Labels[edition.LabelGeneration] == "" {
				kept.Labels[edition.LabelGeneration] = strconv.Itoa(i + 1)
			}
			if consent := secret.Annotations[trust.AnnotationConfiguration]; consent != "" {
				kept.Annotations = map[string]string{trust.AnnotationConfiguration: consent}
			}
			out = append(out, kept)
		}
	}
	return out
}

// Restore creates the Secrets of an export, before the controller runs in this cluster for the first time. If Secrets
// of the identity exist that are not those of the export, it writes nothing and returns ErrOtherSecrets: the controller
// has run here, and its authorities would be two. Restore can be repeated; it returns what it has done so far.
func Restore(ctx context.Context, api API, identity string, from io.Reader, identities ...age.Identity) (edition.Plan, error) {
	list, err := decryptExport(from, identities)
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	missing, err := notRestored(ctx, api, identity, list)
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	var plan edition.Plan
	for _, secret := range missing {
		key := keyOf(secret)
		if _, err := api.Secrets(key.Namespace).Create(ctx, secret, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
			return plan, fmt.Errorf("restore secret %s: %w", key, ErrOtherSecrets)
		} else if err != nil {
			return plan, fmt.Errorf("restore secret %s: %w", key, err)
		}
		plan = append(plan, edition.Step{Action: edition.Create, Name: secret.Labels[edition.LabelName], Object: key, Reason: "it is in the export"})
	}
	return plan.Sorted(), nil
}

func decryptExport(from io.Reader, identities []age.Identity) (*corev1.SecretList, error) {
	decrypted, err := age.Decrypt(from, identities...)
	if err != nil {
		return nil, fmt.Errorf("decrypt: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(decrypted, maxExport+1))
	if err != nil {
		return nil, fmt.Errorf("decrypt: %w", err)
	}
	list := &corev1.SecretList{}
	switch err := json.Unmarshal(text, list); {
	case len(text) > maxExport:
		return nil, fmt.Errorf("it is larger than %d bytes: %w", maxExport, ErrNoExport)
	case err != nil:
		// The error of the decoder could quote data.
		return nil, fmt.Errorf("it cannot be read: %w", ErrNoExport)
	case list.Kind != "SecretList" || len(list.Items) == 0:
		return nil, fmt.Errorf("it is no list of Secrets: %w", ErrNoExport)
	}
	return list, nil
}

// notRestored returns the Secrets of an export that do not exist, in the order of the export. It refuses an export of
// another identity, and namespaces with other Secrets of the identity.
func notRestored(ctx context.Context, api API, identity string, list *corev1.SecretList) ([]*corev1.Secret, error) {
	wanted, missing := map[types.NamespacedName]*corev1.Secret{}, []*corev1.Secret(nil)
	for i := range list.Items {
		secret := &list.Items[i]
		if secret.Labels[edition.LabelManagedBy] != edition.ManagedBy || secret.Labels[edition.LabelManagerIdentity] != identity {
			return nil, fmt.Errorf("secret %s is not of %s: %w", keyOf(secret), identity, ErrNoExport)
		}
		wanted[keyOf(secret)] = secret
	}
	found, listed := map[types.NamespacedName]bool{}, map[string]bool{}
	for i := range list.Items {
		namespace := list.Items[i].Namespace
		if listed[namespace] {
			continue
		}
		listed[namespace] = true
		existing, err := ownSecrets(ctx, api, identity, namespace)
		if err != nil {
			return nil, err
		}
		for k := range existing {
			key := keyOf(&existing[k])
			if is := wanted[key]; is == nil || edition.DataChecksum(is.Data) != edition.DataChecksum(existing[k].Data) {
				return nil, fmt.Errorf("secret %s: %w", key, ErrOtherSecrets)
			}
			found[key] = true
		}
	}
	for i := range list.Items {
		if secret := &list.Items[i]; !found[keyOf(secret)] {
			missing = append(missing, secret)
		}
	}
	return missing, nil
}
