// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package nodes

import (
	"context"
	"errors"
	"net"
)

func dialFrom(context.Context, string, string, string) (net.Conn, error) {
	return nil, errors.New("real nodes need Linux")
}
