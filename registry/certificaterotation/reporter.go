// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/trust"
)

const acknowledgeSubresource = "acknowledge"

// errNobody: the request has no user, because the server does not authenticate.
var errNobody = errors.New("a report needs an account that it comes from")

// mayReport checks whether the user may report for a member. The right to create certificaterotations/acknowledge of
// the signer has been checked before, but it would let one member report for all others. The account is not
// sufficient for a pod either, which shares it with others.
func (a *Actions) mayReport(ctx context.Context, t *target, ack *certrotation.Acknowledgement) error {
	who, ok := genericapirequest.UserFrom(ctx)
	if !ok || who.GetName() == "" {
		return apierrors.NewForbidden(resource(), t.name, errNobody)
	}
	account := accountOf(who)
	if err := a.admitReporter(ctx, t, who, account, ack.Party, ack.Member); err != nil {
		return err
	}
	if err := trust.CheckReportingPod(t.domain, ack.Party, ack.Member, ack.Instance, account); err != nil {
		return refused(t.name, err)
	}
	return nil
}

// accountOf returns the part of a user that registry/trust needs. The pod comes from the token that kube-apiserver
// has authenticated; the aggregator passes it on, as a TokenReview does.
func accountOf(who user.Info) *trust.Account {
	only := func(key string) string {
		if values := who.GetExtra()[key]; len(values) == 1 {
			return values[0]
		}
		return ""
	}
	return &trust.Account{
		Name: who.GetName(), Groups: who.GetGroups(), PodName: only(serviceaccount.PodNameKey), PodUID: only(serviceaccount.PodUIDKey),
	}
}

// admitReporter checks the accounts that the party lists or, if it lists none, a right under the member's name.
func (a *Actions) admitReporter(ctx context.Context, t *target, who user.Info, account *trust.Account, party, member string) error {
	if reporters := trust.ReportersOf(t.domain, party); reporters != nil {
		if reporters.Admit(t.namespace, member, account) {
			return nil
		}
		return apierrors.NewForbidden(resource(), t.name, fmt.Errorf(
			"relying party %s of trust domain %s names who reports for its members, and %q is not named for %s: add the account to relyingParties[].reporters",
			party, t.domain.Name, who.GetName(), member))
	}
	return a.authorizedByName(ctx, t, who, trust.ReportName(t.name, party, member))
}

func (a *Actions) authorizedByName(ctx context.Context, t *target, who user.Info, name string) error {
	decision, _, err := a.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User:            who,
		Verb:            "create",
		Namespace:       t.namespace,
		APIGroup:        v1alpha1.SchemeGroupVersion.Group,
		APIVersion:      v1alpha1.SchemeGroupVersion.Version,
		Resource:        resource().Resource,
		Subresource:     acknowledgeSubresource,
		Name:            name,
		ResourceRequest: true,
	})
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return apierrors.NewInternalError(fmt.Errorf("ask whether %q may acknowledge under the name %s: %w", who.GetName(), name, err))
	}
	return apierrors.NewForbidden(resource(), t.name, fmt.Errorf(
		"%q may not report for this member: bind a Role of the namespace %s with the verb create on certificaterotations/%s of %s and the resourceNames [%s, %s], or name the account in relyingParties[].reporters",
		who.GetName(), t.namespace, acknowledgeSubresource, v1alpha1.SchemeGroupVersion.Group, t.name, name))
}
