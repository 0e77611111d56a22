// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// bench is one end of what argobus-bench wants carried: the server sends messages on a number of streams, each on a
// connection of its own, and the client answers each message. Both print what it took.
type bench struct {
	certs                                 string
	port, streams, count, message, answer int
	window                                int // messages of a stream that are not answered yet

	first sync.Once
	begun time.Time
	cpu   time.Duration
	open  sync.WaitGroup // streams that have to come
	ended sync.WaitGroup // streams that have to end
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	die(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// begin is called before each message.
func (b *bench) begin() {
	b.first.Do(func() { b.begun, b.cpu = time.Now(), cpuTime() })
}

func (b *bench) report() {
	b.ended.Wait()
	fmt.Println(time.Since(b.begun).Nanoseconds(), (cpuTime() - b.cpu).Nanoseconds())
}

func (b *bench) tls(name, key string) *tls.Config {
	pair, err := tls.LoadX509KeyPair(filepath.Join(b.certs, name+".crt"), filepath.Join(b.certs, key+".key"))
	die(err)
	pem, err := os.ReadFile(filepath.Join(b.certs, "ca.crt"))
	die(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool, MinVersion: tls.VersionTLS13,
		ClientAuth: tls.RequireAndVerifyClientCert, ServerName: "localhost",
	}
}

// send is the server's end of a stream.
func (b *bench) send(s grpc.ServerStream) error {
	share := b.count / b.streams
	room := make(chan struct{}, b.window)
	message := fill(b.message)
	b.open.Done()
	b.open.Wait()
	go func() {
		for range share {
			room <- struct{}{}
			b.begin()
			die(s.SendMsg(&message))
		}
	}()
	for range share {
		var m []byte
		die(s.RecvMsg(&m))
		<-room
	}
	b.ended.Done()
	return nil
}

func (b *bench) serve() {
	server := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.Creds(credentials.NewTLS(b.tls("server", "server"))))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bench.Events", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: "Take", ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, s grpc.ServerStream) error { return b.send(s) },
		}},
	}, nil)
	listener, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", b.port))
	die(err)
	go func() { die(server.Serve(listener)) }()
	b.report()
	server.GracefulStop()
}

// take is the client's end of a stream.
func (b *bench) take(i int) {
	creds := credentials.NewTLS(b.tls(fmt.Sprint("w", i), "agent"))
	c, err := grpc.NewClient(fmt.Sprint("passthrough:///127.0.0.1:", b.port), grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.WaitForReady(true)))
	die(err)
	s, err := c.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		"/bench.Events/Take")
	die(err)
	answer := fill(b.answer)
	for range b.count / b.streams {
		var m []byte
		die(s.RecvMsg(&m))
		b.begin()
		die(s.SendMsg(&answer))
	}
	b.ended.Done()
	die(s.CloseSend())
	var m []byte
	if err := s.RecvMsg(&m); err != io.EOF {
		die(fmt.Errorf("at the end: %w", err))
	}
}

func (b *bench) dial() {
	var streams sync.WaitGroup
	for i := range b.streams {
		streams.Go(func() { b.take(i) })
	}
	b.report()
	streams.Wait()
}

func runBench(args []string) {
	var b bench
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	serve := flags.Bool("serve", false, "send, as the server")
	flags.StringVar(&b.certs, "certs", "", "folder")
	flags.IntVar(&b.port, "port", 0, "of the server")
	flags.IntVar(&b.streams, "streams", 1, "")
	flags.IntVar(&b.count, "count", 1, "messages on all streams")
	flags.IntVar(&b.message, "message", 1, "bytes")
	flags.IntVar(&b.answer, "answer", 1, "bytes")
	flags.IntVar(&b.window, "window", 1, "messages of a stream that wait for an answer")
	die(flags.Parse(args))
	b.open.Add(b.streams)
	b.ended.Add(b.streams)
	if *serve {
		b.serve()
	} else {
		b.dial()
	}
}
