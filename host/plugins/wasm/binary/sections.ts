/** Cuts a module into its sections. */
import { unsupported, WasmError } from './error.js';
import { ByteReader } from './reader.js';

export const SectionId = {
  custom: 0,
  type: 1,
  import: 2,
  function: 3,
  table: 4,
  memory: 5,
  global: 6,
  export: 7,
  start: 8,
  element: 9,
  code: 10,
  data: 11,
  dataCount: 12,
} as const;

const tagSection = 13;
const stringSection = 14;

/** The order that sections come in. */
export const sectionOrder: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11];

const names = [
  'custom',
  'type',
  'import',
  'function',
  'table',
  'memory',
  'global',
  'export',
  'start',
  'element',
  'code',
  'data',
  'data count',
];

export interface Section {
  readonly id: number;
  /** Offsets of the content's begin and end, bytes. */
  readonly from: number;
  readonly to: number;
}

const magic = [0x00, 0x61, 0x73, 0x6d];
export const version = [1, 0, 0, 0];
export const headBytes = 8;

function sectionName(id: number): string {
  return `the ${names[id] ?? id} section`;
}

export function sectionReader(bytes: Uint8Array, section: Section): ByteReader {
  return new ByteReader(bytes, section.from, section.to, sectionName(section.id));
}

/** The sections in the order they stand in; those with a number of their own are there once and in order. */
export function sectionsOf(bytes: Uint8Array): Section[] {
  checkHead(bytes);
  const reader = new ByteReader(bytes, headBytes, bytes.length, 'the module');
  const sections: Section[] = [];
  let place = -1;
  while (reader.left > 0) {
    const start = reader.at;
    const id = reader.byte();
    if (id === tagSection) throw unsupported('exception handling (a tag section)', start);
    if (id === stringSection) throw unsupported('strings by reference (a string section)', start);
    if (id >= names.length) reader.fail(`there is no section ${id}`, start);
    const size = reader.u32();
    if (size > reader.left) {
      reader.fail(
        `${sectionName(id)} has ${size} bytes, only ${reader.left} of them are there: it is truncated`,
        start,
      );
    }
    if (id !== SectionId.custom) {
      const own = sectionOrder.indexOf(id);
      if (own === place) reader.fail(`${sectionName(id)} is there twice`, start);
      if (own < place) reader.fail(`${sectionName(id)} stands in the wrong place`, start);
      place = own;
    }
    sections.push({ id, from: reader.at, to: reader.at + size });
    reader.skip(size);
  }
  return sections;
}

function checkHead(bytes: Uint8Array): void {
  if (bytes.length === 0) throw new WasmError('it is no WebAssembly module: it is empty');
  if (!magic.every((byte, i) => bytes[i] === byte)) {
    const isText = /^\s*(\(module|\(;|;;|\(component)/.test(new TextDecoder().decode(bytes.subarray(0, 64)));
    const hint = isText ? ', it is a module as text, which has to be compiled (wat2wasm)' : '';
    const first = Array.from(bytes.subarray(0, 4), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    throw new WasmError(`it is no WebAssembly module: it begins with ${first}, not with 00 61 73 6d${hint}`, 0);
  }
  if (bytes.length < headBytes)
    throw new WasmError('the module is truncated: it ends before its version', bytes.length);
  if (version.every((byte, i) => bytes[4 + i] === byte)) return;
  const found = new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
  if (found >>> 16 === 1) throw new WasmError('it is a component, only core modules are supported', 4);
  throw new WasmError(`the module has version ${found}, only version 1 is supported`, 4);
}
