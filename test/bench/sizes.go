// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
)

// sizes is a flag: positive numbers, separated by commas.
type sizes []int

// String implements flag.Value.
func (s *sizes) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(*s)), " ", ","), "[]")
}

// Set implements flag.Value.
func (s *sizes) Set(text string) error {
	var out sizes
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no positive number", field)
		}
		out = append(out, n)
	}
	*s = out
	return nil
}
