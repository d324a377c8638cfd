//! Reading files by the system interface itself. With the target wasm32-wasip1 std::fs does the same; this way the
//! target that every Rust has is enough.

/// The folder that is open from the start: `/`.
const ROOT: u32 = 3;
/// Rights of a file that is read.
const READ: u64 = 1 << 1;

#[repr(C)]
struct Part {
    at: *mut u8,
    length: usize,
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
extern "C" {
    fn path_open(
        folder: u32,
        links: u32,
        path: *const u8,
        length: usize,
        how: u32,
        rights: u64,
        inherited: u64,
        flags: u32,
        opened: *mut u32,
    ) -> u32;
    fn fd_read(file: u32, parts: *const Part, count: usize, read: *mut usize) -> u32;
    fn fd_close(file: u32) -> u32;
}

/// All bytes of a file, or the number of the error.
pub fn read(path: &str) -> Result<Vec<u8>, u32> {
    let mut file = 0;
    let error = unsafe { path_open(ROOT, 0, path.as_ptr(), path.len(), 0, READ, 0, 0, &mut file) };
    if error != 0 {
        return Err(error);
    }
    let mut all = Vec::new();
    let mut bytes = [0u8; 4096];
    let result = loop {
        let part = Part { at: bytes.as_mut_ptr(), length: bytes.len() };
        let mut length = 0;
        match unsafe { fd_read(file, &part, 1, &mut length) } {
            0 if length == 0 => break Ok(all),
            0 => all.extend_from_slice(&bytes[..length]),
            error => break Err(error),
        }
    };
    unsafe { fd_close(file) };
    result
}
