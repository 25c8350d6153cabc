// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"certrotation.dev/test/apifake"
)

// volumes emulate the mounted Secrets and ConfigMaps of a pod. Like kubelet they write updates, and keep the files
// when the object is deleted.
type volumes struct {
	secrets, configMaps sync.Map
}

// follow fills the volumes from informers. The returned functions report whether the volumes have all initial
// objects.
func (v *volumes) follow(secrets, configMaps cache.SharedIndexInformer) ([]cache.InformerSynced, error) {
	var out []cache.InformerSynced
	for informer, into := range map[cache.SharedIndexInformer]*sync.Map{secrets: &v.secrets, configMaps: &v.configMaps} {
		keep := func(obj any) { into.Store(obj.(metav1.Object).GetName(), obj) }
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: keep, UpdateFunc: func(_, obj any) { keep(obj) },
		})
		if err != nil {
			return nil, fmt.Errorf("watch Secrets and ConfigMaps: %w", err)
		}
		out = append(out, registration.HasSynced)
	}
	return out, nil
}

func TestVolumesKeepWhatIsDeleted(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := apifake.New(t, clock.RealClock{},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ca-bundle"}, Data: map[string]string{"ca-bundle.crt": "first"}}).Client
	o, err := watchObjects(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	mounted := func() string {
		bundle, there := o.volumes.configMaps.Load("ca-bundle")
		if !there {
			return ""
		}
		return bundle.(*corev1.ConfigMap).Data["ca-bundle.crt"]
	}
	if got := mounted(); got != "first" {
		t.Fatalf("mounted at first: %q", got)
	}
	configMaps := client.CoreV1().ConfigMaps(namespace)
	if err := configMaps.Delete(ctx, "ca-bundle", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "the lister knows of the deletion", func(context.Context) error {
		if _, err := o.configMaps.Get("ca-bundle"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it answers %w", err)
		}
		return nil
	})
	if got := mounted(); got != "first" {
		t.Errorf("mounted after the deletion: %q", got)
	}
	again := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ca-bundle"}, Data: map[string]string{"ca-bundle.crt": "second"}}
	if _, err := configMaps.Create(ctx, again, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "the new content is mounted", func(context.Context) error {
		if got := mounted(); got != "second" {
			return fmt.Errorf("mounted: %q", got)
		}
		return nil
	})
}

// client returns the configuration of a client that mounts a leaf and a bundle of the namespace.
func (v *volumes) client(leaf, bundle string) func() (*tls.Config, error) {
	return func() (*tls.Config, error) {
		secret, hasLeaf := v.secrets.Load(leaf)
		configMap, hasBundle := v.configMaps.Load(bundle)
		if !hasLeaf || !hasBundle {
			return nil, fmt.Errorf("there never was a Secret %q (%t) or a ConfigMap %q (%t) to mount", leaf, hasLeaf, bundle, hasBundle)
		}
		pair, err := pairOf(secret.(*corev1.Secret))
		if err != nil {
			return nil, err
		}
		anchors, err := anchorsOf(configMap.(*corev1.ConfigMap))
		if err != nil {
			return nil, err
		}
		return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: "localhost", Certificates: []tls.Certificate{pair}, RootCAs: poolOf(anchors)}, nil
	}
}

// dialer connects with the current files, for a client that lives longer than a leaf.
func (v *volumes) dialer(leaf, bundle string) func(ctx context.Context, address string) (net.Conn, error) {
	client := v.client(leaf, bundle)
	return func(ctx context.Context, address string) (net.Conn, error) {
		config, err := client()
		if err != nil {
			return nil, err
		}
		config.NextProtos = []string{"h2"}
		return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	}
}
