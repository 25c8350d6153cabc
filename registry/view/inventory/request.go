// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"fmt"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// RequestIn reads the request of a signer Secret for a CA whose key the Secret holds. It checks the key and does not keep
// it. Both are nil if there is none.
func RequestIn(data map[string][]byte) (*pki.AuthorityRequest, *Fault) {
	if blank(data[RequestCSRKey]) && blank(data[RequestKeyKey]) {
		return nil, nil
	}
	request, err := pki.ParseRequest(data[RequestCSRKey])
	if err != nil {
		return nil, unparsable(RequestCSRKey, err)
	}
	switch err := request.CheckKey(data[RequestKeyKey]); {
	case err == nil:
		return request, nil
	case errors.Is(err, pki.ErrKeyMismatch):
		return nil, &Fault{Reason: trust.ReasonKeyMismatch, Text: fmt.Sprintf("the key under %s does not belong to the request under %s", RequestKeyKey, RequestCSRKey)}
	default:
		return nil, unparsable(RequestKeyKey, err)
	}
}

// DropRequest removes the request and its key.
func DropRequest(data map[string][]byte) {
	delete(data, RequestCSRKey)
	delete(data, RequestKeyKey)
}
