// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestIssuer: leaves of another issuer, and what goes with them.
func TestIssuer(t *testing.T) {
	const domain = "spec.trustDomains[0]"
	for _, tt := range []struct {
		name   string
		mutate func(*TrustDomain)
		// path of the only error, "" for none.
		path, detail string
	}{
		{name: "as it should be", mutate: func(*TrustDomain) {}},
		{name: "our own CA", mutate: func(d *TrustDomain) { d.Signer.IssuedSecretName = "" }},
		{name: "an unknown issuer", mutate: func(d *TrustDomain) { d.Issuer = "Vault" }, path: domain + ".issuer"},
		{name: "no issuer", mutate: func(d *TrustDomain) { d.Issuer, d.Signer.IssuedSecretName = "", "" }, path: domain, detail: "without it none"},
		{name: "a leaf that is ours", mutate: func(d *TrustDomain) { d.Leaves[0].IssuedSecretName = "" }, path: domain, detail: "each leaf has an issuedSecretName"},
		{name: "a CA without issuer", mutate: func(d *TrustDomain) { d.Issuer, d.Leaves[0].IssuedSecretName = "", "" }, path: domain, detail: "only with issuer"},
		{name: "evidence by renewal", mutate: func(d *TrustDomain) {
			d.RelyingParties[0].Evidence = Evidence{Kind: EvidenceRenewed, Renewed: &RenewedEvidence{MinimumDelay: *duration(time.Minute)}}
		}, path: domain + ".relyingParties[0].evidence.kind", detail: "use another kind"},
		{name: "unlisted leaves", mutate: func(d *TrustDomain) { d.UnlistedLeaves = &UnlistedLeaves{Drain: *duration(time.Hour)} }, path: domain, detail: "unlistedLeaves"},
		{name: "a leaf for each node", mutate: func(d *TrustDomain) {
			d.Leaves[0].SecretName, d.Leaves[0].ForEachNode = "server-{node}", &metav1.LabelSelector{}
			d.RelyingParties[0].Presents = []string{"server-{node}"}
		}, path: domain + ".leaves[0]", detail: "forEachNode"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := &RotationConfigurationSpec{TrustDomains: []TrustDomain{{
				Name: "web", Issuer: IssuerCertManager, Signer: Signer{SecretName: "signer", IssuedSecretName: "ca"}, Bundle: Bundle{ConfigMapName: "bundle"},
				Leaves:         []Leaf{{SecretName: "server", IssuedSecretName: "issued", CommonName: "web", Usages: []Usage{ServerAuth, ClientAuth}}},
				RelyingParties: []RelyingParty{{Name: "all", Presents: []string{"server"}, Evidence: Evidence{Kind: EvidenceAcknowledgement}}},
			}}}
			tt.mutate(&spec.TrustDomains[0])
			errs := refusals(t, spec, "ns")
			if tt.path == "" && len(errs) > 0 || tt.path != "" && !slices.ContainsFunc(errs, func(err *field.Error) bool {
				return err.Field == tt.path && strings.Contains(err.Error(), tt.detail)
			}) {
				t.Errorf("want an error of %q about %q, got %v", tt.path, tt.detail, errs.ToAggregate())
			}
		})
	}
}
