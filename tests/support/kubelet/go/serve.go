// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const idle, creation = 4 * time.Hour, 30 * time.Second

// statusWriter notes the status; an upgraded request's stays 101.
type statusWriter struct {
	http.ResponseWriter
	code int
}

func (w *statusWriter) WriteHeader(code int) { w.code = code; w.ResponseWriter.WriteHeader(code) }
func (w *statusWriter) Flush()               { w.ResponseWriter.(http.Flusher).Flush() }
func (w *statusWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.code = http.StatusSwitchingProtocols
	return w.ResponseWriter.(http.Hijacker).Hijack()
}

func (k *kubelet) handler(streams int) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") })
	mux.HandleFunc("GET /containerLogs/{ns}/{pod}/{container}", k.logs)
	remote := func(w http.ResponseWriter, r *http.Request) {
		p, c := k.find(r.PathValue("ns"), r.PathValue("pod"), r.PathValue("container"))
		if p == nil {
			http.Error(w, "pod does not exist", http.StatusNotFound)
			return
		}
		s := &session{p: p, c: c, ctx: r.Context()}
		if strings.HasPrefix(r.URL.Path, "/portForward/") {
			opts, err := portforward.NewV4Options(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			portforward.ServePortForward(w, r, s, p.key(), p.Metadata.UID, opts, idle, creation, portforward.SupportedProtocols)
			return
		}
		if c != nil {
			s.run, _, _ = c.runs()
		}
		if s.run == nil || !s.running() {
			http.Error(w, fmt.Sprintf("container not found (%q)", r.PathValue("container")), http.StatusNotFound)
			return
		}
		opts, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/attach/") {
			remotecommand.ServeAttach(w, r, s, p.key(), p.Metadata.UID, c.Name, opts, idle, creation,
				remotecommand.SupportedStreamingProtocols)
			return
		}
		remotecommand.ServeExec(w, r, s, p.key(), p.Metadata.UID, c.Name, r.URL.Query()["command"], opts, idle, creation,
			remotecommand.SupportedStreamingProtocols)
	}
	for _, m := range []string{"GET ", "POST "} {
		mux.HandleFunc(m+"/exec/{ns}/{pod}/{container}", remote)
		mux.HandleFunc(m+"/attach/{ns}/{pod}/{container}", remote)
		mux.HandleFunc(m+"/portForward/{ns}/{pod}", remote)
	}
	slots := make(chan struct{}, streams)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sw := &statusWriter{w, http.StatusOK}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(sw, "too many requests at a time (-streams)", http.StatusServiceUnavailable)
			return
		}
		start := time.Now()
		defer func() { logRequest(r, strconv.Itoa(sw.code), start) }()
		mux.ServeHTTP(sw, r)
	})
}

// session is one request, as the streaming library calls back.
type session struct {
	p   *pod
	c   *container
	run *process
	ctx context.Context // ends with the connection
}

func (s *session) running() bool {
	select {
	case <-s.run.done:
		return false
	default:
		return true
	}
}

func (s *session) ExecInContainer(ctx context.Context, _, _, _ string, args []string, in io.Reader,
	out, errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	if len(args) == 0 {
		return errors.New("no command")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.p.ctx, cancel)() // the pod's end ends it, too
	cmd := s.p.command(ctx, s.c, s.run, args...)
	if tty {
		f, err := startPty(cmd)
		if err != nil {
			return err
		}
		defer f.Close()
		go resizes(f, resize)
		if in != nil {
			go io.Copy(f, in)
		}
		copied := make(chan struct{})
		go func() {
			if out == nil {
				out = discard{}
			}
			io.Copy(out, f)
			close(copied)
		}()
		err = cmd.Wait()
		select { // the rest of its output; a child may hold the terminal
		case <-copied:
		case <-time.After(time.Second):
		}
		return exitError(err)
	}
	if out != nil {
		cmd.Stdout = out
	}
	if errs != nil {
		cmd.Stderr = errs
	}
	if in != nil { // not cmd.Stdin: Wait would wait for the client to close it
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		go func() { io.Copy(stdin, in); stdin.Close() }()
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return exitError(cmd.Wait())
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

func exitError(err error) error {
	if code := exitCode(err); code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
	}
	return nil
}

func (s *session) AttachContainer(ctx context.Context, _, _, _ string, in io.Reader, out, errs io.WriteCloser,
	_ bool, resize <-chan remotecommand.TerminalSize) error {
	r := s.run
	if r.cmd == nil {
		return errors.New("the container has no process; see the annotation kubelet-dev/run")
	}
	r.mu.Lock()
	if out != nil {
		r.attached[out] = false
	}
	if errs != nil {
		r.attached[errs] = true
	}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.attached, out)
		delete(r.attached, errs)
		r.mu.Unlock()
	}()
	if r.pty != nil {
		go resizes(r.pty, resize)
	}
	if in != nil && r.stdin != nil {
		go func() {
			io.Copy(r.stdin, in)
			if s.c.StdinOnce && r.pty == nil {
				r.stdin.Close()
			}
		}()
	}
	select {
	case <-r.done:
	case <-ctx.Done():
	}
	return nil
}

func (s *session) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	to := strconv.Itoa(int(port))
	for _, m := range strings.Split(s.p.Metadata.Annotations["kubelet-dev/ports"], ",") {
		if from, there, ok := strings.Cut(m, "="); ok && from == to {
			to = there
			break
		}
	}
	conn, err := net.DialTimeout("tcp", "127.0.0.1:"+to, 5*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(s.ctx, func() { conn.Close() })()
	defer context.AfterFunc(s.p.ctx, func() { conn.Close() })()
	go func() {
		io.Copy(conn, stream)
		conn.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(stream, conn)
	return nil
}

const logTime = "2006-01-02T15:04:05.000000000Z07:00"

func (k *kubelet) logs(w http.ResponseWriter, r *http.Request) {
	_, c := k.find(r.PathValue("ns"), r.PathValue("pod"), r.PathValue("container"))
	if c == nil {
		http.Error(w, "no such pod or container", http.StatusNotFound)
		return
	}
	q := r.URL.Query()
	tail, limit := int64(-1), int64(1<<62)
	var since time.Time
	for name, set := range map[string]func(int64){
		"tailLines":    func(n int64) { tail = n },
		"limitBytes":   func(n int64) { limit = n },
		"sinceSeconds": func(n int64) { since = time.Now().Add(time.Duration(-n) * time.Second) },
	} {
		if v := q.Get(name); v != "" {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil || n < 0 {
				http.Error(w, "not a number: "+name, http.StatusUnprocessableEntity)
				return
			}
			set(n)
		}
	}
	if v := q.Get("sinceTime"); v != "" {
		since, _ = time.Parse(time.RFC3339, v)
	}
	run, previous, waiting := c.runs()
	problem := ""
	switch {
	case q.Get("previous") == "true" && previous == nil:
		problem = fmt.Sprintf("previous terminated container %q in pod %q not found", c.Name, r.PathValue("pod"))
	case q.Get("previous") == "true":
		run = previous
	case run == nil:
		problem = fmt.Sprintf("container %q in pod %q is waiting to start: %s", c.Name, r.PathValue("pod"), waiting)
	}
	var f *os.File
	if problem == "" {
		var err error
		if f, err = os.Open(run.log); err != nil {
			problem = err.Error()
		}
	}
	if problem != "" {
		http.Error(w, problem, http.StatusBadRequest)
		return
	}
	defer f.Close()
	if tail >= 0 { // to the start of the last lines
		all := int64(0)
		for b := bufio.NewReader(f); ; all++ {
			if l, err := b.ReadBytes('\n'); err != nil {
				if len(l) > 0 {
					all++
				}
				break
			}
		}
		f.Seek(0, io.SeekStart)
		tail = max(all-tail, 0)
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	when, line, ended := run.started, []byte(nil), false
	for b := bufio.NewReader(f); ; {
		part, err := b.ReadBytes('\n')
		line = append(line, part...)
		if err != nil { // at the end of the file, perhaps within a line
			w.(http.Flusher).Flush()
			if q.Get("follow") == "true" && !ended {
				select {
				case <-run.done:
					ended = true // and read what it wrote last
				case <-r.Context().Done():
					return
				case <-time.After(20 * time.Millisecond):
				}
				continue
			}
			if len(line) == 0 {
				return
			}
		}
		text := line
		if f := strings.SplitN(string(line), " ", 4); len(f) == 4 && (f[1] == "stdout" || f[1] == "stderr") {
			if t, err := time.Parse(time.RFC3339Nano, f[0]); err == nil {
				when, text = t, []byte(f[3])
				if f[2] == "P" {
					text = []byte(strings.TrimSuffix(f[3], "\n"))
				}
			}
		}
		line = nil
		if tail > 0 {
			tail--
			continue
		}
		if when.Before(since) {
			continue
		}
		if q.Get("timestamps") == "true" {
			text = append([]byte(when.Format(logTime)+" "), text...)
		}
		text = text[:min(int64(len(text)), limit)]
		if _, err := w.Write(text); err != nil {
			return
		}
		if limit -= int64(len(text)); limit <= 0 {
			return
		}
	}
}
