/** Files that `haumea plugin new` writes. */
import type { Language } from './languages.js';

export type Files = Readonly<Record<string, string>>;

const doc = 'The value by a factor';

/** Files of a new plugin by their paths; its function has the name of the plugin. */
export function filesOf(language: Language, name: string): Files {
  return { ...sources[language](name), ...shared(name) };
}

/** The version that this program is built with. */
export const assemblyScript = '0.28.20';

const sources: Readonly<Record<Language, (name: string) => Files>> = {
  as: (name) => ({
    'src/index.ts': `// ${doc}. Each exported function is a function of SQL: i32 and i64 take and give bigint, f32 and
// f64 float, bool boolean; string and ArrayBuffer, which need --exportRuntime in plugin.json, string and bytea.
export function ${name}(value: f64, factor: f64): f64 {
  return value * factor;
}
`,
    'src/tsconfig.json': json({ extends: 'assemblyscript/std/assembly.json', include: ['./**/*.ts'] }),
    'package.json': json({ private: true, devDependencies: { assemblyscript: assemblyScript } }),
    'plugin.json': project(name, {
      build: `asc src/index.ts --outFile build/${name}.wasm -O3 --runtime stub`,
      module: `build/${name}.wasm`,
    }),
    '.gitignore': 'node_modules/\nbuild/\n',
  }),
  rust: (name) => ({
    'src/lib.rs': `/// ${doc}. Each exported function over numbers is a function of SQL: i32 and i64 take and give
/// bigint, f32 and f64 float.
#[no_mangle]
pub extern "C" fn ${name}(value: f64, factor: f64) -> f64 {
    value * factor
}
`,
    'Cargo.toml': cargoOf(name),
    'plugin.json': project(name, rustBuild(name)),
    '.gitignore': 'target/\n',
  }),
  c: (name) => ({
    [`src/${name}.c`]: `// ${doc}. Each exported function over numbers is a function of SQL:
// int and long long take and give bigint, float and double float.
__attribute__((export_name("${name}")))
double ${name}(double value, double factor) {
  return value * factor;
}
`,
    'plugin.json': project(name, {
      build: `clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry -Wl,--strip-all -o ${name}.wasm src/${name}.c`,
      module: `${name}.wasm`,
    }),
    '.gitignore': '*.wasm\n',
  }),
  js: (name) => ({
    [`src/${name}.js`]: `// ${doc}. The script runs in a sandbox: it has its arguments, the language and log().
function ${name}(value, factor) {
  if (value == null) return null;
  return value * factor;
}
`,
    'plugin.json': project(name, { script: `src/${name}.js` }),
  }),
};

export function cargoOf(name: string): string {
  return `[package]
name = "${name.toLowerCase()}"
version = "0.1.0"
edition = "2021"

[lib]
crate-type = ["cdylib"]

[profile.release]
opt-level = "s"
lto = true
panic = "abort"
strip = true
`;
}

/** How a project in Rust is built, and what comes out. */
export function rustBuild(name: string): { build: string; module: string } {
  return {
    build: 'cargo build --release --target wasm32-unknown-unknown',
    module: `target/wasm32-unknown-unknown/release/${name.toLowerCase()}.wasm`,
  };
}

function shared(name: string): Files {
  return {
    'rows.jsonl': lines({ device: 'a', temp: 20.5 }, { device: 'b', temp: -3 }, { device: 'c' }),
    'expected.jsonl': lines({ device: 'a', result: 41 }, { device: 'b', result: -6 }, { device: 'c' }),
    'README.md': `# ${name}

${doc}, as a function of SQL for Haumea.

    haumea plugin build   builds it and shows its functions
    haumea plugin test    runs the statement of plugin.json over rows.jsonl, compares with expected.jsonl
    haumea plugin push    uploads it to a server: --url http://localhost:9081
`,
  };
}

function project(name: string, more: object): string {
  return json({ name, ...more, test: { sql: `SELECT device, ${name}(temp, 2) AS result FROM input` } });
}

export function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function lines(...rows: object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}
