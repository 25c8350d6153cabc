// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/contenthash"
)

func (p *plugin) newContentHash() *cobra.Command {
	return &cobra.Command{
		Use:   "content-hash secret/NAME|configmap/NAME",
		Short: "Print the hash by which a pod template names the content of a Secret or ConfigMap",
		Long: `Print the hash of the content of a Secret or ConfigMap, for a pod template whose init container waits for it with
certrotation wait --for-content=HASH DIR. It depends on keys and values alone. You need the right to get the object; nothing of
it is printed but the hash.`,
		Example: `  kubectl certrotation content-hash -n mtls-demo configmap/service-ca-bundle`,
		Args:    cobra.ExactArgs(1),

		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return p.contentHash(cmd.Context(), args[0]) },
	}
}

func (p *plugin) contentHash(ctx context.Context, object string) error {
	kind, name, _ := strings.Cut(object, "/")
	t, err := p.connectCore(name)
	if err != nil {
		return err
	}
	hash, err := t.contentHash(ctx, kind)
	if err != nil {
		return fmt.Errorf("hash %s of namespace %s: %w", oneLine(object), t.namespace, err)
	}
	_, err = fmt.Fprintln(p.Streams.Out, hash)
	return err
}

func (t *target) contentHash(ctx context.Context, kind string) (string, error) {
	switch {
	case t.name == "":
	case kind == "secret" || kind == "secrets":
		secret, err := t.core.CoreV1().Secrets(t.namespace).Get(ctx, t.name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return contenthash.OfSecret(secret), nil
	case kind == "configmap" || kind == "configmaps" || kind == "cm":
		config, err := t.core.CoreV1().ConfigMaps(t.namespace).Get(ctx, t.name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return contenthash.OfConfigMap(config), nil
	}
	return "", errors.New("give secret/NAME or configmap/NAME")
}
