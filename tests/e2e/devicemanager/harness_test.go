package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var harnessProgram = flag.String("harness", "", "the built harness")

const patience = 20 * time.Second

// said is one line that the harness wrote.
type said struct {
	Answer   string
	Event    string
	Line     int
	Kubelet  int
	Resource string
	Error    string
	Result   json.RawMessage
	Devices  []struct{ ID, Health string }
	Log      struct{ Msg, Error, ResourceName string }
}

// harness is a running process of the program. For the test's goroutine only.
type harness struct {
	t         *testing.T
	process   *exec.Cmd
	stdin     io.WriteCloser
	directory string
	sent      int
	heard     <-chan said
	unclaimed []said
}

func startHarness(t *testing.T, directory string, flags ...string) *harness {
	t.Helper()
	if *harnessProgram == "" {
		t.Fatal("-harness is missing")
	}
	process := exec.Command(*harnessProgram, append([]string{"-directory", directory}, flags...)...)
	stdin, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	heard := make(chan said, 1024)
	go func() {
		defer close(heard)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var line said
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				line.Event = fmt.Sprintf("not JSON: %s", lines.Text())
			}
			heard <- line
		}
	}()
	h := &harness{t: t, process: process, stdin: stdin, directory: directory, heard: heard}
	t.Cleanup(h.kill)
	h.awaitEvent("started", "")
	return h
}

// kill ends the process as `kill -9` does, and returns when it is gone.
func (h *harness) kill() {
	_ = h.process.Process.Kill()
	for range h.heard {
	}
	_ = h.process.Wait()
}

func (h *harness) socket() string { return filepath.Join(h.directory, "kubelet.sock") }

// await claims the first line, past or future, that fits.
func (h *harness) await(what string, fits func(said) bool) said {
	h.t.Helper()
	for i, line := range h.unclaimed {
		if fits(line) {
			h.unclaimed = append(h.unclaimed[:i:i], h.unclaimed[i+1:]...)
			return line
		}
	}
	deadline := time.After(patience)
	for {
		select {
		case line, open := <-h.heard:
			if !open {
				h.t.Fatalf("the harness ended before: %s; unclaimed: %+v", what, h.unclaimed)
			}
			if fits(line) {
				return line
			}
			h.unclaimed = append(h.unclaimed, line)
		case <-deadline:
			h.t.Fatalf("never came: %s; unclaimed: %+v", what, h.unclaimed)
		}
	}
}

func (h *harness) awaitEvent(event, resource string) said {
	h.t.Helper()
	return h.await(event+" "+resource, func(line said) bool {
		return line.Event == event && line.Resource == resource
	})
}

// send gives the number that the answer will carry.
func (h *harness) send(command string) int {
	h.t.Helper()
	h.sent++
	if _, err := fmt.Fprintln(h.stdin, command); err != nil {
		h.t.Fatal(err)
	}
	return h.sent
}

func (h *harness) awaitAnswer(line int) said {
	h.t.Helper()
	return h.await(fmt.Sprintf("answer to line %d", line), func(s said) bool {
		return s.Answer != "" && s.Line == line
	})
}

// must sends a command that succeeds, and reads its result.
func (h *harness) must(command string, result any) {
	h.t.Helper()
	answer := h.awaitAnswer(h.send(command))
	if answer.Error != "" {
		h.t.Fatalf("%s: %s", command, answer.Error)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		h.t.Fatalf("%s: %s: %v", command, answer.Result, err)
	}
}

// mustFail sends a command that fails, and gives the error's text.
func (h *harness) mustFail(command string) string {
	h.t.Helper()
	answer := h.awaitAnswer(h.send(command))
	if answer.Error == "" {
		h.t.Fatalf("%s: succeeded: %s", command, answer.Result)
	}
	return answer.Error
}
