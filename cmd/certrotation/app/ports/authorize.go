// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package ports

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Authorizer answers for the anonymous without asking, whatever a role of the cluster gives them.
func Authorizer(delegated authorizer.Authorizer) authorizer.Authorizer {
	return authorizer.AuthorizerFunc(func(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		switch {
		case !anonymous(a.GetUser()):
			return delegated.Authorize(ctx, a)
		case !a.IsResourceRequest() && health(a.GetPath()):
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionDeny, "", nil
	})
}

func anonymous(who user.Info) bool {
	return who == nil || who.GetName() == "" || who.GetName() == user.Anonymous || slices.Contains(who.GetGroups(), user.AllUnauthenticated)
}

func health(path string) bool { return path == "/livez" || path == "/readyz" || path == "/healthz" }
