// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package selfcert

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/internal/worker"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

// only is the single key of the queue.
const only = "leaf"

// validity of a serving leaf. A leaf never outlives its signer.
const validity = 24 * time.Hour

// Options of a Provider.
type Options struct {
	// Namespace and SignerSecret name the signer.
	Namespace, SignerSecret string
	// DNSNames and IPs to serve under; at least one name or address is required.
	DNSNames []string
	IPs      []net.IP
	// Clock defaults to the real one.
	Clock clock.WithTicker
}

// Provider serves and renews one certificate.
type Provider struct {
	client  kubernetes.Interface
	opts    Options
	profile pki.Profile
	queue   *worker.Queue[string]
	// signer caches the signer Secret without its key.
	signer cache.Store

	mu        sync.RWMutex
	current   *serving
	lastErr   error
	listeners []dynamiccertificates.Listener
}

type serving struct {
	cert, key []byte
	leaf      *pki.Certificate
	signer    pki.Fingerprint
}

var (
	_ dynamiccertificates.CertKeyContentProvider = (*Provider)(nil)
	_ dynamiccertificates.ControllerRunner       = (*Provider)(nil)
)

// New returns a Provider that has no certificate until RunOnce or Run mints one.
func New(client kubernetes.Interface, opts Options) (*Provider, error) {
	if client == nil || opts.Namespace == "" || opts.SignerSecret == "" {
		return nil, errors.New("serving certificate: client, namespace and signer Secret are required")
	}
	if len(opts.DNSNames)+len(opts.IPs) == 0 {
		return nil, errors.New("serving certificate: a DNS name or an IP address is required")
	}
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	profile, err := profileOf(opts).Normalized()
	if err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	p := &Provider{client: client, opts: opts, profile: profile, lastErr: errors.New("no serving certificate was minted yet")}
	p.queue = worker.New(worker.Config[string]{
		Name: "selfcert", Work: p.renew, Workers: 1, FirstRetry: 100 * time.Millisecond, LastRetry: 30 * time.Second, Clock: opts.Clock,
		Describe: func(string) []any { return []any{"signer", klog.KRef(opts.Namespace, opts.SignerSecret)} },
	})
	return p, nil
}

func profileOf(opts Options) pki.Profile {
	p := pki.Profile{
		DNSNames: slices.Clone(opts.DNSNames), Usages: []pki.Usage{pki.ServerAuth}, Key: pki.ECDSAP256,
		Validity: validity, Backdate: 5 * time.Minute,
	}
	for _, ip := range opts.IPs {
		p.IPAddresses = append(p.IPAddresses, ip.String())
	}
	p.CommonName = slices.Concat(p.DNSNames, p.IPAddresses)[0]
	return p
}

// Name implements dynamiccertificates.CertKeyContentProvider.
func (p *Provider) Name() string {
	return "self-signed-domain::" + p.opts.Namespace + "/" + p.opts.SignerSecret
}

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider. Both results are nil before the first
// leaf.
func (p *Provider) CurrentCertKeyContent() (cert, key []byte) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.current == nil {
		return nil, nil
	}
	return p.current.cert, p.current.key
}

// AddListener implements dynamiccertificates.Notifier.
func (p *Provider) AddListener(listener dynamiccertificates.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners = append(p.listeners, listener)
}

// Ready returns an error if there is no valid leaf to serve. A failure to renew does not matter while the current
// leaf is valid.
func (p *Provider) Ready() error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	switch {
	case p.current == nil:
		return fmt.Errorf("no serving certificate: %w", p.lastErr)
	case !p.current.leaf.ValidAt(p.opts.Clock.Now()):
		return fmt.Errorf("the serving certificate has expired at %s", p.current.leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// RunOnce implements dynamiccertificates.ControllerRunner: it mints the first leaf.
func (p *Provider) RunOnce(ctx context.Context) error {
	return p.mint(ctx)
}

// Run implements dynamiccertificates.ControllerRunner. It ignores the number of workers: there is one leaf.
func (p *Provider) Run(ctx context.Context, _ int) {
	factory := informers.NewSharedInformerFactoryWithOptions(p.client, 0,
		informers.WithNamespace(p.opts.Namespace),
		informers.WithTransform(withoutKeys),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, p.opts.SignerSecret).String()
		}))
	informer := factory.Core().V1().Secrets().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { p.queue.Add(only) },
		UpdateFunc: func(any, any) { p.queue.Add(only) },
	}); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to watch the signer", "signer", klog.KRef(p.opts.Namespace, p.opts.SignerSecret))
		return
	}
	factory.StartWithContext(ctx)
	p.signer = informer.GetStore()
	p.queue.Add(only)
	p.queue.Run(ctx)
	factory.Shutdown()
}

// withoutKeys reduces a Secret to its identity and the active certificate.
func withoutKeys(obj any) (any, error) {
	secret, ok := obj.(*corev1.Secret)
	if !ok {
		return obj, nil
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: secret.Namespace, Name: secret.Name, UID: secret.UID, ResourceVersion: secret.ResourceVersion,
		},
		Type: secret.Type,
		Data: map[string][]byte{inventory.ActiveCertKey: secret.Data[inventory.ActiveCertKey]},
	}, nil
}
