// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Defaults of optional fields.
const (
	DefaultKeyAlgorithm           = ECDSAP256
	DefaultSignerValidity         = 43800 * time.Hour
	DefaultLeafValidity           = 8760 * time.Hour
	DefaultRenewAtPercent   int32 = 80
	DefaultLeafJitter       int32 = 5
	DefaultReissuePerMinute int32 = 600
	DefaultBackdate               = 5 * time.Minute
	DefaultStageDeadline          = time.Hour
	DefaultProbeInterval          = 5 * time.Second
	DefaultProbeTimeout           = 5 * time.Second
	DefaultCoalesce               = 3 * time.Second
	// DefaultAcknowledgementLease suits processes that report every few minutes.
	DefaultAcknowledgementLease       = time.Hour
	DefaultInstallerTimeout           = 2 * time.Minute
	DefaultStaticPodTimeout           = 5 * time.Minute
	DefaultRevisionLimit        int32 = 5
	DefaultQuorumTimeout              = 10 * time.Second
	// DefaultTrustKey is the key of the anchors in a bundle of certrotation.
	DefaultTrustKey = "ca-bundle.crt"
	// DefaultStorePassword is the password of Java's own trust store.
	DefaultStorePassword = "changeit"
)

// SetDefaults sets the optional fields of the explicit trust domains and of the rollout, in place. A preset gets its
// defaults when it is expanded: some depend on the namespace.
func SetDefaults(spec *RotationConfigurationSpec) {
	for i := range spec.TrustDomains {
		domain := &spec.TrustDomains[i]
		setDefault(&domain.StageDeadline, DefaultStageDeadline)
		if domain.ReissuePerMinute == 0 {
			domain.ReissuePerMinute = DefaultReissuePerMinute
		}
		setPolicyDefaults(&domain.Signer.Policy, DefaultSignerValidity, 0)
		setStoreDefaults(domain.Bundle.AdditionalFormats)
		for j := range domain.Leaves {
			setPolicyDefaults(&domain.Leaves[j].Policy, leafValidity(domain.Signer.Policy), DefaultLeafJitter)
			setStoreDefaults(domain.Leaves[j].AdditionalFormats)
		}
		for j := range domain.RelyingParties {
			setEvidenceDefaults(&domain.RelyingParties[j])
		}
	}
	if spec.Rollout != nil && spec.Rollout.StaticPod != nil {
		setRolloutDefaults(spec.Rollout.StaticPod, spec.Aggregate)
	}
}

func setStoreDefaults(formats *AdditionalFormats) {
	for _, store := range storesIn(formats) {
		store.Password = cmp.Or(store.Password, DefaultStorePassword)
	}
}

func storesIn(formats *AdditionalFormats) []*TrustStore {
	if formats == nil {
		return nil
	}
	return slices.DeleteFunc([]*TrustStore{formats.PKCS12, formats.JKS}, func(store *TrustStore) bool { return store == nil })
}

// loneMember returns the name of the only member of a party, "" if there are several. An endpoint need not name
// it.
func loneMember(party *RelyingParty) string {
	switch {
	case party.ForEachNode != nil, party.Pods != nil:
		return ""
	case len(party.Members) == 0:
		return party.Name
	case len(party.Members) == 1:
		return party.Members[0]
	default:
		return ""
	}
}

// setRolloutDefaults makes the aggregate the content of the rollout, unless the configuration names other objects.
func setRolloutDefaults(rollout *StaticPodRollout, aggregate *Aggregate) {
	if aggregate != nil {
		if len(rollout.ConfigMapNames) == 0 {
			rollout.ConfigMapNames = []string{aggregate.ConfigMapName}
		}
		if len(rollout.SecretNames) == 0 {
			rollout.SecretNames = []string{aggregate.SecretName}
		}
		if len(rollout.ReloadedSecretNames) == 0 && slices.Contains(rollout.SecretNames, aggregate.SecretName) {
			rollout.ReloadedSecretNames = []string{aggregate.SecretName}
		}
	}
	rollout.PodConfigMapName = cmp.Or(rollout.PodConfigMapName, rollout.Name+"-pod")
	rollout.FailedRevisionLimit = cmp.Or(rollout.FailedRevisionLimit, DefaultRevisionLimit)
	rollout.SucceededRevisionLimit = cmp.Or(rollout.SucceededRevisionLimit, DefaultRevisionLimit)
	setDefault(&rollout.Coalesce, DefaultCoalesce)
	setDefault(&rollout.InstallerTimeout, DefaultInstallerTimeout)
	setDefault(&rollout.StaticPodTimeout, DefaultStaticPodTimeout)
	setQuorumDefaults(rollout.Quorum)
}

func setQuorumDefaults(quorum *Quorum) {
	if quorum != nil {
		quorum.Strategy = cmp.Or(quorum.Strategy, QuorumAutomatic)
		setDefault(&quorum.Timeout, DefaultQuorumTimeout)
	}
}

func setPolicyDefaults(policy *IssuancePolicy, validity time.Duration, jitter int32) {
	if policy.Key == "" {
		policy.Key = DefaultKeyAlgorithm
	}
	if policy.RenewAtPercent == 0 {
		policy.RenewAtPercent = DefaultRenewAtPercent
	}
	if policy.JitterPercent == nil {
		policy.JitterPercent = &jitter
	}
	setDefault(&policy.Validity, validity)
	setDefault(&policy.Backdate, DefaultBackdate)
}

// leafValidity returns the default validity of the leaves of a signer. It is at most the validity of the signer,
// so that an operator can shorten the validity of the signer alone.
func leafValidity(signer IssuancePolicy) time.Duration {
	return min(DefaultLeafValidity, signer.Validity.Duration)
}

func setDefault(field **metav1.Duration, value time.Duration) {
	if *field == nil {
		*field = &metav1.Duration{Duration: value}
	}
}
