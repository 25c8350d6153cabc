// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"github.com/spf13/pflag"

	genericoptions "k8s.io/apiserver/pkg/server/options"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// Flags returns the flags in sections, as --help shows them.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	o.addOwnFlags(&sections)
	r := o.Recommended
	r.CoreAPI.AddFlags(sections.FlagSet("kube-apiserver"))
	r.SecureServing.AddFlags(sections.FlagSet("secure serving"))
	r.Authentication.AddFlags(sections.FlagSet("authentication"))
	r.Authorization.AddFlags(sections.FlagSet("authorization"))
	r.Audit.AddFlags(sections.FlagSet("audit"))
	addFeatureFlags(r.Features, sections.FlagSet("features"))
	r.Traces.AddFlags(sections.FlagSet("traces"))
	o.ServerRun.AddUniversalFlags(sections.FlagSet("server"))
	o.Metrics.AddFlags(sections.FlagSet("metrics"))
	logsapi.AddFlags(o.Logs, sections.FlagSet("logs"))
	return sections
}

// addFeatureFlags omits the flag of priority and fairness, for which serve has no rights.
func addFeatureFlags(o *genericoptions.FeatureOptions, fs *pflag.FlagSet) {
	var all pflag.FlagSet
	o.AddFlags(&all)
	all.VisitAll(func(f *pflag.Flag) {
		if f.Name != "enable-priority-and-fairness" {
			fs.AddFlag(f)
		}
	})
}

func (o *Options) addOwnFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("certrotation")
	fs.BoolVar(&o.ServeAPI, "serve-api", o.ServeAPI,
		"If true, serve the API group on the secure port. If false, the secure port serves health checks and metrics only.")
	fs.BoolVar(&o.ServeWebhook, "serve-webhook", o.ServeWebhook, "If true, serve the admission webhook.")
	fs.IntVar(&o.WebhookPort, "webhook-port", o.WebhookPort,
		"The port on which to serve the admission webhook to clients with a certificate, on the address of --bind-address. Used only if --webhook-client-ca-file is set.")
	fs.StringVar(&o.WebhookClientCAFile, "webhook-client-ca-file", o.WebhookClientCAFile,
		"File containing the certificate authorities of the client certificates with which kube-apiserver calls webhooks (see its --admission-control-config-file). If empty, reviews are served on the secure port only, through the aggregation layer.")
	fs.StringSliceVar(&o.WebhookClientNames, "webhook-client-names", o.WebhookClientNames,
		"List of client certificate common names that may call the webhook port. If empty, any client certificate validated by the authorities in --webhook-client-ca-file is allowed.")
	fs.StringSliceVar(&o.Namespaces, "namespaces", o.Namespaces,
		"List of namespaces to serve. Namespaces are not watched then, and a Role in each of them is sufficient. If empty, all namespaces with the label certrotation.dev/managed=true are served.")
	fs.StringVar(&o.SystemNamespace, "system-namespace", o.SystemNamespace,
		"The namespace of this installation, which holds the Leases of the replicas and --signer-secret. Defaults to $POD_NAMESPACE.")
	fs.StringVar(&o.SignerSecret, "signer-secret", o.SignerSecret,
		"The signer Secret that issues the serving certificate, unless --tls-cert-file is set.")
	fs.StringVar(&o.ServiceName, "service-name", o.ServiceName,
		"The Service in front of the replicas. The serving certificate is valid for SERVICE.NAMESPACE.svc and localhost.")
	fs.StringSliceVar(&o.ServingNames, "serving-names", o.ServingNames,
		"List of additional DNS names and IP addresses that the serving certificate is valid for.")
	fs.StringSliceVar(&o.RecordWriters, "record-writers", o.RecordWriters,
		"List of users that the admission webhook allows to write RotationRecords. Defaults to the ServiceAccounts certrotation-controller and certrotation-serve of --system-namespace.")
	fs.StringVar(&o.Identity, "identity", o.Identity,
		"The identity of this replica, after which its Lease is named. Defaults to $POD_NAME, or to the host name with a random suffix.")
}
