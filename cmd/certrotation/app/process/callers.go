// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/util/flowcontrol"
)

// Rate limits of bearer tokens. Prometheus scrapes a few times a minute.
const (
	tokensPerSecond = 5
	tokensAtOnce    = 20
)

// errBusy rejects a token above the limit, valid or not.
var errBusy = errors.New("too many bearer tokens, try again later")

// headersOfTokens are the headers in which delegated authentication looks for a bearer token.
var headersOfTokens = []string{"Authorization", "Sec-WebSocket-Protocol"}

// Authenticator passes bearer tokens to delegated authentication only on paths that need them, and at a limited rate.
func Authenticator(delegated authenticator.Request) authenticator.Request {
	return limitTokens(delegated, flowcontrol.NewTokenBucketPassiveRateLimiter(tokensPerSecond, tokensAtOnce))
}

func limitTokens(delegated authenticator.Request, limit flowcontrol.PassiveRateLimiter) authenticator.Request {
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		if !bearsToken(r) {
			return delegated.AuthenticateRequest(r)
		}
		if !takesTokens(r.URL.Path) {
			for _, header := range headersOfTokens {
				r.Header.Del(header)
			}
			return delegated.AuthenticateRequest(r)
		}
		if !limit.TryAccept() {
			return nil, false, errBusy
		}
		return delegated.AuthenticateRequest(r)
	})
}

func bearsToken(r *http.Request) bool {
	for _, header := range headersOfTokens {
		if len(r.Header.Values(header)) > 0 {
			return true
		}
	}
	return false
}

// takesTokens reports whether clients call a path directly with a bearer token.
func takesTokens(path string) bool {
	return path == "/metrics" || strings.HasPrefix(path, "/metrics/") || strings.HasPrefix(path, "/debug/")
}

// Authorizer decides anonymous requests without asking the API server, and ignores the roles that the cluster gives
// them.
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
