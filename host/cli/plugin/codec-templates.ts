/** Files that `haumea plugin new --kind codec` writes. */
import { UsageError } from '../client/command.js';
import type { Language } from './languages.js';
import { assemblyScript, cargoOf, type Files, json, rustBuild } from './templates.js';

/** Files of a new codec by their paths; it has the name of the plugin. */
export function codecFilesOf(language: Language, name: string): Files {
  const make = sources[language];
  if (make === undefined) {
    throw new UsageError(
      `--kind codec has templates for --lang ${Object.keys(sources).join(' and ')}, not ${language}`,
    );
  }
  const { build, module, files } = make(name);
  const codec = { name, decode: `${name}_decode`, encode: `${name}_encode`, doc: 'device and temp' };
  return {
    ...files,
    'manifest.json': json({ abi: 1, doc: 'Messages of three bytes', codecs: [codec] }),
    'plugin.json': json({ name, build, module, manifest: 'manifest.json', test: { messages: 'messages.hex' } }),
    'messages.hex': '07 00d7   # device 7: 21.5 degrees\n08 ffce   # device 8: -5 degrees\n',
    'expected.jsonl': '{"device":7,"temp":21.5}\n{"device":8,"temp":-5}\n',
    'encoded.hex': '07 00d7\n08 ffce\n',
    'README.md': `# ${name}

A codec for Haumea: messages of three bytes, a device and its temperature, become rows and rows messages.

    haumea plugin build   builds it and shows what it can
    haumea plugin test    reads messages.hex, compares the rows with expected.jsonl;
                          writes them, compares with encoded.hex
    haumea plugin push    uploads it to a server: --url http://localhost:9081

A stream with FORMAT="custom", SCHEMAID="${name}" reads such messages, an action with "format": "custom",
"schemaId": "${name}" writes them.
`,
  };
}

interface Sources {
  readonly build: string;
  readonly module: string;
  readonly files: Files;
}

const sources: Partial<Record<Language, (name: string) => Sources>> = {
  as: (name) => ({
    build: `asc src/index.ts --outFile build/${name}.wasm -O3 --exportRuntime`,
    module: `build/${name}.wasm`,
    files: {
      'src/index.ts': `// Messages of three bytes: a device, and its temperature in tenths of a degree,
// the high byte first.

/** JSON of a message: an object is a row, a list of objects several. What is thrown is the error of the message. */
export function ${name}_decode(message: ArrayBuffer): string {
  if (message.byteLength != 3) throw new Error(\`\${message.byteLength} bytes are no message\`);
  const view = new DataView(message);
  return \`{"device":\${view.getUint8(0)},"temp":\${f64(view.getInt16(1)) / 10}}\`;
}

/** The message of a row, which comes as JSON; a list of rows where the action sends several at once. */
export function ${name}_encode(row: string): ArrayBuffer {
  const message = new ArrayBuffer(3);
  const view = new DataView(message);
  view.setUint8(0, u8(member(row, "device")));
  view.setInt16(1, i16(Math.round(member(row, "temp") * 10)));
  return message;
}

function member(row: string, name: string): f64 {
  const key = \`"\${name}":\`;
  const at = row.indexOf(key);
  if (at < 0) throw new Error(\`the row has no \${name}\`);
  return parseFloat(row.substring(at + key.length));
}
`,
      'src/tsconfig.json': json({ extends: 'assemblyscript/std/assembly.json', include: ['./**/*.ts'] }),
      'package.json': json({ private: true, devDependencies: { assemblyscript: assemblyScript } }),
      '.gitignore': 'node_modules/\nbuild/\n',
    },
  }),
  rust: (name) => ({
    ...rustBuild(name),
    files: {
      'src/lib.rs': `//! Messages of three bytes: a device, and its temperature in tenths of a degree,
//! the high byte first.
use std::alloc::{alloc, dealloc, Layout};

/// JSON of a message: an object is a row, a list of objects several.
fn json_of(message: &[u8]) -> Result<Vec<u8>, String> {
    let &[device, high, low] = message else {
        return Err(format!("{} bytes are no message", message.len()));
    };
    let temp = i16::from_be_bytes([high, low]) as f64 / 10.0;
    Ok(format!("{{\\"device\\":{device},\\"temp\\":{temp}}}").into_bytes())
}

/// The message of a row, which comes as JSON; a list of rows where the action sends several at once.
fn message_of(row: &str) -> Result<Vec<u8>, String> {
    let device = member(row, "device")? as u8;
    let [high, low] = ((member(row, "temp")? * 10.0).round() as i16).to_be_bytes();
    Ok(vec![device, high, low])
}

fn member(row: &str, name: &str) -> Result<f64, String> {
    let key = format!("\\"{name}\\":");
    let at = row.find(&key).ok_or(format!("the row has no {name}"))? + key.len();
    let end = row[at..].find([',', '}']).unwrap_or(0);
    row[at..at + end].parse().map_err(|_| format!("{name} is no number"))
}

// What the engine calls: addresses and lengths. The rest of the file stays as it is.

#[link(wasm_import_module = "haumea")]
extern "C" {
    fn fail(text: *const u8, length: usize);
}

#[no_mangle]
unsafe extern "C" fn ${name}_decode(message: *const u8, length: usize) -> u64 {
    give(json_of(std::slice::from_raw_parts(message, length)))
}

#[no_mangle]
unsafe extern "C" fn ${name}_encode(row: *const u8, length: usize) -> u64 {
    give(match std::str::from_utf8(std::slice::from_raw_parts(row, length)) {
        Ok(row) => message_of(row),
        Err(error) => Err(error.to_string()),
    })
}

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
extern "C" fn haumea_alloc(size: usize) -> *mut u8 {
    unsafe { alloc(layout(size)) }
}

#[no_mangle]
unsafe extern "C" fn haumea_free(address: *mut u8, size: usize) {
    dealloc(address, layout(size));
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size.max(1), 8).unwrap()
}
`,
      'Cargo.toml': cargoOf(name),
      '.gitignore': 'target/\n',
    },
  }),
};
