// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const maxReason = 1024

// evidenceKinds in the order in which they are offered.
var evidenceKinds = []EvidenceKind{
	EvidenceTLSProbe, EvidenceAcknowledgement, EvidenceGracePeriod, EvidenceRenewed, EvidenceStaticPodRevision, EvidenceWorkloadRollout,
	EvidenceMounted, EvidenceCABundle, EvidenceNone,
}

// validateEvidence expects evidence with defaults.
func validateEvidence(party *RelyingParty, domain *declaredDomain, path *field.Path) field.ErrorList {
	evidence, kind := party.Evidence, path.Child("kind")
	var errs field.ErrorList
	switch evidence.Kind {
	case EvidenceTLSProbe:
		if evidence.TLSProbe == nil {
			errs = append(errs, field.Required(path.Child("tlsProbe"), "the kind tlsProbe needs endpoints"))
		}
		if domain.verifiesAnything(party) && !domain.verifiesClients(party) {
			errs = append(errs, field.Invalid(kind, evidence.Kind, "a probe sees only whose client certificates a server accepts, and the party "+
				"verifies no leaf with the usage ClientAuth: a server that asks for none says verifies: {nothing: true}, and what it "+
				"verifies as a client is another party with evidence of another kind such as acknowledgement"))
		}
	case EvidenceGracePeriod:
		if evidence.GracePeriod == nil {
			errs = append(errs, field.Required(path.Child("gracePeriod"), "the kind gracePeriod needs one"))
		}
	case EvidenceRenewed:
		if evidence.Renewed == nil {
			errs = append(errs, field.Required(path.Child("renewed"), "nothing observes that a renewed leaf is presented: say after which "+
				"minimumDelay it is"))
		}
	case EvidenceStaticPodRevision:
		if party.ForEachNode == nil {
			errs = append(errs, field.Invalid(kind, evidence.Kind, "is seen on nodes: the party needs forEachNode"))
		}
	case EvidenceWorkloadRollout:
		errs = append(errs, validateStart(party, domain, kind)...)
	case EvidenceMounted:
		errs = append(errs, validateMounting(party, path)...)
	case EvidenceCABundle:
		if evidence.CABundle == nil {
			errs = append(errs, field.Required(path.Child("caBundle"), "nothing observes when a kube-apiserver begins to verify by what was written: say after "+
				"which minimumDelay it does"))
		}
	case EvidenceNone:
		if strings.TrimSpace(evidence.Reason) == "" {
			errs = append(errs, field.Required(path.Child("reason"), "say why no evidence is needed: it is shown wherever somebody relies on it"))
		}
	case EvidenceAcknowledgement:
	case "":
		return field.ErrorList{field.Required(kind, "")}
	default:
		return field.ErrorList{field.NotSupported(kind, evidence.Kind, evidenceKinds)}
	}
	return append(errs, validateParameters(party, domain, path)...)
}

// validateParameters validates the parameters that are set, each of which belongs to one kind.
func validateParameters(party *RelyingParty, domain *declaredDomain, path *field.Path) field.ErrorList {
	evidence := party.Evidence
	var errs field.ErrorList
	if evidence.TLSProbe != nil {
		errs = append(errs, onlyWith(EvidenceTLSProbe, evidence.Kind, path.Child("tlsProbe"))...)
		errs = append(errs, validateProbe(party, domain, path.Child("tlsProbe"))...)
	}
	if evidence.GracePeriod != nil {
		errs = append(errs, onlyWith(EvidenceGracePeriod, evidence.Kind, path.Child("gracePeriod"))...)
		errs = append(errs, validateDuration(evidence.GracePeriod, path, "gracePeriod")...)
	}
	if evidence.Renewed != nil {
		errs = append(errs, onlyWith(EvidenceRenewed, evidence.Kind, path.Child("renewed"))...)
		errs = append(errs, validateDuration(&evidence.Renewed.MinimumDelay, path.Child("renewed"), "minimumDelay")...)
	}
	if evidence.WorkloadRollout != nil {
		errs = append(errs, onlyWith(EvidenceWorkloadRollout, evidence.Kind, path.Child("workloadRollout"))...)
		errs = append(errs, validateWorkloadRollout(evidence.WorkloadRollout, path.Child("workloadRollout"))...)
	}
	if evidence.Mounted != nil {
		errs = append(errs, onlyWith(EvidenceMounted, evidence.Kind, path.Child("mounted"))...)
		errs = append(errs, validateMounted(party, domain, path.Child("mounted"))...)
	}
	if evidence.CABundle != nil {
		errs = append(errs, onlyWith(EvidenceCABundle, evidence.Kind, path.Child("caBundle"))...)
		errs = append(errs, validateDuration(&evidence.CABundle.MinimumDelay, path.Child("caBundle"), "minimumDelay")...)
	}
	if evidence.Lease != nil {
		errs = append(errs, onlyWith(EvidenceAcknowledgement, evidence.Kind, path.Child("lease"))...)
		errs = append(errs, validateDuration(evidence.Lease, path, "lease")...)
	}
	if evidence.Reason != "" {
		errs = append(errs, onlyWith(EvidenceNone, evidence.Kind, path.Child("reason"))...)
		if utf8.RuneCountInString(evidence.Reason) > maxReason {
			errs = append(errs, field.TooLongCharacters(path.Child("reason"), evidence.Reason, maxReason))
		}
	}
	return errs
}

func onlyWith(want, got EvidenceKind, path *field.Path) field.ErrorList {
	if want == got {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf("only with the kind %s", want))}
}
