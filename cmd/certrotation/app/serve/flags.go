// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
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
	r.Features.AddFlags(sections.FlagSet("features"))
	r.Traces.AddFlags(sections.FlagSet("traces"))
	o.ServerRun.AddUniversalFlags(sections.FlagSet("server"))
	o.Metrics.AddFlags(sections.FlagSet("metrics"))
	logsapi.AddFlags(o.Logs, sections.FlagSet("logs"))
	return sections
}

func (o *Options) addOwnFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("certrotation")
	fs.BoolVar(&o.ServeAPI, "serve-api", o.ServeAPI,
		"Serve the API group on the secure port. Without it the secure port has health and metrics only.")
	fs.BoolVar(&o.ServeWebhook, "serve-webhook", o.ServeWebhook, "Serve the admission webhook.")
	fs.IntVar(&o.WebhookPort, "webhook-port", o.WebhookPort,
		"The port on which to serve the admission webhook besides, on the address of --bind-address, if --webhook-client-ca-file is given.")
	fs.StringVar(&o.WebhookClientCAFile, "webhook-client-ca-file", o.WebhookClientCAFile,
		"A file with the CAs of the client certificates that kube-apiserver calls webhooks with (its --admission-control-config-file). Without it reviews are served on the secure port only, through the aggregation layer.")
	fs.StringSliceVar(&o.WebhookClientNames, "webhook-client-names", o.WebhookClientNames,
		"The common names of the client certificates that may call the webhook port. Empty for every certificate of --webhook-client-ca-file.")
	fs.StringSliceVar(&o.Namespaces, "namespaces", o.Namespaces,
		"The namespaces to serve, and no others: Namespaces are not watched then, and a Role in each is enough. Without it all that have the label certrotation.dev/managed=true are served.")
	fs.StringVar(&o.SystemNamespace, "system-namespace", o.SystemNamespace,
		"The namespace of this installation: of the Leases of the replicas and of --signer-secret. Defaults to $POD_NAMESPACE.")
	fs.StringVar(&o.SignerSecret, "signer-secret", o.SignerSecret,
		"The signer Secret that the serving certificate is minted from, unless --tls-cert-file is given.")
	fs.StringVar(&o.ServiceName, "service-name", o.ServiceName,
		"The Service in front of the replicas. The serving certificate is for SERVICE.NAMESPACE.svc and localhost.")
	fs.StringSliceVar(&o.ServingNames, "serving-names", o.ServingNames,
		"More DNS names and IP addresses that the serving certificate is for.")
	fs.StringSliceVar(&o.RecordWriters, "record-writers", o.RecordWriters,
		"The users that may write RotationRecords where the guard is on. Defaults to the ServiceAccounts certrotation-controller and certrotation-serve of --system-namespace.")
	fs.StringVar(&o.Identity, "identity", o.Identity,
		"The identity of this replica, which its Lease is named after. Defaults to $POD_NAME, or to the host name with a random suffix.")
}
