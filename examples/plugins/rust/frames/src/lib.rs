//! A codec: frames of a logger that wakes up now and then and sends what it has gathered, as few bytes as can be.
//!
//! ```text
//! version u4 | flags u4 (1: alarm)
//! device u16
//! length of the name u8, name (UTF-8)
//! number of readings u8, of each:
//!   age u16 (seconds before the frame)
//!   temperature i12 (tenths of °C) | battery u4
//! ```
//!
//! Numbers have their high byte first. A frame is a list of rows, one for each reading; rows that go out together are a frame again.
mod json;

use json::{quoted, Json, Value};
use std::alloc::{alloc, dealloc, Layout};
use std::fmt::Write;

const VERSION: u8 = 1;
const ALARM: u8 = 1;
const MOST_READINGS: usize = 255;

#[link(wasm_import_module = "haumea")]
extern "C" {
    /// The message fails with this reason.
    fn fail(text: *const u8, length: usize);
}

/// Address and length of a result in one number; the engine gives it back by `haumea_free`.
fn give(result: Result<Vec<u8>, String>) -> u64 {
    match result {
        Ok(bytes) => {
            let at = haumea_alloc(bytes.len());
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len()) };
            (at as u64) << 32 | bytes.len() as u64
        }
        Err(reason) => {
            unsafe { fail(reason.as_ptr(), reason.len()) };
            0
        }
    }
}

#[no_mangle]
pub extern "C" fn haumea_alloc(size: usize) -> *mut u8 {
    unsafe { alloc(layout(size)) }
}

/// # Safety
/// What is given back came from `haumea_alloc`.
#[no_mangle]
pub unsafe extern "C" fn haumea_free(address: *mut u8, size: usize) {
    dealloc(address, layout(size));
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size.max(1), 8).unwrap()
}

/// # Safety
/// The engine calls it with a message that lies in the memory of the module.
#[no_mangle]
pub unsafe extern "C" fn read_frame(message: *const u8, length: usize) -> u64 {
    give(rows_of(std::slice::from_raw_parts(message, length)))
}

/// # Safety
/// As `read_frame`, with JSON.
#[no_mangle]
pub unsafe extern "C" fn write_frame(rows: *const u8, length: usize) -> u64 {
    give(frame_of(std::slice::from_raw_parts(rows, length)))
}

/// Takes a frame apart from its start.
struct Frame<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Frame<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let end = self.at + length;
        let part = self.bytes.get(self.at..end);
        self.at = end;
        part.ok_or_else(|| format!("the frame has {} bytes, at least {end} were expected", self.bytes.len()))
    }

    fn u8(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    fn u16(&mut self) -> Result<u16, String> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }
}

fn rows_of(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut frame = Frame { bytes, at: 0 };
    let head = frame.u8()?;
    if head >> 4 != VERSION {
        return Err(format!("frames of version {} are not known", head >> 4));
    }
    let alarm = head & ALARM != 0;
    let device = frame.u16()?;
    let length = frame.u8()? as usize;
    let name = std::str::from_utf8(frame.take(length)?).map_err(|_| "the name is no UTF-8")?;
    let name = quoted(name);
    let count = frame.u8()?;
    let mut rows = String::from("[");
    for i in 0..count {
        let age = frame.u16()?;
        let reading = frame.u16()?;
        let tenths = (reading as i16) >> 4;
        let sign = if tenths < 0 { "-" } else { "" };
        let (whole, part) = (tenths.abs() / 10, tenths.abs() % 10);
        let comma = if i > 0 { "," } else { "" };
        let battery = reading & 15;
        let _ = write!(
            rows,
            "{comma}{{\"device\":{device},\"name\":{name},\"alarm\":{alarm},\"age\":{age},\"temp\":{sign}{whole}.{part},\"battery\":{battery}}}"
        );
    }
    rows.push(']');
    match bytes.len() - frame.at {
        0 => Ok(rows.into_bytes()),
        more => Err(format!("{more} bytes behind the last reading")),
    }
}

/// A row as far as it is part of a frame.
#[derive(Default)]
struct Row {
    device: u16,
    name: String,
    alarm: bool,
    age: u16,
    tenths: i16,
    battery: u16,
}

fn frame_of(text: &[u8]) -> Result<Vec<u8>, String> {
    let mut json = Json::new(text);
    let mut rows = Vec::new();
    json.each_object(|json| {
        rows.push(row_of(json)?);
        Ok(())
    })?;
    let first = rows.first().ok_or("there is no row for the frame")?;
    if rows.len() > MOST_READINGS {
        return Err(format!("{} rows are too many for a frame, which has {MOST_READINGS}", rows.len()));
    }
    if first.name.len() > 255 {
        return Err("the name is longer than 255 bytes".into());
    }
    let mut frame = vec![VERSION << 4 | if first.alarm { ALARM } else { 0 }];
    frame.extend(first.device.to_be_bytes());
    frame.push(first.name.len() as u8);
    frame.extend(first.name.as_bytes());
    frame.push(rows.len() as u8);
    for row in &rows {
        if row.device != first.device {
            return Err(format!("rows of the devices {} and {} are no frame", first.device, row.device));
        }
        frame.extend(row.age.to_be_bytes());
        frame.extend(((row.tenths << 4) as u16 | row.battery).to_be_bytes());
    }
    Ok(frame)
}

/// Reads the members of an object; those that it does not have are 0, false or empty, but for device and temp.
fn row_of(json: &mut Json) -> Result<Row, String> {
    let mut row = Row::default();
    let (mut has_device, mut has_temp) = (false, false);
    json.each_member(|key, value| {
        match key {
            "device" => {
                row.device = number(key, &value, 0.0, 65535.0, "0 to 65535")? as u16;
                has_device = true;
            }
            "temp" => {
                row.tenths = (number(key, &value, -204.8, 204.7, "-204.8 to 204.7")? * 10.0).round() as i16;
                has_temp = true;
            }
            "age" => row.age = number(key, &value, 0.0, 65535.0, "0 to 65535")? as u16,
            "battery" => row.battery = number(key, &value, 0.0, 15.0, "0 to 15")? as u16,
            "name" => {
                let Value::Text(text) = value else { return Err("name is no text".into()) };
                row.name = text;
            }
            "alarm" => row.alarm = matches!(value, Value::Flag(true)),
            _ => {}
        }
        Ok(())
    })?;
    match (has_device, has_temp) {
        (true, true) => Ok(row),
        (false, _) => Err("the row has no device".into()),
        _ => Err("the row has no temp".into()),
    }
}

fn number(key: &str, value: &Value, least: f64, most: f64, range: &str) -> Result<f64, String> {
    match value {
        Value::Number(number) if (least..=most).contains(number) => Ok(*number),
        Value::Number(_) => Err(format!("{key} must be from {range}")),
        _ => Err(format!("{key} is no number")),
    }
}
