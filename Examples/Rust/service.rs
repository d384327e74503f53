//! A service in Rust: threads that match orders, and a log that outlives it.
//!
//!     rustc -O service.rs $(pkg-config --libs mmlog | sed 's/-lstdc++/-ldylib=stdc++/')
//!     ./service DIRECTORY [ORDERS] [end | kill]
//!
//! With `kill`, it dies of SIGKILL; `mmlog-decode DIRECTORY` shows all that it has logged.

mod mmlog;

use std::os::raw::c_int;

use mmlog::{Level, Logger, Store};

const SIGKILL: c_int = 9;

extern "C" {
    fn raise(signal: c_int) -> c_int;
}

fn work(log: Logger, number: i64, orders: i64) {
    for order in 1..=orders {
        if order % 20 == 0 {
            log!(log, Level::Warning, {"order": order, "venue": "XETR", "price": 100.25, "worker": number, "late": true},
                "order refused");
        } else {
            log!(log, Level::Info, "order {} of worker {} accepted", order, number);
        }
    }
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().collect();
    let directory = arguments.get(1).ok_or("usage: service DIRECTORY [ORDERS] [end | kill]")?;
    let orders = arguments.get(2).and_then(|text| text.parse().ok()).unwrap_or(1000);
    let store = Store::open(directory, "service")?;
    let log = store.logger("service");
    log!(log, Level::Info, "{} orders for each of 3 workers", orders);
    log!(log, Level::Debug, "is not recorded, and makes no text");
    let matching = store.logger("service.matching");
    let workers: Vec<_> = (0..3).map(|number| std::thread::spawn(move || work(matching, number, orders))).collect();
    for worker in workers {
        worker.join().map_err(|_| "a worker has panicked")?;
    }
    log!(log, Level::Notice, "all orders are done");
    if arguments.get(3).map(String::as_str) == Some("kill") {
        unsafe { raise(SIGKILL) };
    }
    store.close()
}
