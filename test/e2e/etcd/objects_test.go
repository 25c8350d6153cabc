// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// objects has the objects of the namespace as informers know them, and every container of etcd that was ever seen.
type objects struct {
	secrets    corelisters.SecretNamespaceLister
	configMaps corelisters.ConfigMapNamespaceLister
	volumes    volumes

	mu sync.Mutex
	// containers of etcd by node, in the order in which they were seen.
	containers map[string][]string
}

func watchObjects(ctx context.Context, client kubernetes.Interface) (*objects, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	core := factory.Core().V1()
	o := &objects{
		secrets: core.Secrets().Lister().Secrets(namespace), configMaps: core.ConfigMaps().Lister().ConfigMaps(namespace),
		containers: map[string][]string{},
	}
	_, err := core.Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: o.see, UpdateFunc: func(_, obj any) { o.see(obj) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	followed, err := o.volumes.follow(core.Secrets().Informer(), core.ConfigMaps().Informer())
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("watch %s: %w", kind, ctx.Err())
		}
	}
	if !cache.WaitForCacheSync(ctx.Done(), followed...) {
		return nil, fmt.Errorf("fill the volumes: %w", ctx.Err())
	}
	return o, nil
}

// see records the container of a mirror pod of etcd.
func (o *objects) see(obj any) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Name != "etcd-"+pod.Spec.NodeName {
		return
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name != "etcd" || status.State.Running == nil {
			continue
		}
		o.mu.Lock()
		known := o.containers[pod.Spec.NodeName]
		if len(known) == 0 || known[len(known)-1] != status.ContainerID {
			o.containers[pod.Spec.NodeName] = append(known, status.ContainerID)
		}
		o.mu.Unlock()
	}
}

// starts counts the observed starts of etcd on each node.
func (o *objects) starts() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[string]int{}
	for node, ids := range o.containers {
		out[node] = len(ids)
	}
	return out
}

// newest returns the container of etcd on a node that was seen last, "" if there is none.
func (o *objects) newest(node string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.containers[node]
	if len(known) == 0 {
		return ""
	}
	return known[len(known)-1]
}

func (o *objects) pair(name string) (tls.Certificate, error) {
	secret, err := o.secrets.Get(name)
	if err != nil {
		return tls.Certificate{}, err
	}
	return pairOf(secret)
}

func pairOf(secret *corev1.Secret) (tls.Certificate, error) {
	return tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
}

func (o *objects) anchors(name string) ([]*x509.Certificate, error) {
	bundle, err := o.configMaps.Get(name)
	if err != nil {
		return nil, err
	}
	return anchorsOf(bundle)
}

func anchorsOf(bundle *corev1.ConfigMap) ([]*x509.Certificate, error) {
	return parseAnchors([]byte(bundle.Data["ca-bundle.crt"]))
}

func parseAnchors(text []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		anchor, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		out = append(out, anchor)
	}
	if len(out) == 0 {
		return nil, errors.New("no anchor")
	}
	return out, nil
}

func poolOf(anchors []*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, anchor := range anchors {
		pool.AddCert(anchor)
	}
	return pool
}
