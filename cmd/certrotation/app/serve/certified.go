// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"
	"k8s.io/utils/set"
)

// certified passes on the requests of clients with a certificate of one of the CAs, and of one of the common names if there
// are any. Everybody else gets an answer that says nothing, before a byte of the body is read.
func certified(cas dynamiccertificates.CAContentProvider, names []string, next http.Handler) http.Handler {
	authenticator := x509.NewDynamic(cas.VerifyOptions, x509.CommonNameUserConversion)
	allowed := set.New(names...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, ok, err := authenticator.AuthenticateRequest(r)
		switch {
		case err != nil || !ok:
			if err != nil {
				klog.FromContext(r.Context()).V(2).Info("Refused a client certificate on the webhook port", "reason", err.Error())
			}
			http.Error(w, stranger, http.StatusUnauthorized)
		case allowed.Len() > 0 && !allowed.Has(who.User.GetName()):
			http.Error(w, stranger, http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
