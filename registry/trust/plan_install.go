// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"time"

	"certrotation.dev/registry/pki"
)

// PlanInstall lists the steps that follow when certificates are installed as the CA that was requested. It returns a
// *Refusal if they cannot be: see checkInstall. Their order does not matter.
func PlanInstall(d *Domain, certs []*pki.Certificate, now time.Time) (*Plan, error) {
	a := decide(d, now)
	if refusal := a.checkInstall(certs); refusal != nil {
		return nil, refusal
	}
	ca, issuers := installed(d.Signer.Request, certs)
	if found := Judge(d, d.withInstalled(ca, issuers), now); len(found) > 0 {
		return nil, &Refusal{Invariant: found[0].Invariant, Message: found[0].Message + "; " + found[0].SafeWay}
	}
	return finish(a.planSigner()), nil
}
