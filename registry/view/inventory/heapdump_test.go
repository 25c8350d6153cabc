// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// heapRecords has the layout of each record of runtime/heapdump.go up to the statistics: i is a number, m is memory
// with its length, and f are fields, which end with a zero.
var heapRecords = map[uint64]string{
	1: "imf", 2: "mi", 3: "iimi", 4: "iiiiiiiimiiii", 5: "iiimiiimf", 6: "iiiimmi", 7: "iiiii", 8: "ii", 9: "iii",
	11: "iiiii", 12: "imf", 13: "imf", 14: "iiiiiii", 15: "iiiiii",
}

const (
	heapObject, heapData, heapBSS = 1, 12, 13
	heapStatistics                = 10
)

// heldMemory returns the objects and variables of a heap dump. It leaves out the frames of goroutines: a stack is
// used again without being cleared, so a frame has bytes of functions of other goroutines that have returned, which
// no code can reach. That of debug.WriteHeapDump alone has room for 5 KiB.
func heldMemory(dump []byte) ([]byte, error) {
	in := bufio.NewReader(bytes.NewReader(dump))
	if _, err := in.ReadString('\n'); err != nil {
		return nil, fmt.Errorf("read the header: %w", err)
	}
	var held []byte
	for {
		tag, err := binary.ReadUvarint(in)
		if err != nil {
			return nil, fmt.Errorf("read a tag: %w", err)
		}
		if tag == heapStatistics {
			return held, nil
		}
		layout, known := heapRecords[tag]
		if !known {
			return nil, fmt.Errorf("tag %d is unknown", tag)
		}
		memory, err := readRecord(in, layout)
		if err != nil {
			return nil, fmt.Errorf("read a record with tag %d: %w", tag, err)
		}
		switch tag {
		case heapObject, heapData, heapBSS:
			held = append(held, memory...)
		}
	}
}

// readRecord returns the last memory of a record.
func readRecord(in *bufio.Reader, layout string) ([]byte, error) {
	var memory []byte
	for _, part := range layout {
		n, err := binary.ReadUvarint(in)
		if err != nil {
			return nil, err
		}
		switch part {
		case 'm':
			memory = make([]byte, n)
			if _, err := io.ReadFull(in, memory); err != nil {
				return nil, err
			}
		case 'f':
			for ; n != 0; n, err = binary.ReadUvarint(in) {
				if _, err := binary.ReadUvarint(in); err != nil {
					return nil, err
				}
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return memory, nil
}
