/** Fingerprint of a schema in single-object messages: CRC-64-AVRO of its canonical form. */
import type { Type } from './schema.js';

const empty = 0xc15d213aa4d7a795n;
let table: BigUint64Array | undefined;

function tableOf(): BigUint64Array {
  table ??= BigUint64Array.from({ length: 256 }, (_, i) => {
    let entry = BigInt(i);
    for (let bit = 0; bit < 8; bit++) entry = (entry >> 1n) ^ (empty & -(entry & 1n));
    return BigInt.asUintN(64, entry);
  });
  return table;
}

export function fingerprintOf(type: Type): bigint {
  const entries = tableOf();
  let print = empty;
  for (const byte of Buffer.from(JSON.stringify(type.schema()))) {
    print = (print >> 8n) ^ (entries[Number((print ^ BigInt(byte)) & 0xffn)] as bigint);
  }
  return print;
}
