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

// acknowledgeSubresource is the resource for which the right to report is checked.
const acknowledgeSubresource = "acknowledge"

// errNobody answers for a request without a user: a server without authentication takes no reports.
var errNobody = errors.New("a report needs an account that it comes from")

// mayReport decides whether the user of a request may report for a member. That the user may create
// certificaterotations/acknowledge of the signer has been checked already and is not sufficient: it would let one
// member report for all others. Neither is this for a pod, which shares its account with others.
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

// accountOf is what the model has to know of a user. The pod is what kube-apiserver says of the token that it has
// authenticated: the aggregator passes it on, as a TokenReview does.
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

// admitReporter decides by the names that the party lists, or else by a right under the name of the member.
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

// authorizedByName asks the API server for the right to acknowledge under the name of one member.
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
