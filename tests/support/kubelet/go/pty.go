// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// startPty starts cmd (with Setsid) on a new pseudo-terminal and returns our end.
func startPty(cmd *exec.Cmd) (*os.File, error) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	var unlock, n int32
	err = ioctl(f, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	if err == nil {
		err = ioctl(f, syscall.TIOCGPTN, unsafe.Pointer(&n))
	}
	var tty *os.File
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err == nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		cmd.SysProcAttr.Setctty = true
		err = cmd.Start()
		tty.Close()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// resizes sets the size of a terminal as often as one comes, also past its end.
func resizes(f *os.File, sizes <-chan remotecommand.TerminalSize) {
	for s := range sizes {
		ioctl(f, syscall.TIOCSWINSZ, unsafe.Pointer(&[4]uint16{s.Height, s.Width}))
	}
}

// ioctl goes by SyscallConn, which unlike Fd is safe with a Close at the same time.
func ioctl(f *os.File, request uintptr, arg unsafe.Pointer) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	err = c.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(arg))
	})
	if err == nil && errno != 0 {
		err = errno
	}
	return err
}
