// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Defaults of the preset webhook-server.
const (
	defaultWebhookName = "webhook"
	// defaultWebhookPort is where the servers of most frameworks listen.
	defaultWebhookPort int32 = 9443
	// defaultCABundleDelay is for kube-apiserver to receive a new caBundle by its watch, which takes a moment unless
	// it is busy.
	defaultCABundleDelay = 10 * time.Second
)

// webhookNames are the names of the objects and leaves of the preset webhook-server.
type webhookNames struct{ prefix string }

func (n webhookNames) signer() string { return n.prefix + "-signer" }
func (n webhookNames) bundle() string { return n.prefix + "-ca-bundle" }
func (n webhookNames) server() string { return n.prefix + "-server" }

// expandWebhookServer makes one trust domain whose server is verified by kube-apiserver alone, with the caBundle
// of its targets.
func expandWebhookServer(params *WebhookServerPreset, namespace string) TrustDomain {
	names := webhookNames{prefix: cmp.Or(params.Name, defaultWebhookName)}
	policy := IssuancePolicy{Key: cmp.Or(params.Key, DefaultKeyAlgorithm)}
	delay := metav1.Duration{Duration: defaultCABundleDelay}
	if params.MinimumDelay != nil {
		delay = *params.MinimumDelay
	}
	service := fmt.Sprintf("%s.%s.svc", cmp.Or(params.Service, names.prefix), namespace)
	dnsNames := []string{service, service + ".cluster.local"}
	for _, name := range params.DNSNames {
		if !slices.Contains(dnsNames, name) {
			dnsNames = append(dnsNames, name)
		}
	}
	return TrustDomain{
		Name:   names.prefix,
		Signer: Signer{SecretName: names.signer(), Policy: policy},
		Bundle: Bundle{ConfigMapName: names.bundle(), InjectInto: slices.Clone(params.InjectInto)},
		Leaves: []Leaf{{
			SecretName: names.server(),
			CommonName: names.server(),
			DNSNames:   dnsNames,
			Usages:     []Usage{ServerAuth},
			Policy:     policy,
		}},
		RelyingParties: []RelyingParty{webhookPods(params, names, service), {
			Name:     "kube-apiserver",
			Verifies: LeafSelection{Usages: []Usage{ServerAuth}},
			Evidence: Evidence{Kind: EvidenceCABundle, CABundle: &CABundleEvidence{MinimumDelay: delay}},
		}},
	}
}

// webhookPods only present leaves: this trust domain issues none to the callers of the server.
func webhookPods(params *WebhookServerPreset, names webhookNames, serverName string) RelyingParty {
	pods := params.Pods.DeepCopy()
	if pods.PortName == "" {
		pods.ContainerPort = cmp.Or(pods.ContainerPort, defaultWebhookPort)
	}
	pods.ServerName = cmp.Or(pods.ServerName, serverName)
	return RelyingParty{
		Name:     "server",
		Verifies: LeafSelection{Nothing: true},
		Presents: []string{names.server()},
		Pods:     pods,
		Evidence: Evidence{Kind: EvidenceTLSProbe, TLSProbe: &TLSProbe{}},
	}
}

func validateWebhookServer(params *WebhookServerPreset, path *field.Path) field.ErrorList {
	names := webhookNames{prefix: cmp.Or(params.Name, defaultWebhookName)}
	errs := invalid(path.Child("name"), params.Name, validation.IsDNS1123Label(names.prefix))
	if len(names.server()) > maxCommonName {
		errs = append(errs, field.TooLong(path.Child("name"), params.Name, maxCommonName-len("-server")))
	}
	errs = append(errs, invalid(path.Child("service"), params.Service, validation.IsDNS1035Label(cmp.Or(params.Service, names.prefix)))...)
	errs = append(errs, validateEach(params.DNSNames, path.Child("dnsNames"), validateDNSName)...)
	if !slices.ContainsFunc(params.InjectInto, func(t InjectionTarget) bool { return t.Kind.VerifiedByAPIServer() }) {
		errs = append(errs, field.Required(path.Child("injectInto"), "name the objects by whose caBundle kube-apiserver verifies the server"))
	}
	expanded := webhookPods(params, names, "")
	return append(errs, validatePods(&expanded, path.Child("pods"))...)
}
