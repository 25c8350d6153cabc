// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/apis/certrotation/install"
	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/bundlestatus"
	"certrotation.dev/registry/certificaterotation"
	"certrotation.dev/registry/view"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/registry/view/projection"
)

// epochRetry is the delay before the next attempt to obtain the first epoch.
const epochRetry = time.Second

// apiGroup serves the aggregated API: the stores, the projector that fills them, and the subresources.
type apiGroup struct {
	certificates, bundles *view.Store
	projector             *projection.Projector
	actions               *certificaterotation.Actions
	clock                 clock.WithTicker
	// epoch is set once both stores are started.
	epoch milestone
}

// newAPIGroup subscribes to the changes of the inventory, so it must be called before the inventory starts.
func newAPIGroup(known *inventory.Inventory, c clients, may authorizer.Authorizer, self replica, clk clock.WithTicker) (*apiGroup, error) {
	g := &apiGroup{clock: clk}
	epochs := self.epochs(c.kube, clk)
	var err error
	if g.certificates, err = view.New(certificaterotation.ViewConfig(epochs, clk)); err != nil {
		return nil, fmt.Errorf("make the view of certificates: %w", err)
	}
	if g.bundles, err = view.New(bundlestatus.ViewConfig(epochs, clk)); err != nil {
		return nil, fmt.Errorf("make the view of bundles: %w", err)
	}
	if g.projector, err = projection.New(projection.Config{
		Inventory:    known,
		Certificates: g.certificates,
		Bundles:      g.bundles,
		Clock:        clk,
		Register:     legacyregistry.Register,
	}); err != nil {
		return nil, fmt.Errorf("make the projector: %w", err)
	}
	if g.actions, err = certificaterotation.NewActions(certificaterotation.ActionsConfig{
		Inventory:  known,
		Client:     c.own,
		Authorizer: may,
		Clock:      clk,
	}); err != nil {
		return nil, fmt.Errorf("make the subresources: %w", err)
	}
	return g, nil
}

func (g *apiGroup) install(server *genericapiserver.GenericAPIServer) error {
	scheme := install.NewScheme()
	codecs := install.NewCodecs(scheme)
	info := genericapiserver.NewDefaultAPIGroupInfo(certrotation.GroupName, scheme, metav1.ParameterCodec, codecs)
	info.NegotiatedSerializer = install.NewNegotiatedSerializer(codecs)
	info.VersionedResourcesStorageMap[v1alpha1.SchemeGroupVersion.Version] = map[string]rest.Storage{
		"certificaterotations":             certificaterotation.NewREST(g.certificates, g.clock),
		"certificaterotations/rotate":      certificaterotation.NewRotateREST(g.actions),
		"certificaterotations/abort":       certificaterotation.NewAbortREST(g.actions),
		"certificaterotations/acknowledge": certificaterotation.NewAcknowledgeREST(g.actions),
		"certificaterotations/waive":       certificaterotation.NewWaiveREST(g.actions),
		"certificaterotations/csr":         certificaterotation.NewCSRREST(g.actions),
		"certificaterotations/install":     certificaterotation.NewInstallREST(g.actions),
		"bundlestatuses":                   bundlestatus.NewREST(g.bundles, g.clock),
	}
	if err := server.InstallAPIGroup(&info); err != nil {
		return fmt.Errorf("install the API group %s: %w", certrotation.GroupName, err)
	}
	return nil
}

// run fills the stores until ctx ends. An API server that accepts no writes delays the start but is not an error.
func (g *apiGroup) run(ctx context.Context) error {
	for _, store := range []*view.Store{g.certificates, g.bundles} {
		if !started(ctx, store) {
			return nil
		}
	}
	g.epoch.reach()
	return g.projector.Run(ctx)
}

func started(ctx context.Context, store *view.Store) bool {
	err := wait.PollUntilContextCancel(ctx, epochRetry, true, func(ctx context.Context) (bool, error) {
		if err := store.Start(ctx); err != nil {
			klog.FromContext(ctx).Info("Waiting for an epoch", "reason", err.Error())
			return false, nil
		}
		return true, nil
	})
	return err == nil
}
