// A kubelet without pods of its own: the device manager and the topology manager of Kubernetes,
// in a directory of the test's choice, led by lines on stdin. README.md gives the protocol.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-logr/logr/funcr"
	"google.golang.org/grpc/binarylog"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

func main() {
	directory := flag.String("directory", "", "the device plugins' directory, kubelet.sock's place; made if absent")
	numa := flag.String("numa", "0", "the machine's NUMA nodes, with commas")
	policy := flag.String("topology-policy", topologymanager.PolicyNone, "the topology manager's policy, as the kubelet names it")
	scope := flag.String("topology-scope", "container", "the topology manager's scope: container or pod")
	registry := flag.String("plugins-registry", "", "the directory of the plugin registry's sockets; made if absent; without it there is no registry")
	podResources := flag.String("pod-resources", "", "a socket for the kubelet's pod resources, its directory made if absent; without it there is none")
	podsAPI := flag.String("pods-api", "", "a socket for the pods API that kubelets have from 1.37 on, its directory made if absent; earlier ones have none")
	wire := flag.Bool("wire", false, "every message between the kubelet and its plugins is an event")
	wait := flag.Bool("wait", false, "no manager runs until `start`")
	verbosity := flag.Int("v", 0, "the kubelet's log verbosity, for log events")
	flag.Parse()
	nodes, err := numaNodes(*numa)
	if err != nil || *directory == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}

	if *wire {
		logCallsFromTheStart()
	}
	out := newOutput(os.Stdout)
	routeLog(out, *verbosity)
	absolute, err := filepath.Abs(*directory)
	if err != nil {
		fail(err)
	}
	if *wire {
		binarylog.SetSink(wireLog{out, absolute})
	}
	kubelet := &kubelet{
		socket:         filepath.Join(absolute, "kubelet.sock"),
		registry:       *registry,
		podResources:   *podResources,
		podsAPI:        *podsAPI,
		nodes:          nodes,
		topologyPolicy: *policy,
		topologyScope:  *scope,
		out:            out,
	}
	if !*wait {
		if err := kubelet.start(); err != nil {
			fail(err)
		}
	}
	serve(bufio.NewScanner(os.Stdin), kubelet, out)
}

// serve obeys lines until `quit` or their end. What admits or starts pods goes one at a time, as in
// the kubelet, calls of a plugin beside everything, and the rest at once: a plugin that hangs in Allocate must not hide the kubelet's state.
func serve(lines *bufio.Scanner, kubelet *kubelet, out *output) {
	admissions := make(chan func(), 1024)
	go func() {
		for admit := range admissions {
			admit()
		}
	}()
	for number := 1; lines.Scan(); number++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		name, line := words[0], number
		command, known := commands[name]
		if !known {
			out.answer(name, line, nil, fmt.Errorf("unknown command"))
			continue
		}
		obey := func() {
			result, err := command.run(kubelet, words[1:])
			out.answer(name, line, result, err)
		}
		switch {
		case command.admits:
			admissions <- obey
		case command.apart:
			go obey()
		default:
			obey()
		}
		if name == "quit" {
			return
		}
	}
	if _, err := commands["quit"].run(kubelet, nil); err != nil {
		fail(err)
	}
}

// routeLog makes every line that the kubelet logs an event.
func routeLog(out *output, verbosity int) {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	if err := flags.Set("v", strconv.Itoa(verbosity)); err != nil {
		fail(err)
	}
	sink := funcr.NewJSON(out.log, funcr.Options{Verbosity: verbosity})
	klog.SetLoggerWithOptions(sink, klog.ContextualLogger(true))
}

func numaNodes(list string) ([]int, error) {
	var nodes []int
	for _, word := range strings.Split(list, ",") {
		id, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, id)
	}
	return nodes, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
