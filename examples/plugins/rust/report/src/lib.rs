//! A guest that uses Rust's standard library: what it prints goes to the log of the server. It has no files, and times,
//! random numbers and environment variables only when they are granted:
//! `"wasi": {"clock": true, "random": true, "env": {"WHO": "plant 7"}}` in the request.
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

#[no_mangle]
pub extern "C" fn greet(n: i32) -> i32 {
    println!("hello {n}");
    println!("{}", std::env::var("WHO").unwrap_or("no name".into()));
    n + 1
}

#[no_mangle]
pub extern "C" fn name_length() -> i32 {
    std::env::var("WHO").unwrap_or_default().len() as i32
}

/// Milliseconds since 1970; without a clock they stay near 0.
#[no_mangle]
pub extern "C" fn now_ms() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_millis() as f64
}

/// Counts remainders in a table, whose hashes need random numbers.
#[no_mangle]
pub extern "C" fn distinct_of(n: i32) -> i32 {
    let mut seen: HashMap<i32, i32> = HashMap::new();
    for i in 0..n {
        *seen.entry(i % 7).or_insert(0) += 1;
    }
    seen.len() as i32
}

#[no_mangle]
pub extern "C" fn opens(_n: i32) -> i32 {
    std::fs::read_to_string("/etc/hostname").is_ok() as i32
}

/// Returns at once: nobody waits for a plugin.
#[no_mangle]
pub extern "C" fn sleeps(seconds: i32) -> i32 {
    std::thread::sleep(Duration::from_secs(seconds as u64));
    seconds
}

#[no_mangle]
pub extern "C" fn quits(code: i32) -> i32 {
    if code > 0 {
        std::process::exit(code);
    }
    code
}
