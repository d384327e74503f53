// A service in Go: goroutines that match orders, and a log that outlives it.
//
//	go build && ./service DIRECTORY [ORDERS] [end | kill]
//
// With kill, it dies of SIGKILL; mmlog-decode DIRECTORY shows all that it has logged.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
)

func work(log Logger, number, orders int) {
	for order := 1; order <= orders; order++ {
		if order%20 == 0 {
			log.Log(Warning, "order refused", "order", order, "venue", "XETR", "price", 100.25, "worker", number, "late", true)
		} else {
			log.Log(Info, fmt.Sprintf("order %d of worker %d accepted", order, number))
		}
	}
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: service DIRECTORY [ORDERS] [end | kill]")
		os.Exit(2)
	}
	orders := 1000
	if len(os.Args) > 2 {
		orders, _ = strconv.Atoi(os.Args[2])
	}
	store, err := Open(os.Args[1], "service")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	log := store.Logger("service")
	log.Log(Info, fmt.Sprintf("%d orders for each of 3 workers", orders))
	log.Log(Debug, "is not recorded")
	matching := store.Logger("service.matching")
	var workers sync.WaitGroup
	for number := 0; number < 3; number++ {
		workers.Add(1)
		go func(number int) {
			defer workers.Done()
			work(matching, number, orders)
		}(number)
	}
	workers.Wait()
	log.Log(Notice, "all orders are done")
	if len(os.Args) > 3 && os.Args[3] == "kill" {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if err := store.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
