#!/bin/sh
# Needs Rust with the target: rustup target add wasm32-wasip1
set -e
cd "$(dirname "$0")"
rustc --target wasm32-wasip1 --crate-type cdylib --edition 2021 -C opt-level=s -C strip=symbols -C panic=abort \
  -o report.wasm src/lib.rs
