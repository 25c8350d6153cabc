// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// material is what a handshake needs: one leaf and one pool that belong together.
type material struct {
	leaf tls.Certificate
	pool *x509.CertPool
	// trusts and presents are fingerprints of what was loaded.
	trusts, presents []string
}

// loader swaps new material in as soon as the Secret or the ConfigMap changes, unless it is held.
type loader struct {
	client                  kubernetes.Interface
	namespace, leaf, bundle string

	current atomic.Pointer[material]
	// changed gets a token after each swap.
	changed chan struct{}

	mu     sync.Mutex
	held   bool
	secret *corev1.Secret
	config *corev1.ConfigMap
}

func newLoader(client kubernetes.Interface, namespace, leaf, bundle string) *loader {
	return &loader{client: client, namespace: namespace, leaf: leaf, bundle: bundle, changed: make(chan struct{}, 1)}
}

// run watches in the background and returns when the first material is loaded.
func (l *loader) run(ctx context.Context) error {
	secrets := l.informers(l.leaf)
	configs := l.informers(l.bundle)
	ready := make(chan struct{})
	var once sync.Once
	loaded := func() {
		if l.reload() {
			once.Do(func() { close(ready) })
		}
	}
	if _, err := secrets.Core().V1().Secrets().Informer().AddEventHandler(onChange(func(obj any) {
		l.mu.Lock()
		l.secret, _ = obj.(*corev1.Secret)
		l.mu.Unlock()
		loaded()
	})); err != nil {
		return fmt.Errorf("watch Secret %s: %w", l.leaf, err)
	}
	if _, err := configs.Core().V1().ConfigMaps().Informer().AddEventHandler(onChange(func(obj any) {
		l.mu.Lock()
		l.config, _ = obj.(*corev1.ConfigMap)
		l.mu.Unlock()
		loaded()
	})); err != nil {
		return fmt.Errorf("watch ConfigMap %s: %w", l.bundle, err)
	}
	secrets.Start(ctx.Done())
	configs.Start(ctx.Done())
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("load Secret %s and ConfigMap %s: %w", l.leaf, l.bundle, ctx.Err())
	}
}

func (l *loader) informers(name string) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(l.client, 0, informers.WithNamespace(l.namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}))
}

// onChange ignores deletions: the program continues with what it has loaded.
func onChange(f func(obj any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: f, UpdateFunc: func(_, obj any) { f(obj) }}
}

// hold stops and resumes reloading.
func (l *loader) hold(held bool) {
	l.mu.Lock()
	l.held = held
	l.mu.Unlock()
	if !held {
		l.reload()
	}
}

// reload swaps in what was last seen and says whether it could.
func (l *loader) reload() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held || l.secret == nil || l.config == nil {
		return false
	}
	m, err := parse(l.secret, l.config)
	if err != nil {
		log.Printf("keep what is loaded: %v", err)
		return false
	}
	l.current.Store(m)
	log.Printf("loaded leaf %.12s and %d anchors", m.presents[0], len(m.trusts))
	select {
	case l.changed <- struct{}{}:
	default:
	}
	return true
}

func parse(secret *corev1.Secret, config *corev1.ConfigMap) (*material, error) {
	leaf, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("parse Secret %s: %w", secret.Name, err)
	}
	m := &material{leaf: leaf, pool: x509.NewCertPool(), presents: []string{fingerprint(leaf.Certificate[0])}}
	rest := []byte(config.Data["ca-bundle.crt"])
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		anchor, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse ConfigMap %s: %w", config.Name, err)
		}
		m.pool.AddCert(anchor)
		m.trusts = append(m.trusts, fingerprint(block.Bytes))
	}
	if len(m.trusts) == 0 {
		return nil, errors.New("ConfigMap " + config.Name + " holds no anchor")
	}
	return m, nil
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
