/** Cuts input into messages for people to look at; the kernel cuts its own input by itself. */

import { payloadsOfPackets } from '../../base/mqtt/packets.js';
import type { SourceForm } from '../define.js';
import { payloadsOf } from './frames.js';

const lineFeed = 0x0a;

/** The messages without frames; undefined for rows in the engine's own form. */
export function messagesOf({ format, framing, mqttVersion }: SourceForm, input: Uint8Array): Uint8Array[] | undefined {
  if (format === 'rows') return undefined;
  switch (framing) {
    case 'mqtt':
      return payloadsOfPackets(input, mqttVersion ?? 4);
    case 'frames':
      return payloadsOf(input);
    case 'lines':
      return linesOf(input);
    default:
      return framing satisfies never;
  }
}

function linesOf(input: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let from = 0; from < input.length; ) {
    const feed = input.indexOf(lineFeed, from);
    const end = feed < 0 ? input.length : feed;
    if (end > from) lines.push(input.subarray(from, end));
    from = end + 1;
  }
  return lines;
}
