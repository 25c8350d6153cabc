// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/util/flowcontrol"
)

func TestTokensAreLookedAt(t *testing.T) {
	for name, tt := range map[string]struct {
		path, header string
		limited      bool
		want         bool // a token reaches delegated authentication
		refused      bool
	}{
		"metrics":                    {path: "/metrics", header: "Authorization", want: true},
		"metrics of the objectives":  {path: "/metrics/slis", header: "Authorization", want: true},
		"profiles":                   {path: "/debug/pprof/heap", header: "Authorization", want: true},
		"metrics, by web socket":     {path: "/metrics", header: "Sec-WebSocket-Protocol", want: true},
		"metrics, too often":         {path: "/metrics", header: "Authorization", limited: true, refused: true},
		"health":                     {path: "/livez", header: "Authorization"},
		"the API":                    {path: "/apis/certrotation.dev/v1alpha1/bundlestatuses", header: "Authorization"},
		"the API, by web socket":     {path: "/apis/certrotation.dev/v1alpha1/bundlestatuses", header: "Sec-WebSocket-Protocol"},
		"nothing":                    {path: "/", header: "Authorization"},
		"what looks like metrics":    {path: "/metricsx", header: "Authorization"},
		"no token, however often":    {path: "/metrics", limited: true},
		"the API, however often too": {path: "/apis", header: "Authorization", limited: true},
	} {
		t.Run(name, func(t *testing.T) {
			asked, seen := false, false
			delegated := authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
				asked, seen = true, bearsToken(r)
				return nil, false, nil
			})
			limit := flowcontrol.NewFakeAlwaysRateLimiter()
			if tt.limited {
				limit = flowcontrol.NewFakeNeverRateLimiter()
			}
			r := httptest.NewRequest(http.MethodGet, tt.path, http.NoBody)
			if tt.header != "" {
				r.Header.Set(tt.header, "Bearer x")
			}
			_, _, err := limitTokens(delegated, limit).AuthenticateRequest(r)
			if seen != tt.want || (err != nil) != tt.refused || asked == tt.refused {
				t.Errorf("a token is looked at: %t, asked: %t, error %v; want %t, refused %t", seen, asked, err, tt.want, tt.refused)
			}
		})
	}
}

func TestNobodyMakesTheAPIServerWork(t *testing.T) {
	nobody := &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}
	resource := authorizer.AttributesRecord{
		User: nobody, Verb: "list", APIGroup: "certrotation.dev", Resource: "bundlestatuses", Path: "/livez", ResourceRequest: true,
	}
	path := func(who user.Info, path string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{User: who, Verb: "get", Path: path}
	}
	for name, tt := range map[string]struct {
		attributes authorizer.AttributesRecord
		want       authorizer.Decision
		asks       bool
	}{
		"alive":                     {path(nobody, "/livez"), authorizer.DecisionAllow, false},
		"ready":                     {path(nobody, "/readyz"), authorizer.DecisionAllow, false},
		"a check by its name":       {path(nobody, "/readyz/inventory"), authorizer.DecisionDeny, false},
		"metrics":                   {path(nobody, "/metrics"), authorizer.DecisionDeny, false},
		"a path of theirs":          {path(nobody, "/x"), authorizer.DecisionDeny, false},
		"a resource":                {resource, authorizer.DecisionDeny, false},
		"anonymous by the group":    {path(&user.DefaultInfo{Name: "x", Groups: []string{user.AllUnauthenticated}}, "/metrics"), authorizer.DecisionDeny, false},
		"no name":                   {path(&user.DefaultInfo{}, "/metrics"), authorizer.DecisionDeny, false},
		"no user":                   {path(nil, "/metrics"), authorizer.DecisionDeny, false},
		"somebody":                  {path(&user.DefaultInfo{Name: "prometheus"}, "/metrics"), authorizer.DecisionNoOpinion, true},
		"somebody, whether it runs": {path(&user.DefaultInfo{Name: "prometheus"}, "/livez"), authorizer.DecisionNoOpinion, true},
	} {
		t.Run(name, func(t *testing.T) {
			asked := false
			got, _, err := Authorizer(authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
				asked = true
				return authorizer.DecisionNoOpinion, "", nil
			})).Authorize(t.Context(), tt.attributes)
			if err != nil || got != tt.want || asked != tt.asks {
				t.Errorf("decision %v, asked %t, error %v; want %v, %t", got, asked, err, tt.want, tt.asks)
			}
		})
	}
}
