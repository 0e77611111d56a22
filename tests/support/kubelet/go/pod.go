// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// apiPod is what is read of a Pod.
type apiPod struct {
	Metadata struct {
		Name, Namespace, UID       string
		Annotations                map[string]string
		DeletionTimestamp          *string
		DeletionGracePeriodSeconds *int64
	}
	Spec struct {
		NodeName, RestartPolicy    string
		SchedulingGates            []any
		Containers, InitContainers []apiContainer
	}
	Status struct {
		Phase             string
		StartTime         *time.Time
		ContainerStatuses []struct {
			Name         string
			RestartCount int
		}
	}
}

type apiContainer struct {
	Name, Image, RestartPolicy string
	Stdin, StdinOnce, TTY      bool
}

func (p *apiPod) key() string { return p.Metadata.Namespace + "/" + p.Metadata.Name }

type pod struct {
	apiPod
	k          *kubelet
	dir        string
	containers []*container
	ctx        context.Context // ends when the pod is to end
	end        context.CancelFunc
	writing    sync.Mutex // one writer of the status at a time
	mu         sync.Mutex // guards what follows, and the containers
	grace      time.Duration
	ending     bool
	over       bool // it had ended before this kubelet-dev started
}

type container struct {
	apiContainer
	p         *pod
	init      bool
	waiting   string // its reason, if it waits
	cur, prev *process
}

// process is one run of a container; without kubelet-dev/run it has no process.
type process struct {
	n              int
	log            string
	started, ended time.Time
	code           int
	done           chan struct{} // closed at its end
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	pty            *os.File
	mu             sync.Mutex
	attached       map[io.Writer]bool // whether it is stderr that it gets
	written        int64
}

func (k *kubelet) all() (all []*pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pods {
		all = append(all, p)
	}
	return all
}

func (k *kubelet) find(namespace, name, container string) (*pod, *container) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pods[namespace+"/"+name]
	if p != nil {
		for _, c := range p.containers {
			if c.Name == container {
				return p, c
			}
		}
	}
	return p, nil
}

// see takes in a pod as the API has it now.
func (k *kubelet) see(a *apiPod) {
	m := &a.Metadata
	if a.Spec.NodeName == "" && m.DeletionTimestamp == nil && len(a.Spec.SchedulingGates) == 0 &&
		(slices.Contains(k.bind, "*") || slices.Contains(k.bind, m.Namespace)) {
		err := k.call("POST", "/api/v1/namespaces/"+m.Namespace+"/pods/"+m.Name+"/binding", object{
			"apiVersion": "v1", "kind": "Binding", "metadata": object{"name": m.Name, "uid": m.UID},
			"target": object{"kind": "Node", "name": k.node}}, nil)
		if err != nil && code(err) != 404 && code(err) != 409 {
			log.Print(err)
		}
	}
	if a.Spec.NodeName != k.node {
		return
	}
	k.mu.Lock()
	p := k.pods[a.key()]
	if p != nil && p.Metadata.UID != m.UID {
		k.mu.Unlock()
		k.gone(&p.apiPod)
		k.mu.Lock()
		p = nil
	}
	isNew := p == nil
	if isNew {
		p = &pod{apiPod: *a, k: k, dir: filepath.Join(k.data, m.Namespace, m.Name),
			over: a.Status.Phase == "Succeeded" || a.Status.Phase == "Failed"}
		p.ctx, p.end = context.WithCancel(context.Background())
		for i, c := range slices.Concat(a.Spec.InitContainers, a.Spec.Containers) {
			init := i < len(a.Spec.InitContainers)
			p.containers = append(p.containers, &container{apiContainer: c, p: p, init: init,
				waiting: m.Annotations["kubelet-dev/waiting"]})
		}
		if len(a.Status.ContainerStatuses) > 0 {
			p.adopt()
		}
		k.pods[a.key()] = p
	}
	k.mu.Unlock()
	if m.DeletionTimestamp != nil {
		p.delete(a)
	} else if isNew && !p.over {
		p.start()
	}
}

// gone forgets a pod that the API no longer has.
func (k *kubelet) gone(a *apiPod) {
	k.mu.Lock()
	p := k.pods[a.key()]
	if p == nil || p.Metadata.UID != a.Metadata.UID {
		k.mu.Unlock()
		return
	}
	delete(k.pods, a.key())
	k.mu.Unlock()
	p.kill(0)
	os.RemoveAll(p.dir)
}

// adopt finds the runs that an earlier kubelet-dev made.
func (p *pod) adopt() {
	for _, c := range p.containers {
		r := &process{n: p.restarts(c), ended: time.Now(), code: 137, done: make(chan struct{})}
		r.log = filepath.Join(p.dir, c.Name, strconv.Itoa(r.n)+".log")
		_, err := os.Stat(r.log)
		if err != nil || p.Status.StartTime == nil || p.Metadata.Annotations["kubelet-dev/run"] == "" || c.init {
			continue
		}
		r.started = *p.Status.StartTime
		close(r.done)
		c.cur = r
	}
}

func (p *pod) restarts(c *container) int {
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == c.Name {
			return s.RestartCount
		}
	}
	return 0
}

func (p *pod) start() {
	if p.Status.StartTime == nil {
		now := time.Now()
		p.Status.StartTime = &now
	}
	if len(p.Status.ContainerStatuses) == 0 {
		os.RemoveAll(p.dir) // what an earlier pod of that name left
	}
	for _, c := range p.containers {
		if c.waiting != "" {
			continue
		}
		n := p.restarts(c)
		if c.cur != nil {
			n++
		}
		if err := c.run(n); err != nil {
			log.Printf("%s/%s: %v", p.key(), c.Name, err)
			p.mu.Lock()
			c.waiting = "CreateContainerError"
			p.mu.Unlock()
		}
	}
	go p.sync()
}

// kill ends the pod's processes: SIGTERM now, SIGKILL after grace.
func (p *pod) kill(grace time.Duration) {
	p.mu.Lock()
	p.grace = grace
	p.mu.Unlock()
	p.end()
}

// delete ends the pod and then deletes it for good.
func (p *pod) delete(a *apiPod) {
	p.mu.Lock()
	first := !p.ending
	p.ending = true
	p.mu.Unlock()
	if !first {
		return
	}
	grace := time.Duration(0)
	if s := a.Metadata.DeletionGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	p.kill(grace)
	go func() {
		for _, c := range p.containers {
			if r, _, _ := c.runs(); r != nil {
				<-r.done
			}
		}
		p.sync()
		err := p.k.call("DELETE", "/api/v1/namespaces/"+p.Metadata.Namespace+"/pods/"+p.Metadata.Name,
			object{"gracePeriodSeconds": 0, "preconditions": object{"uid": p.Metadata.UID}}, nil)
		if err != nil && code(err) != 404 && code(err) != 409 {
			log.Print(err)
		}
	}()
}

func (c *container) runs() (cur, prev *process, waiting string) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	return c.cur, c.prev, c.waiting
}

// run starts the container's Nth run.
func (c *container) run(n int) error {
	p := c.p
	r := &process{n: n, started: time.Now(), done: make(chan struct{}), attached: map[io.Writer]bool{}}
	r.log = filepath.Join(p.dir, c.Name, strconv.Itoa(n)+".log")
	if err := os.MkdirAll(filepath.Dir(r.log), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(r.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	os.Remove(filepath.Join(p.dir, c.Name, strconv.Itoa(n-2)+".log"))
	script := p.Metadata.Annotations["kubelet-dev/run"]
	copied := make(chan struct{})
	stdout := &sink{r: r, f: f, name: "stdout"}
	stderr := &sink{r: r, f: f, name: "stderr"}
	if script != "" && !c.init {
		// Its own context: SIGKILL comes after the grace, not with the pod's end.
		r.cmd = p.command(context.Background(), c, r, "bash", "-c", script)
		if c.TTY {
			if r.pty, err = startPty(r.cmd); err == nil {
				if c.Stdin {
					r.stdin = r.pty
				}
				go func() { io.Copy(stdout, r.pty); stdout.flush(); close(copied) }()
			}
		} else {
			close(copied)
			r.cmd.Stdout, r.cmd.Stderr = stdout, stderr
			if c.Stdin {
				r.stdin, err = r.cmd.StdinPipe()
			}
			if err == nil {
				err = r.cmd.Start()
			}
		}
		if err != nil {
			f.Close()
			return err
		}
	} else {
		f.Close()
	}
	p.mu.Lock() // before its end can be noted
	c.waiting, c.cur, c.prev = "", r, c.cur
	p.mu.Unlock()
	switch {
	case r.cmd != nil:
		p.k.ended.Add(1)
		go r.killWith(p)
		go func() {
			defer p.k.ended.Done()
			r.code = exitCode(r.cmd.Wait())
			signalGroup(r.cmd, syscall.SIGKILL) // what it left behind
			if c.TTY {
				select {
				case <-copied:
				case <-time.After(time.Second):
				}
				r.pty.Close()
			}
			stdout.flush()
			stderr.flush()
			f.Close()
			c.over(r)
		}()
	case c.init && c.RestartPolicy != "Always":
		p.mu.Lock()
		r.ended = r.started
		p.mu.Unlock()
		close(r.done)
	default:
		context.AfterFunc(p.ctx, func() { c.over(r) })
	}
	return nil
}

// killWith ends the process when the pod is to end.
func (r *process) killWith(p *pod) {
	select {
	case <-r.done: // its id may be another's by now
		return
	case <-p.ctx.Done():
	}
	p.mu.Lock()
	grace := p.grace
	p.mu.Unlock()
	if grace > 0 {
		signalGroup(r.cmd, syscall.SIGTERM)
		select {
		case <-r.done:
			return
		case <-time.After(grace):
		}
	}
	signalGroup(r.cmd, syscall.SIGKILL)
}

// over notes the end of a run and makes the next one, if there is to be one.
func (c *container) over(r *process) {
	p := c.p
	p.mu.Lock()
	r.ended = time.Now()
	again := p.ctx.Err() == nil && (p.Spec.RestartPolicy == "Always" ||
		p.Spec.RestartPolicy == "OnFailure" && r.code != 0)
	if again {
		c.waiting, c.prev = "CrashLoopBackOff", r
	}
	p.mu.Unlock()
	close(r.done)
	if p.ctx.Err() == nil {
		p.sync()
	}
	if !again {
		return
	}
	select {
	case <-time.After(time.Second):
		if err := c.run(r.n + 1); err != nil {
			log.Printf("%s/%s: %v", p.key(), c.Name, err)
		}
		p.sync()
	case <-p.ctx.Done():
	}
}

// sync writes the pod's status to the API.
func (p *pod) sync() {
	if p.over {
		return
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	p.mu.Lock()
	when := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	id := func(c *container, r *process) string {
		return fmt.Sprintf("kubelet-dev://%s-%s-%d", p.Metadata.UID, c.Name, r.n)
	}
	terminated := func(c *container, r *process) object {
		reason := "Completed"
		if r.code != 0 {
			reason = "Error"
		}
		return object{"terminated": object{"exitCode": r.code, "reason": reason,
			"startedAt": when(r.started), "finishedAt": when(r.ended), "containerID": id(c, r)}}
	}
	statuses := map[bool][]object{false: {}, true: {}}
	ready, running, failed, waiting := true, false, false, false
	for _, c := range p.containers {
		s := object{"name": c.Name, "image": c.Image, "imageID": "", "restartCount": 0, "ready": false, "started": false}
		up := false
		switch {
		case c.cur != nil && c.cur.ended.IsZero():
			up = true
			s["state"] = object{"running": object{"startedAt": when(c.cur.started)}}
		case c.waiting != "":
			s["state"] = object{"waiting": object{"reason": c.waiting, "message": "as kubelet-dev was told"}}
			waiting = true
		case c.cur != nil:
			s["state"] = terminated(c, c.cur)
			failed = failed || c.cur.code != 0
		}
		if c.cur != nil {
			s["restartCount"], s["containerID"] = c.cur.n, id(c, c.cur)
		}
		if c.prev != nil {
			s["lastState"] = terminated(c, c.prev)
		}
		s["started"] = up
		s["ready"] = up || c.init && c.cur != nil
		ready = ready && s["ready"].(bool)
		running = running || up && !c.init
		statuses[c.init] = append(statuses[c.init], s)
	}
	phase := "Running"
	switch {
	case waiting && !running && !slices.ContainsFunc(p.containers, func(c *container) bool { return c.cur != nil && !c.init }):
		phase = "Pending"
	case !running && !waiting && failed:
		phase = "Failed"
	case !running && !waiting:
		phase = "Succeeded"
	}
	p.mu.Unlock()
	is := map[bool]string{false: "False", true: "True"}
	var conditions []object
	for _, c := range []struct {
		name string
		is   bool
	}{{"PodReadyToStartContainers", true}, {"Initialized", true}, {"Ready", ready},
		{"ContainersReady", ready}, {"PodScheduled", true}} {
		conditions = append(conditions, object{"type": c.name, "status": is[c.is], "lastTransitionTime": when(time.Now())})
	}
	ip := []object{{"ip": "127.0.0.1"}}
	status := object{"phase": phase, "startTime": when(*p.Status.StartTime), "conditions": conditions,
		"hostIP": "127.0.0.1", "hostIPs": ip, "podIP": "127.0.0.1", "podIPs": ip,
		"containerStatuses": statuses[false], "initContainerStatuses": statuses[true]}
	err := p.k.call("PATCH", "/api/v1/namespaces/"+p.Metadata.Namespace+"/pods/"+p.Metadata.Name+"/status",
		object{"metadata": object{"uid": p.Metadata.UID}, "status": status}, nil)
	if err != nil && code(err) != 404 && code(err) != 409 {
		log.Print(err)
	}
}

// command is a local program in the pod's folder, and killed, with all that it
// started, when ctx ends.
func (p *pod) command(ctx context.Context, c *container, r *process, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TERM=xterm", "LANG=C.UTF-8",
		"NAMESPACE=" + p.Metadata.Namespace, "POD=" + p.Metadata.Name, "CONTAINER=" + c.Name,
		"RESTARTS=" + strconv.Itoa(r.n), "LOG=" + r.log}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // so a process group, too
	cmd.Cancel = func() error { return signalGroup(cmd, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

func signalGroup(cmd *exec.Cmd, s syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, s) }

// exitCode is the status as a shell has it: 128 and the number for a signal.
func exitCode(err error) int {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return 0 // ended well, if perhaps with a pipe left open by a child
	}
	if s, ok := e.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return e.ExitCode()
}

// sink takes a run's output: whole lines go to its log, all at once to who attached.
type sink struct {
	r    *process
	f    *os.File
	name string
	line []byte
}

const maxLine, maxLog = 16 << 10, 256 << 20

func (s *sink) Write(b []byte) (int, error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	for w, stderr := range s.r.attached {
		if stderr == (s.name == "stderr") {
			if _, err := w.Write(b); err != nil {
				delete(s.r.attached, w)
			}
		}
	}
	for rest := b; len(rest) > 0; {
		part := rest[:min(len(rest), maxLine-len(s.line))]
		i := bytes.IndexByte(part, '\n')
		if i >= 0 {
			part = part[:i]
		}
		s.line = append(s.line, part...)
		rest = rest[len(part):]
		if i >= 0 {
			rest = rest[1:]
			s.put("F")
		} else if len(s.line) == maxLine {
			s.put("P")
		}
	}
	return len(b), nil
}

func (s *sink) put(tag string) {
	l := time.Now().UTC().Format(logTime) + " " + s.name + " " + tag + " " + strings.TrimSuffix(string(s.line), "\r") + "\n"
	s.line = s.line[:0]
	if s.r.written += int64(len(l)); s.r.written <= maxLog {
		s.f.WriteString(l)
	}
}

func (s *sink) flush() {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if len(s.line) > 0 {
		s.put("P")
	}
}
