// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Validate returns everything that is wrong with completed options.
func (o *Options) Validate() []error {
	errs := o.Recommended.Validate()
	errs = append(errs, o.ServerRun.Validate()...)
	errs = append(errs, o.Metrics.Validate()...)
	if !o.ServeAPI && !o.ServeWebhook {
		errs = append(errs, errors.New("--serve-api and --serve-webhook cannot both be false"))
	}
	if o.Recommended.SecureServing.BindPort == 0 {
		errs = append(errs, errors.New("--secure-port cannot be 0: health and metrics are served there"))
	}
	if o.ServeWebhook {
		errs = append(errs, o.validateWebhookPort()...)
	}
	for _, namespace := range o.Namespaces {
		errs = append(errs, named("--namespaces", namespace, validation.IsDNS1123Label)...)
	}
	if o.Recommended.Features.DebugSocketPath != "" {
		errs = append(errs, errors.New("--debug-socket-path is not supported: it is served without authentication"))
	}
	errs = append(errs, named("--system-namespace", o.SystemNamespace, validation.IsDNS1123Label)...)
	errs = append(errs, named("--signer-secret", o.SignerSecret, validation.IsDNS1123Subdomain)...)
	errs = append(errs, named("--service-name", o.ServiceName, validation.IsDNS1035Label)...)
	errs = append(errs, named("--identity", leaseName(o.Identity), validation.IsDNS1123Subdomain)...)
	return errs
}

func (o *Options) validateWebhookPort() []error {
	switch port := o.WebhookPort; {
	case o.WebhookClientCAFile == "" && len(o.WebhookClientNames) > 0:
		return []error{errors.New("--webhook-client-names needs --webhook-client-ca-file")}
	case o.WebhookClientCAFile == "" && !o.ServeAPI:
		return []error{errors.New("--serve-api=false needs --webhook-client-ca-file: without it reviews are served with the API, through the aggregation layer")}
	case o.WebhookClientCAFile == "":
		return nil
	case port < 1 || port > 65535:
		return []error{fmt.Errorf("--webhook-port %d must be between 1 and 65535", port)}
	case port == o.Recommended.SecureServing.BindPort:
		return []error{fmt.Errorf("--webhook-port and --secure-port are both %d", port)}
	}
	return nil
}

func named(flag, value string, check func(string) []string) []error {
	var errs []error
	for _, problem := range check(value) {
		errs = append(errs, fmt.Errorf("%s %q: %s", flag, value, problem))
	}
	return errs
}
