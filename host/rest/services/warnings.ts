/** Warnings in the answers to creations. */
import { Reply } from '../route.js';

/** A header can't be endless: what does not fit is in the log. */
const maxHeaderLength = 4000;

/**
 * The answer to a creation with what its sender should know, a sentence each. The first line of the text stays as clients
 * know it, each of the `warnings` is a line of its own below it. The header `Warning` has them all, also the `notes`:
 * what existing clients write and expect to be answered with the usual text alone.
 */
export function withWarnings(text: string, warnings: readonly string[], notes: readonly string[] = []): string | Reply {
  if (warnings.length + notes.length === 0) return text;
  const body = [...(text === '' ? [] : [text]), ...warnings.map((warning) => `Warning: ${warning}`)].join('\n');
  return new Reply(body, undefined, undefined, warningHeader([...warnings, ...notes]));
}

/** The header `Warning` with these sentences, as far as they fit; none without any. */
export function warningHeader(warnings: readonly string[]): { Warning?: string } {
  const headers: string[] = [];
  for (const warning of warnings) {
    const header = `299 - ${JSON.stringify(ascii(warning))}`;
    if (headers.join(', ').length + header.length < maxHeaderLength) headers.push(header);
  }
  return headers.length === 0 ? {} : { Warning: headers.join(', ') };
}

/** Other characters have no place in a header. */
function ascii(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}
