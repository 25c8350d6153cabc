// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Table builds the table of an object or a list: one row for each object, with the cells that row returns.
func Table(object, options runtime.Object, headers []metav1.TableColumnDefinition, row func(runtime.Object) ([]any, error)) (*metav1.Table, error) {
	table := &metav1.Table{}
	if tableOptions, ok := options.(*metav1.TableOptions); !ok || !tableOptions.NoHeaders {
		table.ColumnDefinitions = headers
	}
	add := func(item runtime.Object) error {
		cells, err := row(item)
		if err != nil {
			return err
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: item}})
		return nil
	}
	if !meta.IsListType(object) {
		return table, copyVersion(object, table, add(object))
	}
	return table, copyVersion(object, table, meta.EachListItem(object, add))
}

// copyVersion copies the metadata that a client needs for paging and watching.
func copyVersion(object runtime.Object, table *metav1.Table, err error) error {
	if err != nil {
		return err
	}
	if list, err := meta.ListAccessor(object); err == nil {
		table.ResourceVersion = list.GetResourceVersion()
		table.Continue = list.GetContinue()
		table.RemainingItemCount = list.GetRemainingItemCount()
		return nil
	}
	single, err := meta.CommonAccessor(object)
	if err != nil {
		return fmt.Errorf("make a table of %T: %w", object, err)
	}
	table.ResourceVersion = single.GetResourceVersion()
	return nil
}
