// CRC-32 as Ethernet and gzip have it (reflected polynomial 0xedb88320).
import { lenOf, offOf } from '../../mem/layout';
import { textByte } from '../../value/text';
import { giveText, resultBegin } from '../result';
import { text1 } from '../string/text-of';
import { Operation } from '../../gen/ops-layouts';

const TABLE: usize = memory.data(1024, 16);
let isReady: bool = false;

function prepare(): void {
  for (let i: u32 = 0; i < 256; i++) {
    let c = i;
    for (let k = 0; k < 8; k++) c = c & 1 ? (c >> 1) ^ 0xedb88320 : c >> 1;
    store<u32>(TABLE + ((<usize>i) << 2), c);
  }
  isReady = true;
}

/** Appends the number in hexadecimal digits without leading zeros. */
export function putHex(v: u64): void {
  let shift = 60;
  while (shift > 0 && v >> shift == 0) shift -= 4;
  for (; shift >= 0; shift -= 4) {
    const digit = <u32>(v >> shift) & 15;
    textByte(digit < 10 ? 48 + digit : 87 + digit);
  }
}

/** Checksum of a text. */
export function checksum(text: u64): u32 {
  if (!isReady) prepare();
  let c: u32 = 0xffffffff;
  const end = offOf(text) + lenOf(text);
  for (let p = offOf(text); p < end; p++) c = load<u32>(TABLE + ((<usize>((c ^ load<u8>(p)) & 255)) << 2)) ^ (c >> 8);
  return ~c;
}

export function convertCrc32(op: Operation): void {
  text1(op, (text: u64): void => {
    const sum = checksum(text);
    resultBegin();
    putHex(sum);
    giveText('crc32');
  });
}
