/** Archives and modules that requests name or carry. */

import { fileUri } from './given-files.js';
import { writeZip } from './zip-writer.js';

/** URI of the archive of a native plugin. */
export function nativePlugin(name: string, version = ''): string {
  return fileUri(
    `${name.slice(0, 40)}.zip`,
    writeZip([{ name: `${name}${version}.so`, content: 'x' }, { name: `${name}.yaml` }]),
  );
}

/**
 * URI of the archive of a portable plugin, which is never started; `change` replaces members of its description, not
 * the `executable` in it.
 */
export function portablePlugin(name: string, change: object = {}, executable = 'run.py'): string {
  const json = { version: 'v1', language: 'python', executable: 'run.py', sinks: [`${name}Sink`], ...change };
  const items = [
    { name: `${name}.json`, content: JSON.stringify(json) },
    { name: executable, content: 'pass' },
  ];
  return fileUri(`${name.slice(0, 40)}.zip`, writeZip(items));
}

/** A module in base64 of functions (a, b) → a + b with the names given. */
export function wasmModule(...names: string[]): string {
  const size = (bytes: number[]) => [bytes.length, ...bytes];
  const exports = names.flatMap((name) => [...size([...Buffer.from(name)]), 0, 0]);
  const bytes = [
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...[1, ...size([1, 0x60, 2, 0x7f, 0x7f, 1, 0x7f])],
    ...[3, ...size([1, 0])],
    ...[7, ...size([names.length, ...exports])],
    ...[10, ...size([1, 7, 0, 0x20, 0, 0x20, 1, 0x6a, 0x0b])],
  ];
  return Buffer.from(bytes).toString('base64');
}

const shopProto = `syntax = "proto3"; package shop;
message Ask { string item = 1; } message Answer { double price = 1; }
service Shop { rpc GetPrice(Ask) returns (Answer) {} }`;

/** URI of the archive of a service with a function; `change` replaces members of its interface. */
export function service(name: string, func: string, change: object = {}): string {
  const pricing = {
    address: 'http://127.0.0.1:5/shop',
    protocol: 'rest',
    options: {},
    schemaType: 'protobuf',
    schemaFile: 'shop.proto',
    functions: [{ name: func, serviceName: 'GetPrice' }],
    ...change,
  };
  const zip = writeZip([
    { name: `${name}.json`, content: JSON.stringify({ about: {}, interfaces: { pricing } }) },
    { name: 'schemas/shop.proto', content: shopProto },
  ]);
  return fileUri(`${name.slice(0, 40)}.zip`, zip);
}

/** URI of an archive without what any kind of package needs. */
export const emptyArchive = fileUri('empty.zip', writeZip([{ name: 'nothing.txt', content: 'x' }]));
/** URI of a file that is no archive. */
export const noArchive = fileUri('none.zip', 'this is no archive');
