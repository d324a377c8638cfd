/** Modules that work, made into such that nobody wrote. */
import { SectionId, sectionsOf } from '../../../host/plugins/wasm/binary/sections.js';
import { ByteWriter } from '../../../host/plugins/wasm/binary/writer.js';
import type { Random } from './programs.js';

/** What the guest `strings` says of itself. */
export const ofScript = {
  abi: 1,
  functions: [
    { name: 'reversed', args: ['string'], result: 'string' },
    { name: 'halved', args: ['bytea'], result: 'bytea' },
    { name: 'letters', args: ['string'], result: 'bigint' },
  ],
};

/** Changes bytes behind the head, cuts some out, or lets two sections take each other's place. */
export function damage(bytes: Uint8Array, random: Random): Uint8Array {
  const sections = sectionsOf(bytes);
  if (random(12) === 0 && sections.length > 1) {
    const [a, b] = [random(sections.length), random(sections.length)];
    const out = new ByteWriter().raw(bytes.subarray(0, 8));
    sections.forEach((_section, i) => {
      const one = sections[i === a ? b : i === b ? a : i] as (typeof sections)[number];
      out.section(one.id, (body) => body.raw(bytes.subarray(one.from, one.to)));
    });
    return out.take();
  }
  if (random(20) === 0) return bytes.slice(0, random(bytes.length));
  const result = bytes.slice();
  // Code and data are hit most: a damaged manifest is only refused.
  const hit = sections.filter(({ id }) => id === SectionId.code || id === SectionId.data || id === SectionId.global);
  const within = hit[random(hit.length)] ?? { from: 8, to: bytes.length };
  for (let left = 1 + random(4); left > 0; left--) {
    const at = within.from + random(within.to - within.from);
    result[at] = random(2) === 0 ? random(256) : (result[at] ?? 0) ^ (1 << random(8));
  }
  return result;
}
